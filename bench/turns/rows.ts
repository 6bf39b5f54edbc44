/**
 * CPU time of reads of rows of ten columns with their values, in turns with `lmdb`, which has a row
 * in one value: YCSB's rows, without a merge beside the reads. Everything lies in the cache.
 *
 * `node build/bench/turns/rows.js [--rows 1000000] [--rounds 41]` prints medians in microseconds,
 * and the rate of Cellar as a part of the peer's. `lmdb` is loaded from `bench/peers`, which
 * `npm run bench` installs. Answers are compared before anything is measured.
 */
import assert from 'node:assert'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { engine as cellarEngine } from '../engines/cellar.js'
import { engine as lmdbEngine } from '../engines/lmdb.js'
import type { EngineAdapter, OpenedEngine, RowPut, Store } from '../harness/engine.js'
import { ycsbKeys } from '../harness/draws/keys.js'
import { seededRandom } from '../harness/draws/random.js'
import { printablePool, ValuePool } from '../harness/draws/values.js'
import { ScrambledZipfian } from '../harness/draws/zipfian.js'
import { inTurns } from './turns.js'

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '41' },
  },
})
const rowCount = Number(given.rows)
const rounds = Number(given.rounds)
const rowsOfBatch = 100
const getsOfRound = 5000
const scansOfRound = 100
const updateFraction = 0.05

const columns = Array.from({ length: 10 }, (_, index) => `field${index}`)
const allColumns = columns.map((_, index) => index)
const values = columns.map(() => undefined)
const random = seededRandom(7)
const pool = new ValuePool(printablePool(301), 100)
const zipfian = new ScrambledZipfian(rowCount + 1, random)

const directory = mkdtempSync(join(tmpdir(), 'cellar-rows-'))

async function open(engine: EngineAdapter, layout: 'row' | 'native'): Promise<OpenedEngine> {
  const place = join(directory, engine.name)
  mkdirSync(place)
  const cacheBytes = Math.max(256 * 1024 * 1024, rowCount * 2000)
  const settings = {
    directory: place,
    durability: 'buffered',
    layout,
    columns,
    cacheBytes,
  } as const
  return await engine.open(settings)
}

const opened = [await open(lmdbEngine, 'row'), await open(cellarEngine, 'native')]
const stores = opened.map(({ fastest }) => fastest)

function rowsFrom(start: number): RowPut[] {
  const count = Math.min(rowsOfBatch, rowCount - start)
  return Array.from({ length: count }, (_, index) => {
    const cells = allColumns.map(() => pool.any(random))
    return { row: ycsbKeys.make(start + index), columns: allColumns, values: cells }
  })
}

for (let start = 0; start < rowCount; start += rowsOfBatch) {
  const rows = rowsFrom(start)
  for (const store of stores) await store.putMany(rows)
  if (start % 10_000 === 0) await new Promise(setImmediate)
}
const [, cellar] = opened
await cellar.flush?.()
await cellar.settle?.()

function readAll(): void {
  for (let index = 0; index < rowCount; index++) {
    const texts = stores.map((store) => {
      assert.equal(store.get(ycsbKeys.make(index), values), true)
      return Buffer.concat(values as unknown as Buffer[]).toString('latin1')
    })
    assert.equal(texts[0], texts[1])
  }
}
readAll()

/** Keys of rows, by YCSB's distribution. */
function drawKeys(count: number): Buffer[] {
  return Array.from({ length: count }, () => {
    for (;;) {
      const index = zipfian.next()
      if (index < rowCount) return ycsbKeys.make(index)
    }
  })
}

function getAll(store: Store, keys: readonly Buffer[]): number {
  for (const key of keys) void store.get(key, values)
  return keys.length
}

function scanAll(store: Store, keys: readonly Buffer[]): number {
  for (const [index, start] of keys.entries()) {
    const limit = 1 + ((index * 37) % 100)
    void store.scan({ start, stop: undefined, limit, reversed: false }, () => {})
  }
  return keys.length
}

function mixAll(store: Store, keys: readonly Buffer[]): number {
  for (const [index, key] of keys.entries()) {
    if ((index * updateFraction) % 1 >= updateFraction) void store.get(key, values)
    else void store.put(key, [index % columns.length], [pool.any(random)])
  }
  return keys.length
}

/** Measures one work with both stores, on the same keys, and prints it. */
async function compare(
  name: string,
  keysOf: (round: number) => readonly Buffer[],
  work: (store: Store, keys: readonly Buffer[]) => number,
): Promise<void> {
  let keys: readonly Buffer[] = []
  let drawn = -1
  const kinds = stores.map((store, index) => ({
    name: ['lmdb', 'cellar'][index],
    run: (round: number) => {
      if (drawn !== round) keys = keysOf(round)
      drawn = round
      return work(store, keys)
    },
  }))
  const times = await inTurns(kinds, rounds)
  const [peer, own] = ['lmdb', 'cellar'].map((engine) => times.get(engine)!.median)
  const ratio = (peer / own).toFixed(2)
  console.log(`${name}: lmdb ${peer.toFixed(2)} µs, Cellar ${own.toFixed(2)} µs, rate ${ratio} x`)
}

const hot = drawKeys(1000)
const uniform = Array.from({ length: getsOfRound }, () => ycsbKeys.make(random.below(rowCount)))
const some = Array.from({ length: 20_000 }, (_, index) => {
  return ycsbKeys.make(Math.floor((index / 20_000) * rowCount))
})
await compare('get, zipfian', () => drawKeys(getsOfRound), getAll)
await compare('get, 1,000 hot rows', () => hot, getAll)
await compare('get, 20,000 rows, uniform', () => some, getAll)
await compare('get, all rows, uniform', () => uniform, getAll)
await compare('scan of 1 to 100 rows', () => drawKeys(scansOfRound), scanAll)
for (const [index, key] of drawKeys(rowCount / 5).entries()) {
  const value = pool.any(random)
  for (const store of stores) await store.put(key, [index % columns.length], [value])
  if (index % 1000 === 0) await new Promise(setImmediate)
}
await cellar.settle?.()
readAll()
await compare('get behind updates, zipfian', () => drawKeys(getsOfRound), getAll)
await compare('scan behind updates', () => drawKeys(scansOfRound), scanAll)
await compare('19 gets to one update', () => drawKeys(getsOfRound), mixAll)
for (const engine of opened) await engine.close()
rmSync(directory, { recursive: true, force: true })
