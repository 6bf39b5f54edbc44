import t from 'tap'
import { readFileSync } from 'node:fs'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { writeSeparator } from '../../../../src/storage/sstable/blocks/block-index.js'
import { cellOf, storedForm } from '../scan/random-cells.js'
import {
  build,
  bytesOf,
  fileSystemWith,
  open,
  plainEntries,
  readAll,
  statistics,
  verifyAll,
} from './helpers.js'

t.before(() => loadChecksums())

const entries = [
  { row: 'Delft', qualifier: 'lat', value: '52.01', sequence: 7 },
  { row: 'Delft', qualifier: 'lon', value: '4.36', sequence: 7 },
  { row: 'Delft', qualifier: 'name', value: '', sequence: 8 },
  { row: 'Leiden', qualifier: 'lat', value: '52.16', sequence: 9 },
].map((cell) => {
  const { bytes, keyEnd } = storedForm(cellOf({ timestamp: 1_700_000_000_123n, ...cell }))
  return { key: bytes.subarray(0, keyEnd), value: bytes.subarray(keyEnd) }
})

/** The bytes of the worked example in FORMAT.md. */
function documentedBytes(): Buffer {
  const text = readFileSync('src/storage/sstable/FORMAT.md', 'utf8')
  const rows = [...text.matchAll(/^ *\d+ ((?:[0-9a-f]{2} )+)/gm)]
  return Buffer.from(rows.map((row) => row[1].replaceAll(' ', '')).join(''), 'hex')
}

void t.test('the writer makes the documented example, byte for byte', async (t) => {
  const fileSystem = new SimulatedDisk()
  build(fileSystem, entries, {
    fileNumber: 7,
    codec: 'none',
    blockBytes: 256,
    areCells: true,
  })
  t.equal(bytesOf(fileSystem).toString('hex'), documentedBytes().toString('hex'))
})

void t.test('the reader understands the documented example', async (t) => {
  const reader = open(fileSystemWith(documentedBytes()), { fileNumber: 7 })
  t.same(readAll(reader), entries)
  t.equal(verifyAll(reader), 1)
  t.match(reader.properties, {
    ...statistics,
    entryCount: 4,
    keyBytes: 122,
    valueBytes: 18,
  })
  t.same(reader.properties.lastKey, entries[3].key)
})

void t.test('separators stand between two keys and are short where that is possible', async (t) => {
  const cases = [
    ['apple', 'banana', 'b'],
    ['apple', 'apricot', 'apr'],
    ['abc', 'abcd', 'abc'],
    ['', 'a', ''],
    ['a', 'b', 'a'],
    ['abcdef', 'abd', 'abcdef'],
  ]
  for (const [last, next, expected] of cases) {
    const target = Buffer.alloc(16)
    const source = Buffer.from(`<${next}>`)
    const length = writeSeparator(target, 3, Buffer.from(last), source, 1, 1 + next.length)
    t.equal(target.toString('latin1', 3, 3 + length), expected, `${last} | ${next}`)
  }
})

void t.test('equal input makes equal files', async (t) => {
  const files = [0, 1].map(() => {
    const fileSystem = new SimulatedDisk()
    build(fileSystem, entries)
    return bytesOf(fileSystem)
  })
  t.same(files[0], files[1])
})

void t.test('finish writes everything before it syncs, and syncs once', async (t) => {
  const fileSystem = new SimulatedDisk()
  const kinds: string[] = []
  fileSystem.beforeOperation = ({ kind }) => void kinds.push(kind)
  build(fileSystem, plainEntries(20_000, 100), { codec: 'none' })
  t.same([...new Set(kinds)], ['create', 'write', 'sync'])
  t.equal(kinds.indexOf('sync'), kinds.length - 1)
})
