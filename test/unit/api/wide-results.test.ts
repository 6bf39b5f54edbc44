/**
 * Results of many cells: a column is found without a search through the whole row, in results of
 * the engine and of cells as objects.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../src/base/random.js'
import { Result, type Cell } from '../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_129)

/** Copies of cells; `count` is called each time that a qualifier is read. */
function counted(cells: readonly Cell[], count: () => void): Cell[] {
  return cells.map((cell) => ({
    ...{ row: cell.row, family: cell.family, timestamp: cell.timestamp, type: cell.type },
    ...{ timestampExact: cell.timestampExact, value: cell.value, sequence: cell.sequence },
    get qualifier(): Buffer {
      count()
      return cell.qualifier
    },
  }))
}

void t.test('columns of a wide row in any order', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const table = await database.createTable('t', { families: { f: {} } })
  const columnsMax = 50_000
  const cells: Record<string, string> = {}
  for (let i = 0; i < columnsMax; i++) cells[`f:${String(i).padStart(6, '0')}`] = `value ${i}`
  await table.put({ row: 'r', cells })
  const result = await table.get({ row: 'r' })
  let looked = 0
  const objects = Result.of(counted(result.cells(), () => looked++))
  const random = seededRandom(seed)
  for (let i = 0; i < 5000 && looked < 2 * columnsMax; i++) {
    const number = Math.floor(random() * columnsMax)
    const name = `f:${String(number).padStart(6, '0')}`
    if (result.value(name, 'utf8') !== `value ${number}`) t.fail(`${name} of the engine`)
    if (objects.value(name, 'utf8') !== `value ${number}`) t.fail(`${name} of objects`)
    if (result.has(`${name}x`) || objects.has(`${name}x`)) t.fail(`${name}x is absent`)
  }
  t.ok(looked < 2 * columnsMax, `${looked} names of cells were looked at`)
})

void t.test(`every call agrees with the list of cells, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const families = ['a', 'f', 'g']
  const table = await database.createTable('t', {
    families: { a: { versions: 3 }, f: { versions: 3 }, g: { versions: 3 } },
  })
  const name = (): Buffer => Buffer.from(Array.from({ length: below(4) }, () => below(3)))
  for (let row = 0; row < 20; row++) {
    for (let i = 0; i < 1 + 8 * row; i++) {
      const column = { family: families[below(3)], qualifier: name() }
      await table.put({ row: `r${row}`, cells: [{ column, value: `v${i}`, timestamp: below(9) }] })
    }
    const got = await table.get({ row: `r${row}`, versions: 3 })
    const cells = got.cells()
    for (const result of [got, Result.of(cells, { families })]) {
      for (let i = 0; i < 60; i++) {
        const column = { family: families[below(3)], qualifier: name() }
        const wanted = cells.filter(
          ({ family, qualifier }) => family === column.family && qualifier.equals(column.qualifier),
        )
        const values = wanted.map(({ value }) => value.toString())
        const ofFamily = cells.filter(({ family }) => family === column.family).length
        t.strictSame(
          {
            values: result.columnCells(column).map(({ value }) => value.toString()),
            newest: result.value(column)?.toString(),
            exists: result.has(column),
            ofFamily: result.columnCells(column.family).length,
          },
          { values, newest: values[0], exists: values.length > 0, ofFamily },
          'the cells of a column',
        )
      }
    }
  }
})

void t.test(`rows copied as a whole answer as lists of cells, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const families = ['a', 'f', 'g']
  const table = await database.createTable('t', { families: { a: {}, f: {}, g: {} } })
  const rows = 40
  for (let row = 0; row < rows; row++) {
    const used = row % 3 === 0 ? families : [families[row % 3]]
    for (const family of used) {
      for (let i = 0; i < 1 + below(row % 5 === 0 ? 120 : 12); i++) {
        const column = { family, qualifier: Buffer.from([below(3), below(70)]) }
        const value = 'v'.repeat(below(row % 7 === 0 ? 300 : 30))
        await table.put({ row: `r${String(row).padStart(2, '0')}`, cells: [{ column, value }] })
      }
    }
  }
  await database.flush()
  const calls = ['value', 'text', 'cell', 'has', 'columnCells', 'size', 'row', 'cells'] as const
  for (let round = 0; round < 10; round++) {
    for (const got of await table.scan().all()) {
      const cells = got.cells()
      const startRow = got.row!
      const fresh =
        round % 2 === 0
          ? await table.get({ row: startRow })
          : (await table.scan({ startRow, limit: 1 }).all())[0]
      const expected = Result.of(cells, { families })
      for (let i = 0; i < 12; i++) {
        const call = calls[below(calls.length)]
        const { family, qualifier } = cells[below(cells.length)]
        const isThere = below(4) > 0
        const name = `${family}:${qualifier.toString('latin1')}${isThere ? '' : 'x'}`
        const column = below(2) === 0 ? name : Buffer.from(name, 'latin1')
        const answers = [fresh, expected].map((result) => {
          if (call === 'value') return result.value(column)?.toString()
          if (call === 'text') return result.value(column, 'utf8')
          if (call === 'cell') return result.cell(column)?.value.toString()
          if (call === 'has') return result.has(column)
          if (call === 'columnCells') return result.columnCells(column).length
          if (call === 'size') return result.size
          if (call === 'row') return result.row?.toString()
          return result.cells().map(({ value }) => value.toString())
        })
        t.same(answers[0], answers[1], `${call} of ${name}`)
      }
    }
  }
})
