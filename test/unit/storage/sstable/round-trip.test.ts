import t from 'tap'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import type { Test as Tap } from 'tap'
import { compareBytes } from '../../../../src/base/bytes.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { CodecName } from '../../../../src/storage/codec/codec.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { SsTableWriter } from '../../../../src/storage/sstable/writer.js'
import {
  build,
  codecs,
  databaseId,
  keyOf,
  open,
  plainEntries,
  randomFrom,
  readAll,
  seed,
  sorted,
  statistics,
  valueOf,
  verifyAll,
} from './helpers.js'
import type { Entry } from './helpers.js'
import { terminatorBytes } from '../../../../src/storage/cell/cell-key.js'
import { cellOf, storedForm } from '../scan/random-cells.js'

t.before(() => loadChecksums())

/** Random entries over few key beginnings, with the shapes that break formats now and then. */
function randomEntries(random: () => number, count: number): Entry[] {
  const length = (shapes: number[]) => shapes[Math.floor(random() * shapes.length)]
  const bytes = (size: number, alphabet: number[]) => {
    const target = Buffer.alloc(size)
    for (let i = 0; i < size; i++) target[i] = alphabet[Math.floor(random() * alphabet.length)]
    return target
  }
  const entries: Entry[] = []
  const beginnings = [Buffer.alloc(0), Buffer.alloc(40, 0x61), Buffer.alloc(130, 0xff)]
  for (let i = 0; i < count; i++) {
    const beginning = beginnings[Math.floor(random() * beginnings.length)]
    const tail = bytes(length([0, 1, 2, 5, 6, 7, 8, 90]), [0, 1, 0x7f, 0x80, 0xff])
    const value = bytes(length([0, 0, 1, 100, 127, 128, 700]), [1, 2, 3])
    entries.push({ key: Buffer.concat([beginning, tail]), value })
  }
  return sorted(entries)
}

/** Compares all moves from each probe with the sorted array. */
function checkMoves(
  t: Pick<Tap, 'equal'>,
  entries: Entry[],
  probes: Buffer[],
  blockBytes: number,
): void {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries, { blockBytes })
  const reader = open(fileSystem)
  const cursor = reader.cursor()
  let wrong = 0
  for (const probe of probes) {
    const at = entries.findIndex(
      ({ key }) => compareBytes(key, 0, key.length, probe, 0, probe.length) >= 0,
    )
    const position = at < 0 ? entries.length : at
    // Half of the seeks start from where the last one ended, half from nowhere.
    for (const fresh of [false, true]) {
      const moving = fresh ? reader.cursor() : cursor
      moving.seek(probe, probe.length)
      for (let i = position; i < position + 3; i++) {
        if (!same(moving, entries[i])) wrong++
        if (moving.valid) moving.next()
      }
      moving.seekBefore(probe, probe.length)
      for (let i = position - 1; i < position + 1; i++) {
        if (i >= 0 && !same(moving, entries[i])) wrong++
        if (i < 0 && moving.valid) wrong++
        if (!moving.valid) break
        moving.next()
      }
      moving.seekBefore(probe, probe.length)
      for (let i = position - 1; i >= position - 9; i--) {
        if (i < 0 ? moving.valid : !same(moving, entries[i])) wrong++
        if (!moving.valid) break
        moving.previous()
      }
    }
  }
  t.equal(wrong, 0, `blocks of ${blockBytes}`)
}

function same(cursor: ReturnType<ReturnType<typeof open>['cursor']>, entry?: Entry): boolean {
  if (entry === undefined || !cursor.valid) return entry === undefined && !cursor.valid
  return keyOf(cursor).equals(entry.key) && valueOf(cursor).equals(entry.value)
}

/** Stored bytes of the blocks from the one with `start` up to, excluding, the one with `end`. */
function blockBytesOf({ index }: SsTableReader, start?: Buffer, end?: Buffer): number {
  const from = start === undefined ? 0 : index.find(start, start.length)
  const to = end === undefined ? index.blockCount : index.find(end, end.length)
  return Math.max(0, index.offsets[to] - index.offsets[from])
}

for (const codec of ['none', 'lz4', 'gz'] as CodecName[]) {
  void t.test(`a table read with ${codec} holds what was written, seed ${seed}`, async (t) => {
    const random = randomFrom(seed)
    for (const [count, blockBytes] of [
      [1, 64],
      [2, 64],
      [300, 64],
      [300, 1024],
      [3000, 16_384],
      [3000, 1 << 20],
    ]) {
      const entries = randomEntries(random, count)
      const fileSystem = new SimulatedDisk()
      const written = build(fileSystem, entries, { codec, blockBytes })
      const reader = open(fileSystem, { expectedBytes: written.fileBytes })
      t.same(readAll(reader), entries, `${count} entries in blocks of ${blockBytes}`)
      t.equal(verifyAll(reader), written.blockCount)
      t.equal(reader.properties.entryCount, entries.length)
      const { fileBytes, ...properties } = written
      t.same(reader.properties, properties)
      t.equal(reader.fileBytes, fileBytes)
      reader.closeSync()
    }
  })
}

void t.test(`seek, seekBefore and next agree with a sorted array, seed ${seed}`, async (t) => {
  const random = randomFrom(seed + 1)
  for (const blockBytes of [64, 300, 4096]) {
    const entries = randomEntries(random, 250)
    const probes = entries.flatMap(({ key }) => [
      key,
      Buffer.concat([key, Buffer.from([0])]),
      key.subarray(0, Math.max(0, key.length - 1)),
    ])
    probes.push(Buffer.alloc(0), Buffer.alloc(200, 0xff))
    probes.push(...randomEntries(random, 200).map(({ key }) => key))
    probes.sort(() => random() - 0.5)
    checkMoves(t, entries, probes, blockBytes)
  }
})

void t.test('a table without entries opens, finds nothing and verifies', async (t) => {
  const fileSystem = new SimulatedDisk()
  const written = build(fileSystem, [])
  t.equal(written.blockCount, 0)
  const reader = open(fileSystem)
  const cursor = reader.cursor()
  cursor.seek(Buffer.from('a'), 1)
  t.equal(cursor.valid, false)
  cursor.seekBefore(Buffer.from('a'), 1)
  t.equal(cursor.valid, false)
  t.equal(verifyAll(reader), 0)
  t.equal(blockBytesOf(reader), 0)
})

void t.test('the empty key is an entry like any other', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, [{ key: Buffer.alloc(0), value: Buffer.alloc(0) }])
  const reader = open(fileSystem)
  t.same(readAll(reader), [{ key: Buffer.alloc(0), value: Buffer.alloc(0) }])
  const cursor = reader.cursor()
  cursor.seekBefore(Buffer.alloc(0), 0)
  t.equal(cursor.valid, false)
  cursor.seekBefore(Buffer.from([0]), 1)
  t.equal(cursor.valid, true)
})

void t.test(
  'keys of 70,000 bytes and values larger than a block get blocks of their own',
  async (t) => {
    const key = (last: number) => Buffer.concat([Buffer.alloc(70_000, 0x62), Buffer.from([last])])
    const entries = [
      { key: Buffer.from('a'), value: Buffer.alloc(300_000, 0x31) },
      { key: Buffer.from('b'), value: Buffer.from('small') },
      { key: key(1), value: Buffer.alloc(0) },
      { key: key(2), value: Buffer.alloc(70_000, 0x32) },
      { key: key(255), value: Buffer.from('end') },
    ]
    for (const codec of ['none', 'lz4'] as CodecName[]) {
      const fileSystem = new SimulatedDisk()
      const written = build(fileSystem, entries, { blockBytes: 4096, codec })
      t.equal(written.blockCount, 5)
      const reader = open(fileSystem)
      t.same(readAll(reader), entries)
      const cursor = reader.cursor()
      cursor.seek(key(2), 70_001)
      t.ok(keyOf(cursor).equals(key(2)))
      cursor.seekBefore(key(2), 70_001)
      t.ok(keyOf(cursor).equals(key(1)))
      verifyAll(reader)
    }
  },
)

void t.test('blocks keep to their size unless one entry exceeds it', async (t) => {
  const fileSystem = new SimulatedDisk()
  const written = build(fileSystem, plainEntries(2000, 50), { blockBytes: 1000, codec: 'none' })
  // 64 bytes an entry, lengths and slot included, and 4 for the count: 15 fit.
  t.equal(written.blockCount, Math.ceil(2000 / 15))
})

void t.test('an entry above the limit is refused with ERR_TOO_LARGE', async (t) => {
  const file = new SimulatedDisk().openSync('table', 'create')
  const codec = codecs.byName('none')
  const writer = new SsTableWriter(file, {
    fileNumber: 1,
    databaseId,
    blockBytes: 4096,
    codec,
    filterBitsPerKey: 0,
  })
  const source = Buffer.alloc(32 * 1024 * 1024 + 1)
  t.throws(() => writer.add(source, 0, 1, 1, source.length), { code: 'ERR_TOO_LARGE' })
  writer.add(source, 0, 1, 1, source.length - 1)
  t.equal(writer.finish(statistics).entryCount, 1)
})

void t.test('keys out of order and equal keys are a broken invariant', async (t) => {
  for (const second of ['a', 'b']) {
    const file = new SimulatedDisk().openSync('table', 'create')
    const writer = new SsTableWriter(file, {
      fileNumber: 1,
      databaseId,
      blockBytes: 4096,
      codec: codecs.byName('none'),
      filterBitsPerKey: 0,
    })
    writer.add(Buffer.from('b'), 0, 1, 1, 1)
    t.throws(() => writer.add(Buffer.from(second), 0, 1, 1, 1), { name: 'InvariantError' })
  }
})

void t.test(
  'bytesWritten grows with each entry and the offsets of blocks follow the keys',
  async (t) => {
    const fileSystem = new SimulatedDisk()
    const entries = plainEntries(1000)
    const written = build(fileSystem, entries, { codec: 'none' })
    const reader = open(fileSystem)
    t.equal(blockBytesOf(reader), written.dataBytes)
    const half = blockBytesOf(reader, entries[250].key, entries[750].key)
    t.ok(Math.abs(half - written.dataBytes / 2) < 2000, `${half} of ${written.dataBytes}`)
    t.equal(blockBytesOf(reader, entries[750].key, entries[250].key), 0)
    t.equal(blockBytesOf(reader, Buffer.from('z')), 0)
  },
)

void t.test('a file without a filter says maybe to everything', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, plainEntries(10), { filterBitsPerKey: 0 })
  const reader = open(fileSystem)
  t.equal(reader.mayContain({ low: 1, high: 2 }), true)
  verifyAll(reader)
})

void t.test('a block ends before a group that does not fit, if it is half full', async (t) => {
  const fileSystem = new SimulatedDisk()
  const entries: Entry[] = []
  const groups = [...Array<number>(40).fill(10), ...Array<number>(10).fill(70), 1, 2, 3, 200, 5]
  groups.forEach((cells, group) => {
    for (let cell = 0; cell < cells; cell++) {
      const row = `group${String(group).padStart(4, '0')}`
      const value = 'x'.repeat(99)
      const { bytes, keyEnd } = storedForm(cellOf({ row, qualifier: `${1000 + cell}`, value }))
      entries.push({ key: bytes.subarray(0, keyEnd), value: bytes.subarray(keyEnd) })
    }
  })
  const groupBytes = 'group0000'.length + terminatorBytes
  const file = fileSystem.openSync('table', 'create')
  const options = { codec: codecs.byName('none'), databaseId, fileNumber: 9, filterBitsPerKey: 0 }
  const writer = new SsTableWriter(file, { ...options, blockBytes: 4096 })
  for (const { key, value } of entries) {
    const bytes = Buffer.concat([key, value])
    writer.add(bytes, 0, key.length, key.length, bytes.length, undefined, groupBytes)
  }
  writer.finish(statistics)
  file.closeSync()
  const reader = open(fileSystem)
  t.same(readAll(reader), entries)
  t.equal(verifyAll(reader), reader.index.blockCount)
  const groupsOf: Set<string>[] = []
  for (let index = 0; index < reader.index.blockCount; index++) {
    const { buffer, entriesEnd } = reader.readBlockSync(index)
    t.ok(entriesEnd <= 4096)
    const names = buffer.toString('latin1', 0, entriesEnd).match(/group\d{4}/g) ?? []
    groupsOf.push(new Set(names))
    // A block has the key of each of its rows once.
    t.equal(names.length, groupsOf.at(-1)!.size)
  }
  const blocksOf = (group: number) => {
    const name = `group${String(group).padStart(4, '0')}`
    return groupsOf.filter((names) => names.has(name)).length
  }
  // Three groups of ten cells fit, and a fourth would be cut.
  for (let group = 0; group < 39; group++) t.equal(blocksOf(group), 1, `group ${group}`)
  t.equal(groupsOf[0].size, 3)
  // A group longer than a block takes no more blocks than it needs.
  for (let group = 41; group < 50; group++) t.ok(blocksOf(group) <= 3, `group ${group}`)
})
