/**
 * Micro-benchmarks of the memtable: insert, seek and scan per entry.
 *
 * A call handles `entriesPerCall` entries, so multiply Benchmark.js's rate by it: the names say so.
 */
import type Benchmark from 'benchmark'
import { FrozenEntriesCursor } from '../../src/storage/memtable/frozen-entries.js'
import { Memtable } from '../../src/storage/memtable/memtable.js'

/** Entries that one call of a benchmark handles. */
export const entriesPerCall = 10_000

const keyBytes = 16
const valueBytes = 100
const entryBytes = keyBytes + valueBytes

/** Entries with 16 decimal digits as key, at random or ascending. */
function makeSource(ascending: boolean): Buffer {
  const source = Buffer.alloc(entriesPerCall * entryBytes, 'v')
  let state = 88_172_645
  for (let i = 0; i < entriesPerCall; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const number = ascending ? i : (state >>> 0) * 100_000 + i
    source.write(String(number).padStart(keyBytes, '0'), i * entryBytes, 'latin1')
  }
  return source
}

function insertAll(memtable: Memtable, source: Buffer): void {
  for (let start = 0; start < source.length; start += entryBytes) {
    memtable.insert(source, start, start + keyBytes, start + keyBytes, start + entryBytes)
  }
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const random = makeSource(false)
  const ascending = makeSource(true)
  const memtable = new Memtable()
  insertAll(memtable, random)
  memtable.freeze()
  const cursor = memtable.cursor()
  const slices = memtable.exportSlices()
  let slice = slices.next()
  while (slice.done !== true) slice = slices.next()
  const frozen = new FrozenEntriesCursor(slice.value)
  const key = Buffer.alloc(keyBytes)

  suite.add(`memtable insert, random (x ${entriesPerCall})`, () => {
    insertAll(new Memtable(), random)
  })
  suite.add(`memtable insert, ascending (x ${entriesPerCall})`, () => {
    insertAll(new Memtable(), ascending)
  })
  suite.add(`memtable seek (x ${entriesPerCall})`, () => {
    for (let start = 0; start < random.length; start += entryBytes) {
      for (let i = 0; i < keyBytes; i++) key[i] = random[start + i]
      cursor.seek(key, keyBytes)
      if (!cursor.valid || cursor.buffer[cursor.keyEnd - 1] !== key[keyBytes - 1]) {
        throw new Error('an inserted key was not found')
      }
    }
  })
  for (const [name, each] of [
    ['memtable scan', cursor],
    ['frozen entries scan', frozen],
  ] as const) {
    suite.add(`${name} (x ${entriesPerCall})`, () => {
      let count = 0
      for (each.seek(key, 0); each.valid; each.next()) count++
      if (count !== entriesPerCall) throw new Error('the scan lost entries')
    })
  }
}
