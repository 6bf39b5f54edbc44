/**
 * A row that a get has read from one SSTable is read by its address the next time. Each get of
 * these tests is repeated, so that all ways to a row are taken, beside a plain model of the table.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import type { Result } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_123)

const columns = Array.from({ length: 6 }, (_, i) => `f:c${i}`)
type Row = Map<string, string>

function shown(result: Result): string {
  return JSON.stringify(result.toObject())
}

function expected(row: Row | undefined): string {
  const names = [...(row?.keys() ?? [])].sort()
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, row!.get(name)])))
}

for (const [name, cacheBytes] of [
  ['all blocks cached', 8 << 20],
  ['most blocks evicted', 40_000],
] as const) {
  void t.test(`repeated gets agree with a model, ${name}, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const next = (bound: number): number => random.below(bound)
    const test = await TestDatabase.open({ options: { blockCacheBytesMax: cacheBytes } })
    const { database } = test
    const table = await database.createTable('t', { families: { f: { blockBytes: 1024 } } })
    const model = new Map<string, Row>()
    const rows = Array.from({ length: 60 }, (_, i) => `row${i}`)
    for (let step = 0; step < 1500; step++) {
      const row = rows[next(rows.length)]
      const kept = model.get(row) ?? new Map<string, string>()
      const choice = next(100)
      if (choice < 12) {
        for (const column of columns.slice(next(3))) {
          const value = `${step}`.padStart(next(90), '.')
          await table.put({ row, cells: { [column]: value } })
          kept.set(column, value)
        }
        model.set(row, kept)
      } else if (choice < 15) {
        const column = columns[next(columns.length)]
        await table.delete({ row, columns: [column] })
        kept.delete(column)
      } else if (choice < 16) {
        await table.delete({ row })
        model.delete(row)
      } else if (choice < 18) await test.flush()
      else if (choice < 19) await test.compact(next(2) === 0)
      else {
        const snapshot = database.snapshot()
        const before = expected(model.get(row))
        for (let times = 0; times < 4; times++) {
          if (shown(table.getSync({ row })) !== before) t.fail(`get of ${row} in step ${step}`)
          if (shown(await table.get({ row })) !== before) t.fail(`awaited get, step ${step}`)
          if (shown(table.getSync({ row, snapshot })) !== before) t.fail(`snapshot, step ${step}`)
          if (table.existsSync({ row }) !== (before !== '{}')) t.fail(`exists, step ${step}`)
        }
        snapshot.close()
        const [first] = columns
        const value = table
          .getSync({ row, columns: [first] })
          .value(first)
          ?.toString()
        if (value !== model.get(row)?.get(first)) t.fail(`a get of one column, step ${step}`)
      }
    }
    t.ok(database.statistics().blockCache.hits > 1000)
    await test.close()
  })
}

void t.test('a snapshot older than the SSTable does not see the whole row', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:a': '1' } })
  const snapshot = database.snapshot()
  await table.put({ row: 'r', cells: { 'f:b': '2', 'f:c': '2' } })
  await test.flush()
  for (let times = 0; times < 3; times++) {
    t.same(table.getSync({ row: 'r' }).toObject(), { 'f:a': '1', 'f:b': '2', 'f:c': '2' })
    t.same(table.getSync({ row: 'r', snapshot }).toObject(), { 'f:a': '1' })
  }
  snapshot.close()
  await test.close()
})

void t.test('rows of several families, versions and lifetimes', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', {
    families: { a: { versions: 3 }, b: {}, c: { ttlMilliseconds: 1_000_000 } },
  })
  for (const value of ['1', '2']) {
    await table.put({
      row: 'r',
      cells: { 'a:x': value, 'b:x': value, 'b:y': value, 'b:z': value, 'c:x': value },
    })
  }
  await test.flush()
  for (let times = 0; times < 3; times++) {
    const all = table.getSync({ row: 'r' })
    t.same(all.toObject(), { 'a:x': '2', 'b:x': '2', 'b:y': '2', 'b:z': '2', 'c:x': '2' })
    t.equal(all.size, 5)
    t.equal(table.getSync({ row: 'r', versions: 3 }).columnCells('a:x').length, 2)
    t.same(table.getSync({ row: 'r', columns: ['b'] }).toObject(), {
      'b:x': '2',
      'b:y': '2',
      'b:z': '2',
    })
    t.equal(table.getSync({ row: 'r', columns: ['b'] }).size, 3)
    t.equal(table.getSync({ row: 'r', columns: ['b'] }).row?.toString(), 'r')
    t.ok(table.getSync({ row: 'r', columns: ['b'] }).has('b'))
    t.throws(() => table.getSync({ row: 'r', columns: ['b'] }).value('z:x'), {
      code: 'ERR_NO_SUCH_COLUMN_FAMILY',
    })
    const cached = database.statistics().blockCache.hits
    table.getSync({ row: 'r', columns: ['b'] })
    t.ok(database.statistics().blockCache.hits > cached, 'a hit of the cache is counted')
  }
  await test.close()
})
