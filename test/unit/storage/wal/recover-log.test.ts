/** @runs long */
import t, { type Test } from 'tap'
import { CellarError } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { fileHeaderBytes } from '../../../../src/storage/record/file-header.js'
import { scanRecordsSync } from '../../../../src/storage/record/record-scan.js'
import { RecordWriter } from '../../../../src/storage/record/record-writer.js'
import {
  append,
  databaseId,
  directory,
  newFileSystem,
  openLog,
  range,
  type Recovery,
  type RecoveryOptions,
  readFiles,
  recover,
  withFiles,
  type Files,
} from './support.js'
import { lengthOf } from '../../../helpers/length.js'

/** Ends of the frames of segment 1, with the last sequence in each. */
function frameEnds(files: Files): { end: number; sequence: number }[] {
  const frames: { end: number; sequence: number }[] = []
  const expected = { kind: 'log' as const, fileNumber: 1 }
  const path = `${directory}/000001.log`
  scanRecordsSync(withFiles(files), path, expected, (_payload, _start, end, sequence) => {
    frames.push({ end: end + 1, sequence })
  })
  return frames
}

function lastSequenceBefore(frames: { end: number; sequence: number }[], length: number): number {
  return frames.filter(({ end }) => end <= length).at(-1)?.sequence ?? 0
}

/** One segment of `count` mutations in groups of one to three, synced after some of them. */
function oneSegment(count: number, fillBytes: number, syncedUpTo = 0): Files {
  const fs = newFileSystem()
  const log = openLog(fs)
  for (let sequence = 1; sequence <= count; sequence++) {
    append(log, sequence, (fillBytes * (sequence % 4)) / 2)
    if (sequence === syncedUpTo) log.commitSync('FSYNC_WAL')
    else if (sequence % 3 !== 0) log.commitSync('SYNC_WAL')
  }
  log.commitSync('SYNC_WAL')
  return readFiles(fs)
}

/** Five segments of ten mutations each, segment n holds 10n-9 to 10n; durable if asked. */
async function fiveSegments(durable: boolean): Promise<Files> {
  const fs = newFileSystem()
  const log = openLog(fs)
  for (let sequence = 1; sequence <= 50; sequence++) {
    append(log, sequence)
    log.commitSync(durable ? 'FSYNC_WAL' : 'SYNC_WAL')
    if (sequence % 10 === 0 && sequence < 50) log.roll()
  }
  const files = readFiles(fs)
  await log.close()
  return files
}

/** Asserts that recovery refuses, names file and offset, applies nothing and changes nothing. */
function refuses(
  t: Test,
  files: Files,
  file: string,
  what: string,
  offset?: number,
  options: RecoveryOptions = {},
): void {
  const fs = withFiles(files)
  let applied = 0
  try {
    recover(fs, { ...options, onMutation: () => applied++ })
    t.fail(`${what}: accepted`)
  } catch (error) {
    if (!(error instanceof CellarError) || error.code !== 'ERR_CORRUPTION') throw error
    if (error.corruption?.file !== `${directory}/${file}`) t.fail(`${what}: ${error.message}`)
    const found = error.corruption?.offset
    if (offset !== undefined && found !== offset) t.fail(`${what}: ${error.message}`)
  }
  if (applied !== 0) t.fail(`${what}: applied ${applied} mutations`)
  const after = readFiles(fs)
  if (after.size !== files.size) t.fail(`${what}: files were removed`)
  for (const [name, bytes] of files) {
    if (!after.get(name)?.equals(bytes)) t.fail(`${what}: ${name} was changed`)
  }
}

void t.test('an empty directory recovers to nothing', async (t) => {
  await loadChecksums()
  const { recovered, sequences } = recover(newFileSystem())
  t.same(sequences, [])
  const none = { segments: [], retained: [], tornTail: undefined, predecessor: undefined }
  t.same(recovered, { lastSequence: 0, ...none })
})

void t.test('a log cut at any byte recovers to the whole frames before the cut', async (t) => {
  await loadChecksums()
  const logs: [string, Files, number][] = [
    ['small', oneSegment(12, 10), 1],
    ['medium', oneSegment(60, 100), lengthOf('CELLAR_CUT_STEP', 5, 1)],
    ['large', oneSegment(30, 300_000), lengthOf('CELLAR_LARGE_CUT_STEP', 200_003, 40_009)],
  ]
  for (const [name, files, step] of logs) {
    const bytes = files.get('000001.log')!
    const frames = frameEnds(files)
    for (let length = 0; length < bytes.length; length += step) {
      const fs = withFiles(new Map([['000001.log', bytes.subarray(0, length)]]))
      const { recovered, sequences } = recover(fs)
      const last = length < fileHeaderBytes ? 0 : lastSequenceBefore(frames, length)
      if (sequences.join() !== range(1, last).join()) t.fail(`${name} cut at ${length}`)
      const frameEnd = frames.filter(({ end }) => end <= length).at(-1)?.end ?? fileHeaderBytes
      if ((recovered.tornTail === undefined) !== (length === frameEnd)) t.fail(`tear at ${length}`)
      if (recovered.lastSequence !== last) t.fail(`${name} last sequence, cut at ${length}`)
      if (length % 7 !== 0) continue
      // Then it takes new mutations, and a second recovery sees all.
      const log = openLog(fs, 2, {
        recovered: recovered.segments,
        predecessor: recovered.predecessor,
      })
      append(log, last + 1)
      log.commitSync('SYNC_WAL')
      const again = recover(fs)
      if (again.sequences.join() !== range(1, last + 1).join()) t.fail(`${name} reopen ${length}`)
      if (again.recovered.tornTail !== undefined) t.fail(`${name} torn again, cut at ${length}`)
    }
    t.pass(`${name}: ${bytes.length} bytes`)
  }
})

void t.test('a flip in what was written is corruption while the machine runs on', async (t) => {
  await loadChecksums()
  const files = oneSegment(60, 60)
  const bytes = files.get('000001.log')!
  const frames = frameEnds(files)
  const used = frames.at(-1)!.end
  for (let at = 0; at < used; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at] ^= 1 << (at & 7)
    const before = frames.filter(({ end }) => end <= at)
    const frameStart = at < fileHeaderBytes ? 0 : (before.at(-1)?.end ?? fileHeaderBytes)
    const flipped: Files = new Map([['000001.log', damaged]])
    refuses(t, flipped, '000001.log', `flip at ${at}`, frameStart, { sameRun: true })
  }
})

void t.test('after a stop of the machine no flip is taken for more than a tear', async (t) => {
  await loadChecksums()
  const files = oneSegment(60, 60, 31)
  const bytes = files.get('000001.log')!
  const frames = frameEnds(files)
  const synced = frames.find(({ sequence }) => sequence === 31)!.end
  const used = frames.at(-1)!.end
  t.ok(bytes.length > used, 'there is room behind the last frame')
  let refused = 0
  for (let at = 0; at < bytes.length; at += at < used ? 1 : 997) {
    const damaged = Buffer.from(bytes)
    damaged[at] ^= 1 << (at & 7)
    const flipped: Files = new Map([['000001.log', damaged]])
    const before = frames.filter(({ end }) => end <= at)
    const frameStart = at < fileHeaderBytes ? 0 : (before.at(-1)?.end ?? fileHeaderBytes)
    if (at < synced) {
      refuses(t, flipped, '000001.log', `flip at ${at}`, frameStart)
      continue
    }
    let recovery: Recovery
    try {
      recovery = recover(withFiles(flipped))
    } catch (error) {
      if (!(error instanceof CellarError) || error.code !== 'ERR_CORRUPTION') throw error
      refused++
      continue
    }
    const { recovered, sequences } = recovery
    const last = lastSequenceBefore(frames, at)
    if (sequences.join() !== range(1, last).join()) t.fail(`flip at ${at}`)
    if (recovered.tornTail === undefined) t.fail(`no tear of flip at ${at}`)
    if (recovered.tornTail?.offset !== frameStart) t.fail(`tear of flip at ${at}`)
    const content = Math.max(used, at + 1)
    if (recovered.tornTail?.bytesLost !== content - frameStart) t.fail(`lost by flip at ${at}`)
  }
  t.ok(refused > 20, 'sectors that were surely stored are known')
})

void t.test('a flip in a cleanly closed log is corruption', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  for (let sequence = 1; sequence <= 20; sequence++) append(log, sequence)
  await log.close()
  const bytes = readFiles(fs).get('000001.log')!
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at] ^= 0x10
    const files: Files = new Map([['000001.log', damaged]])
    // Of the claim in a lone, damaged mark nothing is left but that it was written whole.
    if (at < bytes.length - 33) refuses(t, files, '000001.log', `flip at ${at}`)
    else refuses(t, files, '000001.log', `flip at ${at}`, undefined, { sameRun: true })
  }
})

void t.test('what stands behind the end is dropped, never replayed', async (t) => {
  await loadChecksums()
  const files = oneSegment(20, 40)
  const bytes = files.get('000001.log')!
  const other = oneSegment(40, 44).get('000001.log')!
  const tails: [string, Buffer][] = [
    ['one zero', Buffer.alloc(1)],
    ['zeros', Buffer.alloc(65_536)],
    ['garbage', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) & 0xff))],
    ['its own frames', bytes.subarray(fileHeaderBytes)],
    ['a whole file', bytes],
    ['frames of an older file of this number, elsewhere', other.subarray(bytes.length + 1)],
  ]
  for (const [name, tail] of tails) {
    const fs = withFiles(new Map([['000001.log', Buffer.concat([bytes, tail])]]))
    const { recovered, sequences } = recover(fs)
    t.same(sequences, range(1, 20), name)
    const torn = { file: `${directory}/000001.log`, offset: bytes.length, bytesLost: tail.length }
    // Zeros are room that was made ahead.
    if (name.includes('zero')) t.equal(recovered.tornTail, undefined)
    else t.match(recovered.tornTail, torn)
    t.equal(readFiles(fs).get('000001.log')?.length, bytes.length, 'the tail is cut off')
    t.equal(recover(fs).recovered.tornTail, undefined, 'once')
  }
})

void t.test('a missing segment is corruption that names it', async (t) => {
  await loadChecksums()
  for (const durable of [true, false]) {
    const files = await fiveSegments(durable)
    t.same(recover(withFiles(files)).sequences, range(1, 50))
    for (const name of ['000001.log', '000002.log', '000003.log', '000004.log']) {
      const without = new Map(files)
      without.delete(name)
      refuses(t, without, name, `without ${name}`, 0)
    }
  }
})

void t.test('a damaged middle segment of a durable log is corruption', async (t) => {
  await loadChecksums()
  const files = await fiveSegments(true)
  for (const name of [...files.keys()].slice(0, 4)) {
    const bytes = files.get(name)!
    for (const length of [0, 10, fileHeaderBytes, fileHeaderBytes + 36, bytes.length - 1]) {
      const cut = new Map(files).set(name, bytes.subarray(0, length))
      refuses(t, cut, name, `${name} cut to ${length}`)
      const zeroed = Buffer.from(bytes).fill(0, length)
      refuses(t, new Map(files).set(name, zeroed), name, `${name} zeroed from ${length}`)
    }
    const longer = Buffer.concat([bytes, Buffer.alloc(10, 1)])
    const behind = withFiles(new Map(files).set(name, longer))
    t.same(recover(behind).sequences, range(1, 50), `${name} with bytes behind its end`)
    const withRoom = withFiles(new Map(files).set(name, Buffer.concat([bytes, Buffer.alloc(10)])))
    t.same(recover(withRoom).sequences, range(1, 50), `${name} with room behind it`)
    t.equal(readFiles(withRoom).get(name)?.length, bytes.length, 'which is cut off')
  }
})

void t.test('a damaged middle segment of an un-synced log ends the prefix there', async (t) => {
  await loadChecksums()
  const files = await fiveSegments(false)
  for (const [index, name] of [...files.keys()].slice(0, 4).entries()) {
    const bytes = files.get(name)!
    const frame = (bytes.length - fileHeaderBytes) / 10
    for (const [length, frames] of [
      [0, 0],
      [fileHeaderBytes - 1, 0],
      [fileHeaderBytes, 0],
      [Math.floor(fileHeaderBytes + frame * 3.5), 3],
    ]) {
      for (const damaged of [bytes.subarray(0, length), Buffer.from(bytes).fill(0, length)]) {
        const fs = withFiles(new Map(files).set(name, damaged))
        const { recovered, sequences } = recover(fs)
        t.same(sequences, range(1, index * 10 + frames))
        const names = [...files.keys()].slice(0, length < fileHeaderBytes ? index : index + 1)
        t.same(fs.listSync(directory).sort(), names, 'later segments are gone')
        t.equal(recovered.tornTail?.file, `${directory}/${name}`)
        const again = recover(fs)
        t.same(again.sequences, sequences)
        t.equal(again.recovered.tornTail, undefined)
      }
    }
  }
})

void t.test('segments below the floor or wholly flushed are neither read nor kept', async (t) => {
  await loadChecksums()
  for (const options of [
    { fileNumberFloor: 3 },
    { sequenceFlushed: 20 },
    { sequenceFlushed: 29 },
  ]) {
    const files = await fiveSegments(true)
    files.set('000001.log', Buffer.from('not a log'))
    files.delete('000002.log')
    files.set('notes.log', Buffer.from('foreign')).set('7.log', Buffer.from('foreign'))
    const fs = withFiles(files)
    const { recovered, sequences } = recover(fs, options)
    t.same(sequences, range(21, 50))
    t.equal(recovered.segments[0].fileNumber, 3)
    t.equal(fs.statSync(`${directory}/000001.log`), undefined)
    t.ok(fs.statSync(`${directory}/notes.log`), 'foreign files stay')
    t.ok(fs.statSync(`${directory}/7.log`))
  }
})

void t.test('a verified frame that is not a list of mutations is corruption', async (t) => {
  await loadChecksums()
  for (const payload of [[5, 1], [0x80], [1, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 1]]) {
    const fs = newFileSystem()
    const header = { kind: 'log' as const, databaseId, fileNumber: 1, predecessor: undefined }
    const writer = RecordWriter.createSync(fs, `${directory}/000001.log`, header)
    writer.append(Buffer.from([1, 7]), 0, 2, 1)
    writer.append(Buffer.from(payload), 0, payload.length, 2)
    writer.writeSync()
    refuses(t, readFiles(fs), '000001.log', `payload ${payload.join()}`, fileHeaderBytes + 35)
  }
})

void t.test('recovery makes everything that it returns durable', async (t) => {
  await loadChecksums()
  const fs = withFiles(await fiveSegments(false))
  const { sequences } = recover(fs)
  const image = fs.crash('dropUnsynced', () => 0.5)
  t.same(recover(image).sequences, sequences)
})
