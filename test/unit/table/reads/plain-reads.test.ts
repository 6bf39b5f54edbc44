/**
 * Reads by the loop over plain puts give what the rules give. A get with a limit that no row comes
 * to is read by the rules alone.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import {
  ColumnPrefixFilter,
  SingleColumnValueFilter,
  type EmbeddedTable,
  type Get,
  type Snapshot,
} from '../../../../src/entries/index.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { lengthOf } from '../../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)
const rowCount = 40
const columns = ['f:a', 'f:b', 'f:c', 'f:', 'g:x', 'f']
const options = { blockCacheBytesMax: 8 * 1024 * 1024, memtableBytesMax: 16 * 1024 * 1024 }

function differences(table: EmbeddedTable, rows: number, snapshot?: Snapshot): string[] {
  const wrong: string[] = []
  const at = snapshot === undefined ? {} : { snapshot }
  const compare = (get: Get): void => {
    const short = showResult(plainResult(table.getSync(get)))
    const general = showResult(plainResult(table.getSync({ ...get, cellsPerFamilyMax: 1_000_000 })))
    if (short !== general) wrong.push(`${JSON.stringify(get.columns)}: ${short} not ${general}`)
  }
  for (let i = 0; i < rows; i++) {
    compare({ row: `r${i}`, ...at })
    for (const column of columns) compare({ row: `r${i}`, columns: [column], ...at })
  }
  return wrong
}

void t.test(`reads by the loop and by the rules agree, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const test = await TestDatabase.open({ options })
  const families = { f: { versions: 3, blockBytes: 1024 }, g: { bloomFilter: 'ROWCOL' } as const }
  const table = await test.database.createTable('table', { families })
  let snapshot: Snapshot | undefined
  const mutate = (): void => {
    const row = `r${random.below(rowCount)}`
    const kind = random.below(20)
    const value = 'v'.repeat(random.below(300))
    if (kind === 0) table.deleteSync({ row })
    else if (kind === 1) table.deleteSync({ row, columns: [columns[random.below(3)]] })
    else if (kind === 2) table.putSync({ row, cells: { 'f:a': value }, ttlMilliseconds: 1000 })
    else if (kind === 3) table.putSync({ row, cells: { 'f:b': value }, timestamp: random.below(9) })
    else {
      const cells: Record<string, string> = {}
      for (const column of columns.slice(0, 5)) if (random.below(2) === 0) cells[column] = value
      if (Object.keys(cells).length > 0) table.putSync({ row, cells })
    }
  }
  for (let round = 0; round < lengthOf('CELLAR_PLAIN_ROUNDS', 8, 60); round++) {
    for (let i = 0; i < 10; i++) mutate()
    const event = random.below(8)
    if (event === 0) test.clock.milliseconds += 700
    else if (event === 1) await test.flush()
    else if (event === 2) await test.compact(random.below(2) === 0)
    else if (event === 3) {
      snapshot?.close()
      snapshot = test.database.snapshot()
    }
    // The second time rows are found where they were found before, the third time by address.
    for (let i = 0; i < 3; i++) {
      t.same(differences(table, rowCount, snapshot), [], `round ${round}`)
      t.same(differences(table, rowCount), [], `round ${round}, newest`)
    }
  }
  snapshot?.close()
  await test.close()
})

void t.test('a row that goes on in other blocks is read whole', async (t) => {
  const test = await TestDatabase.open({ options })
  const families = { f: { blockBytes: 1024 }, g: {} }
  const table = await test.database.createTable('table', { families })
  for (let i = 0; i < 20; i++) {
    const cells: Record<string, string> = {}
    for (let column = 0; column < i * 3 + 1; column++) cells[`f:c${column}`] = 'v'.repeat(100)
    table.putSync({ row: `r${i}`, cells })
  }
  await test.flush()
  await test.compact(true)
  for (let round = 0; round < 3; round++) {
    t.same(differences(table, 21), [])
    for (let i = 0; i < 20; i++) t.equal(table.getSync({ row: `r${i}` }).size, i * 3 + 1)
  }
  await test.close()
})

void t.test('a row that was read is found without asking a filter', async (t) => {
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: {} } })
  for (let i = 0; i < 50; i++) table.putSync({ row: `r${i}`, cells: { 'f:a': `${i}`, 'f:b': '' } })
  await test.flush()
  const readAll = (): number => {
    const before = test.database.statistics().filterChecks
    for (let i = 0; i < 50; i++) {
      t.equal(
        table
          .getSync({ row: `r${i}` })
          .value('f:a')
          ?.toString(),
        `${i}`,
      )
      t.equal(table.getSync({ row: `r${i}`, columns: ['f:a'] }).size, 1)
    }
    return test.database.statistics().filterChecks - before
  }
  t.ok(readAll() >= 100)
  // The first reads found no block in the cache, and so noted nothing.
  readAll()
  // Three locations may meet in one bucket, which holds two.
  t.ok(readAll() <= 3)
  table.putSync({ row: 'r7', cells: { 'f:a': 'new' } })
  await test.flush()
  t.equal(table.getSync({ row: 'r7' }).value('f:a')?.toString(), 'new', 'another set of tables')
  table.deleteSync({ row: 'r8' })
  t.ok(table.getSync({ row: 'r8' }).isEmpty, 'the memtable is asked first')
  await test.close()
})

void t.test('a get whose filter drops the row ends, wherever the last cell was', async (t) => {
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: {}, g: {} } })
  for (const row of ['q', 'r', 's']) {
    table.putSync({ row, cells: { 'f:a': 'yes', 'f:b': 'more', 'g:x': 'other' } })
  }
  for (const place of ['memtable', 'file', 'memtable and file']) {
    if (place === 'file') await test.flush()
    if (place === 'memtable and file') table.putSync({ row: 'r', cells: { 'f:b': 'new' } })
    for (const columns of [['f:a'], ['f:a', 'f:b'], ['f'], undefined, ['f:a', 'g:x']]) {
      for (const value of ['no', 'yes']) {
        const filter = new SingleColumnValueFilter({ column: 'f:a', operator: 'EQUAL', value })
        const get = { row: 'r', ...(columns && { columns }), filter }
        const isDropped = value === 'no'
        t.equal(table.getSync(get).isEmpty, isDropped, `${place}: ${columns?.join()} ${value}`)
        t.equal((await table.get(get)).isEmpty, isDropped)
        t.equal(table.existsSync(get), !isDropped)
      }
    }
  }
  await test.close()
})

void t.test('a hint that one read has not followed does not lead the next read', async (t) => {
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: {} } })
  table.putSync({ row: 'a', cells: { 'f:a': '1', 'f:b': '2', 'f:c': '3' } })
  table.deleteSync({ row: 'a', columns: ['f:b'] })
  // Beside a marker of the family, the filter's hint waits for the end of the empty column.
  table.putSync({ row: 'z', cells: { 'f:': 'empty' } })
  table.deleteSync({ row: 'z', families: ['f'], timestamp: 1 })
  for (const place of ['memtable', 'file']) {
    if (place === 'file') await test.flush()
    t.ok(table.getSync({ row: 'z', filter: new ColumnPrefixFilter('x') }).isEmpty)
    t.equal(table.getSync({ row: 'a' }).cells().length, 2, place)
  }
  await test.close()
})
