/** Lists of puts, which are applied in groups: each stays a mutation of its own. */
import t from 'tap'
import type { Change, Put } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261121)

function makeRandom(start: number): (limit: number) => number {
  let state = start | 0 || 1
  return (limit) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
}

async function open(): Promise<TestDatabase> {
  const test = await TestDatabase.open()
  await test.database.createTable('table', { families: { f: { versions: 3 }, g: {} } })
  return test
}

/** Puts of all sizes: lengths of one to three bytes in the log, several columns, both families. */
function randomPuts(random: (limit: number) => number, count: number): Put[] {
  return Array.from({ length: count }, (_, i) => {
    const size = [0, 1, 30, 100, 127, 128, 20_000][random(7)]
    const text = random(2) === 0 ? 'v'.repeat(size) : 'ä'.repeat(size / 2)
    const value = random(2) === 0 ? text : Buffer.from(text)
    const cells = { [`f:${random(3)}`]: value, ...(random(3) === 0 && { 'g:x': `${i}` }) }
    return { row: `row${random(40)}`, cells }
  })
}

function everyCell(test: TestDatabase): string[] {
  const cells: string[] = []
  for (const result of test.database.table('table').scanSync({ versions: 'all' })) {
    for (const { row, family, qualifier, value } of result.cells()) {
      cells.push(`${row.toString()} ${family}:${qualifier.toString()} ${value.toString()}`)
    }
  }
  return cells
}

async function firstChanges(test: TestDatabase, from: number, count: number): Promise<Change[]> {
  const found: Change[] = []
  for await (const change of test.database.changes({ fromSequence: from })) {
    found.push(change)
    if (found.length === count) break
  }
  return found
}

void t.test('a list is the same as its puts one by one, in tables, log and feed', async (t) => {
  const puts = randomPuts(makeRandom(seed), 700)
  const one = await open()
  for (const put of puts) one.database.table('table').putSync(put)
  const expected = everyCell(one)
  await one.close()
  for (const apply of ['putList', 'putListSync'] as const) {
    const test = await open()
    const before = test.database.statistics().lastSequence
    await test.database.table('table')[apply](puts)
    t.equal(test.database.statistics().lastSequence, before + puts.length, 'a sequence for each')
    t.same(everyCell(test), expected, `${apply}, seed ${seed}`)
    const changes = await firstChanges(test, before + 1, puts.length)
    t.same(
      changes.map(({ sequence }) => sequence - before),
      puts.map((_, i) => i + 1),
    )
    t.same(
      changes.map(({ cells }) => cells.length),
      puts.map(({ cells }) => Object.keys(cells).length),
    )
    await test.reopen()
    t.same(everyCell(test), expected, 'after a reopen')
    await test.close()
  }
})

void t.test(
  'what fails in the middle of a list leaves no trace, the others are there',
  async (t) => {
    const test = await open()
    const table = test.database.table('table')
    const good = (row: string, value = row): Put => ({ row, cells: { 'f:q': value } })
    const puts: Put[] = [
      { row: '', cells: { 'f:q': '1' } },
      good('a'),
      { row: 'b', cells: { 'f:q': 'half', 'none:q': '2' } },
      { ...good('c', 'v'.repeat(300)), durability: 'SKIP_WAL' },
      { row: 'd', cells: { 'f:q': 'x' }, durability: 'NEVER' } as unknown as Put,
      { ...good('e'), timestamp: -1 },
      good('f'),
      { row: 'g', cells: { 'f:q': 'x', g: '2' } },
    ]
    const before = test.database.statistics().lastSequence
    for (const apply of ['putList', 'putListSync'] as const) {
      const call = async () => table[apply](puts)
      const error = (await call().catch((failure: unknown) => failure)) as {
        code: string
        failures: Map<number, { code: string }>
      }
      t.equal(error.code, 'ERR_BATCH_FAILED')
      t.same([...error.failures].map(([at, { code }]) => [at, code]).sort(), [
        [0, 'ERR_INVALID_ARGUMENT'],
        [2, 'ERR_NO_SUCH_COLUMN_FAMILY'],
        [4, 'ERR_INVALID_ARGUMENT'],
        [5, 'ERR_INVALID_ARGUMENT'],
        [7, 'ERR_INVALID_ARGUMENT'],
      ])
    }
    t.equal(test.database.statistics().lastSequence, before + 6, 'three at a time were applied')
    const rows = [...table.scanSync()].map((result) => result.row!.toString())
    t.same(rows, ['a', 'c', 'f'])
    await test.close()
  },
)

void t.test('timestamps grow for a row that is named twice in a list', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  table.putListSync(['1', '2', '3'].map((value) => ({ row: 'r', cells: { 'f:q': value } })))
  const cells = table.getSync({ row: 'r', versions: 3 }).cells()
  t.same(
    cells.map(({ value }) => value.toString()),
    ['3', '2', '1'],
  )
  t.ok(cells[0].timestamp > cells[1].timestamp && cells[1].timestamp > cells[2].timestamp)
  await test.close()
})
