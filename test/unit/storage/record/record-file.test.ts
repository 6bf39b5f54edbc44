import t from 'tap'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { fileHeaderBytes } from '../../../../src/storage/record/file-header.js'
import { frameHeaderBytes } from '../../../../src/storage/record/frame.js'
import { scanRecordsSync, type RecordScan } from '../../../../src/storage/record/record-scan.js'
import { RecordWriter } from '../../../../src/storage/record/record-writer.js'
import { projectRoot } from '../../../helpers/project-root.js'

const path = '/file'
const databaseId = Buffer.alloc(16, 'identity')
const header = { kind: 'log' as const, databaseId, fileNumber: 7, predecessor: undefined }

interface Seen {
  readonly scan: RecordScan
  readonly frames: string[]
  readonly ends: number[]
}

function scanFile(fs: SimulatedDisk, fileNumber = 7, kind: 'log' | 'manifest' = 'log'): Seen {
  const frames: string[] = []
  const ends: number[] = []
  const scan = scanRecordsSync(fs, path, { kind, fileNumber }, (payload, start, end, sequence) => {
    frames.push(`${sequence}:${payload.toString('latin1', start, end)}`)
    ends.push(end + 1)
  })
  return { scan, frames, ends }
}

function readAll(fs: SimulatedDisk): Buffer {
  const file = fs.openSync(path, 'read')
  const bytes = Buffer.alloc(file.sizeSync())
  file.readSync(bytes, 0, bytes.length, 0)
  return bytes
}

function fileSystemWith(bytes: Buffer): SimulatedDisk {
  const fs = new SimulatedDisk()
  fs.openSync(path, 'create').writeSync(bytes, 0, bytes.length, 0)
  return fs
}

/** Ten frames; durable up to and including the fifth, which the sixth and later ones say. */
function tenFrames(): Buffer {
  const fs = new SimulatedDisk()
  const writer = RecordWriter.createSync(fs, path, header)
  for (let i = 1; i <= 10; i++) {
    const payload = Buffer.from('x'.repeat(i * 3) + i)
    writer.append(payload, 0, payload.length, i)
    writer.writeSync()
    if (i === 5) writer.syncSync()
  }
  return readAll(fs)
}

const settled = async () => {
  await loadChecksums()
}

void t.test('frames come back with payload, sequence and offset', async (t) => {
  await settled()
  const fs = new SimulatedDisk()
  const predecessor = { fileNumber: 3, length: 1000, lastSequence: 41 }
  const writer = RecordWriter.createSync(fs, path, {
    kind: 'manifest',
    databaseId,
    fileNumber: 7,
    predecessor,
  })
  t.equal(writer.lastSequence, 41)
  const source = Buffer.from('..one..')
  writer.append(source, 2, 5, 42)
  writer.beginFrame(2)
  t.equal(writer.framePayloadBytes, 0)
  writer.reserve(200_000)
  writer.position += writer.buffer.write('x'.repeat(200_000), writer.position, 'latin1')
  writer.endFrame(2 ** 53 - 1)
  writer.append(source, 0, 0, 2 ** 53 - 1)
  t.equal(writer.length, fileHeaderBytes, 'nothing is written before writeSync')
  writer.writeSync()
  const { scan, frames } = scanFile(fs, 7, 'manifest')
  t.same(frames, ['42:one', `${2 ** 53 - 1}:${'x'.repeat(200_000)}`, `${2 ** 53 - 1}:`])
  t.equal(scan.validLength, writer.length)
  t.equal(scan.fileLength, writer.length)
  t.equal(scan.lastSequence, 2 ** 53 - 1)
  t.equal(scan.damage, undefined)
  t.same(scan.header, {
    kind: 'manifest',
    databaseId,
    fileNumber: 7,
    predecessor,
    predecessorsSynced: false,
  })
  t.equal(scan.predecessorsSyncedKnown, false)
})

void t.test('a file cut at any byte yields exactly the whole frames before the cut', async (t) => {
  await settled()
  const bytes = tenFrames()
  const { frames, ends } = scanFile(fileSystemWith(bytes))
  t.equal(frames.length, 10)
  for (let length = 0; length < bytes.length; length++) {
    const { scan, frames: seen } = scanFile(fileSystemWith(bytes.subarray(0, length)))
    const whole = ends.filter((end) => end <= length).length
    const valid = length < fileHeaderBytes ? 0 : (ends[whole - 1] ?? fileHeaderBytes)
    if (seen.length !== whole || scan.validLength !== valid) t.fail(`cut at ${length}`)
    const clean = length === valid && length > 0
    if ((scan.damage === undefined) !== clean) t.fail(`damage at cut ${length}`)
    if (!clean && scan.damage?.offset !== valid) t.fail(`damage offset at cut ${length}`)
  }
})

void t.test('a flip of any bit stops the scan there and keeps the later claim', async (t) => {
  await settled()
  const bytes = tenFrames()
  const { ends, frames } = scanFile(fileSystemWith(bytes))
  const synced = ends[4]
  const starts = [fileHeaderBytes, ...ends]
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at] ^= 1 << (at % 8)
    const { scan, frames: seen } = scanFile(fileSystemWith(damaged))
    const whole = at < fileHeaderBytes ? 0 : ends.filter((end) => end <= at).length
    t.ok(whole <= 10)
    const offset = at < fileHeaderBytes ? 0 : starts[whole]
    if (scan.damage?.offset !== offset) t.fail(`damage at ${scan.damage?.offset}, flip at ${at}`)
    if (seen.join() !== frames.slice(0, whole).join()) t.fail(`frames after flip at ${at}`)
    // All but the sixth to tenth frame claim nothing; one flip leaves four of these.
    if (scan.syncedLengthKnown !== synced) t.fail(`claim ${scan.syncedLengthKnown}, flip at ${at}`)
  }
})

void t.test('zeros, garbage and stale frames behind the end are damage at the end', async (t) => {
  await settled()
  const bytes = tenFrames()
  const random = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i * 31 + (i >> 3)) & 0xff))
  const tails = [Buffer.alloc(1), Buffer.alloc(70_000), random, bytes, bytes.subarray(64)]
  for (const tail of tails) {
    const { scan, frames } = scanFile(fileSystemWith(Buffer.concat([bytes, tail])))
    t.equal(frames.length, 10)
    t.equal(scan.damage?.offset, bytes.length)
    t.ok(scan.syncedLengthKnown < bytes.length, 'a misplaced frame claims nothing')
  }
})

void t.test('a file that grows ahead ends in zeros until it is closed', async (t) => {
  await settled()
  const payload = Buffer.from('payload')
  for (const failAt of [Infinity, 1, 2]) {
    const fs = new SimulatedDisk()
    const only = (operation: { kind: string }): boolean => operation.kind === 'truncate'
    const faulty = new FaultyFileSystem(fs, { failAt, persistent: true, errno: 'ENOSPC', only })
    const writer = RecordWriter.createSync(faulty, path, header, true)
    for (let i = 1; i <= 1000; i++) {
      writer.append(payload, 0, payload.length, i)
      writer.writeSync()
      if (i % 2 === 0) writer.syncSync()
      else await writer.sync()
      if (i % 100 !== 1) continue
      const { scan, frames } = scanFile(fs)
      t.equal(frames.length, i)
      t.equal(scan.validLength, writer.length)
      const endsInZeros = scan.damage?.cause === 'room'
      t.equal(endsInZeros, scan.fileLength > scan.validLength)
      if (failAt === Infinity) t.ok(endsInZeros, 'there is room ahead')
      if (failAt === 1) t.notOk(endsInZeros, 'without room it goes on as well')
    }
    writer.closeSync()
    t.equal(scanFile(fs).frames.length, 1000)
    if (failAt !== 2) t.equal(scanFile(fs).scan.damage, undefined, 'a close cuts the room off')
  }
})

void t.test('a file of another number, kind or place in the chain never verifies', async (t) => {
  await settled()
  const bytes = tenFrames()
  t.equal(scanFile(fileSystemWith(bytes), 8).scan.header, undefined)
  t.equal(scanFile(fileSystemWith(bytes), 8).scan.syncedLengthKnown, 0)
  t.equal(scanFile(fileSystemWith(bytes), 7, 'manifest').scan.header, undefined)
})

void t.test('a newer format version is refused, a damaged version number is damage', async (t) => {
  await settled()
  const { placeSeed, xxh64 } = await import('../../../../src/storage/codec/checksum.js')
  const bytes = tenFrames()
  bytes.writeUInt32LE(3, 8)
  t.equal(scanFile(fileSystemWith(bytes)).scan.header, undefined)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, 104), placeSeed(7, 0)), 104)
  t.throws(() => scanFile(fileSystemWith(bytes)), { code: 'ERR_FORMAT_VERSION' })
})

void t.test('sequences may not fall: neither when written nor when read', async (t) => {
  await settled()
  const fs = new SimulatedDisk()
  const writer = RecordWriter.createSync(fs, path, header)
  writer.append(Buffer.from('a'), 0, 1, 5)
  t.throws(() => writer.append(Buffer.from('b'), 0, 1, 4), { name: 'InvariantError' })
})

void t.test('claims cover only what was durable when the frame was built', async (t) => {
  await settled()
  const fs = new SimulatedDisk()
  const writer = RecordWriter.createSync(fs, path, {
    ...header,
    predecessor: { fileNumber: 1, length: 64, lastSequence: 0 },
  })
  const payload = Buffer.from('p')
  const append = (sequence: number) => {
    writer.append(payload, 0, 1, sequence)
    writer.writeSync()
    return scanFile(fs).scan
  }
  t.equal(append(1).syncedLengthKnown, 0)
  const running = writer.sync()
  const first = writer.length
  t.equal(append(2).syncedLengthKnown, 0, 'a sync that runs has proved nothing')
  await running
  t.equal(writer.syncedLength, first)
  t.equal(append(3).syncedLengthKnown, first)
  t.equal(scanFile(fs).scan.predecessorsSyncedKnown, false)
  writer.predecessorsSynced = true
  writer.syncSync()
  writer.appendMark()
  writer.writeSync()
  const { scan, frames } = scanFile(fs)
  t.equal(scan.syncedLengthKnown, first + 2 * (frameHeaderBytes + 2))
  t.equal(scan.predecessorsSyncedKnown, true)
  t.equal(frames.length, 3, 'a mark is not handed out')
})

void t.test('concurrent syncs share one that starts after their write', async (t) => {
  await settled()
  const fs = new SimulatedDisk()
  let syncs = 0
  fs.beforeOperation = ({ kind }) => {
    if (kind === 'sync') syncs++
  }
  const writer = RecordWriter.createSync(fs, path, header)
  const payload = Buffer.from('p')
  const first = [writer.sync(), writer.sync()]
  const waiting: Promise<void>[] = []
  for (let i = 1; i <= 10; i++) {
    writer.append(payload, 0, 1, i)
    writer.writeSync()
    waiting.push(writer.sync())
  }
  t.equal(syncs, 1, 'the first two share one; the others wait for its end')
  await Promise.all([...first, ...waiting])
  t.equal(syncs, 2)
  t.equal(writer.syncedLength, writer.length)
  await writer.sync()
  t.equal(syncs, 2, 'nothing new, no sync')
})

void t.test('after a failed write or sync nothing is tried again', async (t) => {
  await settled()
  for (const kind of ['write', 'sync'] as const) {
    const fs = new SimulatedDisk()
    const writer = RecordWriter.createSync(fs, path, header)
    let failing = true
    let tries = 0
    fs.beforeOperation = (operation) => {
      if (operation.kind !== kind) return
      tries++
      if (failing) throw new Error('injected')
    }
    writer.append(Buffer.from('p'), 0, 1, 1)
    if (kind === 'write') {
      t.throws(() => writer.writeSync(), /injected/)
    } else {
      writer.writeSync()
      await t.rejects(writer.sync(), /injected/)
    }
    failing = false
    t.throws(() => writer.append(Buffer.from('p'), 0, 1, 2), { code: 'ERR_POISONED' })
    t.throws(() => writer.writeSync(), { code: 'ERR_POISONED' })
    t.throws(() => writer.syncSync(), { code: 'ERR_POISONED', cause: /injected/ })
    await t.rejects(writer.sync(), { code: 'ERR_POISONED' })
    t.equal(tries, 1)
    t.equal(writer.syncedLength, 0)
    writer.closeSync()
  }
})

void t.test('closing while a sync runs waits for it and then refuses', async (t) => {
  await settled()
  const fs = new SimulatedDisk()
  const writer = RecordWriter.createSync(fs, path, header)
  const running = writer.sync()
  writer.closeSync()
  writer.closeSync()
  await running
  t.throws(() => writer.append(Buffer.from('p'), 0, 1, 1), { code: 'ERR_CLOSED' })
})

void t.test('a lost sector that shows nothing of a frame is a lost one', async (t) => {
  await settled()
  const sectorBytes = 512
  for (let inFirst = 1; inFirst <= 12; inFirst++) {
    const fs = new SimulatedDisk()
    const writer = RecordWriter.createSync(fs, path, header)
    // The first frame ends so that `inFirst` bytes of the second one's header are in its sector.
    const overhead = frameHeaderBytes + 1
    const payload = Buffer.alloc(sectorBytes - inFirst - fileHeaderBytes - overhead, 'x')
    writer.append(payload, 0, payload.length, 1)
    writer.append(Buffer.from('second'), 0, 6, 2)
    writer.writeSync()
    const whole = readAll(fs)
    for (const fill of [0, 0xa5]) {
      const bytes = Buffer.from(whole).fill(fill, sectorBytes - inFirst, sectorBytes)
      const { scan, frames } = scanFile(fileSystemWith(bytes))
      t.equal(frames.length, 1)
      t.equal(scan.damage?.cause, 'lostBlocks', `${inFirst} bytes of ${fill}`)
    }
    // The length of an empty frame is zero, so zeros in its place fit as well.
    const marked = new SimulatedDisk()
    const marker = RecordWriter.createSync(marked, path, header)
    marker.append(payload, 0, payload.length, 1)
    marker.append(payload, 0, 0, 2)
    marker.writeSync()
    const empty = readAll(marked).fill(0, sectorBytes - inFirst, sectorBytes)
    t.equal(scanFile(fileSystemWith(empty)).scan.damage?.cause, 'lostBlocks')
    const flipped = Buffer.from(whole)
    flipped[sectorBytes - inFirst + frameHeaderBytes] ^= 1
    const isLost = inFirst <= 8
    t.equal(scanFile(fileSystemWith(flipped)).scan.damage?.cause, isLost ? 'lostBlocks' : 'harm')
  }
})

void t.test('the search behind damage ends on a file made to exhaust it', async (t) => {
  await settled()
  // Each frame of ~1 MiB starts 40 bytes behind the one before: all headers fit, no checksum does.
  const { sealFrame, frameKindData } = await import('../../../../src/storage/record/frame.js')
  const bytes = Buffer.alloc(2_000_000)
  tenFrames().copy(bytes, 0, 0, fileHeaderBytes)
  for (let at = 160; at < 900_000; at += 40) {
    bytes.writeUInt32LE(0, at)
    if (at % 8 === 0) sealFrame(bytes, at, 8, frameKindData, 1, 0, 7, at)
  }
  t.equal(scanFile(fileSystemWith(bytes)).scan.syncedLengthKnown, 0, 'whole frames are skipped')
  for (let at = 160; at < 20_000; at += 40) {
    sealFrame(bytes, at, 1_000_000, frameKindData, 1, 0, 7, at)
    bytes[at] ^= 1
  }
  const { scan } = scanFile(fileSystemWith(bytes))
  t.equal(scan.damage?.offset, fileHeaderBytes)
  t.equal(scan.syncedLengthKnown, bytes.length, 'in doubt, all of it had been durable')
})

void t.test('the worked example of FORMAT.md is what is written, byte for byte', async (t) => {
  await settled()
  const document = readFileSync(join(projectRoot, 'src/storage/record/FORMAT.md'), 'utf8')
  const lines = [...document.matchAll(/^00[0-9a-f]{2} {2}((?:[0-9a-f]{2} ?){1,16})/gm)]
  const example = Buffer.from(lines.map((line) => line[1].replaceAll(' ', '')).join(''), 'hex')
  const fs = new SimulatedDisk()
  const writer = RecordWriter.createSync(fs, path, header)
  writer.append(Buffer.from('hi'), 0, 2, 258)
  writer.writeSync()
  t.equal(readAll(fs).toString('hex'), example.toString('hex'))
})
