/** @runs campaign */
import t from 'tap'
import { readFrames, wasStored } from '../../../crash/damage/damage-oracle.js'
import { CellarError } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { fileHeaderBytes } from '../../../../src/storage/record/file-header.js'
import { scanRecordsSync } from '../../../../src/storage/record/record-scan.js'
import { parseFileName } from '../../../../src/storage/version/file-names.js'
import { readManifestSync, writeManifestSync } from '../../../../src/storage/version/manifest.js'
import { openVersionSet } from '../../../doubles/version-set.js'
import { emptyState } from '../../../../src/storage/version/version.js'
import {
  describe,
  databaseId,
  directory,
  fingerprint,
  lifeSteps,
  manifestName,
  newFileSystem,
  plantFile,
  randomFrom,
  readFile,
  seed,
} from './fixtures.js'

t.before(() => loadChecksums())

interface Life {
  readonly fileSystem: SimulatedDisk
  readonly name: string
  readonly fileNumber: number
  readonly content: Buffer
  /** States after 0, 1, 2, ... edits. */
  readonly states: string[]
  /** Ends of the snapshot and of each edit, by the number of edits. */
  readonly frameEnds: number[]
}

/** Runs a life in one manifest, the last edit without its sync if `tail` says so. */
function live(tail: 'synced' | 'unsynced'): Life {
  const original = newFileSystem()
  const set = openVersionSet(original, directory)
  const states = [describe(set.current)]
  let fileSystem = original
  for (const [index, step] of lifeSteps.entries()) {
    const edit = step(set, original)
    if (tail === 'unsynced' && index === lifeSteps.length - 1) {
      void set.publish(edit).catch(() => {})
      fileSystem = original.crash('keepAll', () => 0)
      // Only to learn the state after that edit; the image is taken.
      set.publishSync({})
    } else {
      set.publishSync(edit)
    }
    states.push(describe(set.current))
  }
  if (tail === 'synced') fileSystem = original.crash('keepAll', () => 0)
  const name = manifestName(fileSystem)
  const { fileNumber } = parseFileName(name)!
  const frameEnds: number[] = []
  const expected = { kind: 'manifest', fileNumber } as const
  scanRecordsSync(fileSystem, `${directory}/${name}`, expected, (_payload, _start, end) => {
    frameEnds.push(end + 1)
  })
  return { fileSystem, name, fileNumber, content: readFile(fileSystem, name), states, frameEnds }
}

/** What reading the manifest with that content gives: a state, or a typed error with its place. */
function outcome(life: Life, content: Buffer): string {
  plantFile(life.fileSystem, life.name, content)
  try {
    return describe(readManifestSync(life.fileSystem, directory, life.fileNumber).state)
  } catch (error) {
    if (!(error instanceof CellarError)) throw error
    const { code, corruption } = error
    const located =
      corruption?.file === `${directory}/${life.name}` && corruption.offset <= content.length
    return code === 'ERR_CORRUPTION' && !located ? `unlocated ${code}` : code
  }
}

/** What must come of a byte that became another one behind what is known to be durable. */
function outcomeInTail(content: Buffer, bad: Buffer, offset: number, cut: string): string {
  const { frames } = readFrames(content)
  const index = frames.findIndex(({ end }) => offset < end)
  const frame = frames[index]
  // The last frame without its last byte is a cut write.
  if (frame.end === content.length && bad[frame.end - 1] === 0) return cut
  return wasStored(frame, offset, frames.at(index + 1), content) ? 'ERR_CORRUPTION' : cut
}

function count(results: Map<string, number>, key: string): void {
  results.set(key, (results.get(key) ?? 0) + 1)
}

void t.test(`no flipped byte of a synced manifest goes unnoticed (seed ${seed})`, async (t) => {
  const life = live('synced')
  const random = randomFrom(seed)
  const whole = life.states[life.states.length - 1]
  const lastEnd = life.frameEnds[life.frameEnds.length - 1]
  t.equal(outcome(life, life.content), whole)
  const results = new Map<string, number>()
  for (let offset = 0; offset < life.content.length; offset++) {
    const bad = Buffer.from(life.content)
    bad[offset] ^= 1 + Math.floor(random() * 255)
    const result = outcome(life, bad)
    count(results, result === whole ? 'whole' : result)
    // Behind the last edit stands only the mark, which holds nothing of the state.
    const wanted =
      offset < lastEnd ? 'ERR_CORRUPTION' : outcomeInTail(life.content, bad, offset, whole)
    if (result !== wanted) t.fail(`flip at ${offset} of ${life.content.length} gives ${result}`)
  }
  t.same([...results.keys()].sort(), ['ERR_CORRUPTION', 'whole'])
  t.comment(JSON.stringify([...results]))
})

void t.test(
  `a flipped byte in an un-synced tail is refused or gives the state before (seed ${seed})`,
  async (t) => {
    const life = live('unsynced')
    const random = randomFrom(seed)
    const [before, after] = life.states.slice(-2)
    t.equal(outcome(life, life.content), after)
    const tailStart = life.frameEnds[life.frameEnds.length - 2]
    const seen = new Set<string>()
    for (let offset = 0; offset < life.content.length; offset++) {
      const bad = Buffer.from(life.content)
      bad[offset] ^= 1 + Math.floor(random() * 255)
      const result = outcome(life, bad)
      seen.add(result)
      // The mark before the last edit, or the edit itself.
      const wanted =
        offset < tailStart ? 'ERR_CORRUPTION' : outcomeInTail(life.content, bad, offset, before)
      if (result === wanted) continue
      t.fail(`flip at ${offset}, tail from ${tailStart}, gives ${result.slice(0, 100)}`)
    }
    t.same(seen, new Set(['ERR_CORRUPTION', before]))
  },
)

void t.test('a manifest cut at any byte gives the edits that are whole, or an error', async (t) => {
  const life = live('synced')
  const firstEnd = life.frameEnds[0]
  const seen = new Set<number>()
  for (let length = 0; length <= life.content.length; length++) {
    const result = outcome(life, life.content.subarray(0, length))
    if (length < firstEnd) {
      if (result !== 'ERR_CORRUPTION') t.fail(`cut at ${length} gives ${result}`)
      continue
    }
    const edits = life.frameEnds.filter((end) => end <= length).length - 1
    seen.add(edits)
    if (result !== life.states[edits]) t.fail(`cut at ${length} is not ${edits} edits`)
  }
  t.equal(seen.size, life.states.length, 'every state was seen')
})

void t.test('garbage behind the synced end is left behind', async (t) => {
  const life = live('synced')
  const random = randomFrom(seed)
  const whole = life.states[life.states.length - 1]
  const garbage = Buffer.from(Array.from({ length: 700 }, () => Math.floor(random() * 256)))
  const stale = life.content.subarray(fileHeaderBytes, life.frameEnds[2])
  for (const tail of [Buffer.alloc(1), Buffer.alloc(4096), garbage, stale, life.content]) {
    t.equal(outcome(life, Buffer.concat([life.content, tail])), whole)
  }
  const set = openVersionSet(life.fileSystem, directory)
  t.equal(set.tornTail?.bytesLost ?? 0, life.content.length)
  t.equal(describe(set.current), whole)
})

void t.test('an open that meets a damaged manifest changes nothing', async (t) => {
  const life = live('synced')
  plantFile(life.fileSystem, '000090.sst.tmp', Buffer.from('left'))
  const lastEnd = life.frameEnds[life.frameEnds.length - 1]
  for (let offset = 0; offset < lastEnd; offset += 61) {
    const bad = Buffer.from(life.content)
    bad[offset] ^= 0x40
    plantFile(life.fileSystem, life.name, bad)
    const before = fingerprint(life.fileSystem)
    const open = (): unknown => openVersionSet(life.fileSystem, directory)
    t.throws(open, { code: 'ERR_CORRUPTION', corruption: { file: `${directory}/${life.name}` } })
    t.equal(fingerprint(life.fileSystem), before)
  }
})

void t.test('a manifest under another number does not verify', async (t) => {
  const life = live('synced')
  plantFile(life.fileSystem, 'MANIFEST-000077', life.content)
  t.throws(() => openVersionSet(life.fileSystem, directory), { code: 'ERR_CORRUPTION' })
})

void t.test('an illegal edit with a good checksum is corruption with its offset', async (t) => {
  const illegal = [
    '{"format":1,"tablesDropped":[3]}',
    '{"format":1,"snapshot":true}',
    '{"format":1,"miracles":[]}',
    '{"format":1',
    '',
  ]
  for (const text of illegal) {
    const fileSystem = newFileSystem()
    const writer = writeManifestSync(fileSystem, directory, 1, databaseId, emptyState)
    const offset = writer.length
    writer.append(Buffer.from(text), 0, text.length, 2)
    writer.writeSync()
    writer.closeSync()
    const expected = { code: 'ERR_CORRUPTION', corruption: { file: '/db/MANIFEST-000001', offset } }
    t.throws(() => openVersionSet(fileSystem, directory), expected, text)
  }
  const fileSystem = newFileSystem()
  const writer = writeManifestSync(fileSystem, directory, 1, databaseId, emptyState)
  const empty = Buffer.from('{"format":1}')
  writer.append(empty, 0, empty.length, 3)
  writer.writeSync()
  t.throws(() => openVersionSet(fileSystem, directory), /edit missing.*expected edit 2/)
})
