/**
 * Families with `newVersionBehavior`, in which the order of writing counts: a put behind a delete
 * marker of its timestamp is seen, by checks as well, and however the batches are applied.
 */
import t from 'tap'
import type { Database, Delete, Put, RowMutations } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { roundsOf } from '../../../../src/hbase/owned/log/apply.js'
import type { LoggedBatch, LoggedCell } from '../../../../src/hbase/owned/log/logged-batch.js'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import { randomFrom } from '../../storage/version/fixtures.js'
import { withTableCalls } from '../../../helpers/planted.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261128)

/**
 * A store whose cells of one row and call are equally old, as on HBase: the markers of a call mask
 * its puts of the same timestamps, whatever their order.
 */
function equallyOld(database: Database): Database {
  const markersLast = ({ mutations, ...rest }: RowMutations): RowMutations => {
    const isDelete = (each: object): boolean => 'delete' in each
    const sorted = [...mutations].sort((a, b) => Number(isDelete(a)) - Number(isDelete(b)))
    return { ...rest, mutations: sorted }
  }
  return withTableCalls(database, (call, name) => {
    if (name !== 'batch') return call
    return (operations) => {
      const given = operations as { mutateRow: RowMutations }[]
      return call(given.map(({ mutateRow }) => ({ mutateRow: markersLast(mutateRow) })))
    }
  })
}

const put = (row: string, value: string): Put => ({ row, cells: { 'f:n': value }, timestamp: 1 })
const remove = (row: string): Delete => ({ row, families: [{ family: 'f', timestamp: 1 }] })

void t.test('what was removed and written again with one timestamp is seen', async (t) => {
  const store = await openMemoryDatabase()
  t.teardown(() => store.close())
  await store.createTable('t', { families: { f: { newVersionBehavior: true } } })
  const own = (): Promise<Database> => {
    return ownDatabase(equallyOld(reduceToRows(store)), { name: 'order', takeoverMilliseconds: 20 })
  }
  let database = await own()
  const draw = randomFrom(seed)
  const random = (below: number): number => Math.floor(draw() * below)
  t.comment(`seed ${seed}`)
  const expected = new Map<string, string>()
  let table = database.table('t')
  const look = async (): Promise<void> => {
    for (const row of ['a', 'b']) {
      const found = (await table.get({ row })).value('f:n')
      const wanted = expected.get(row)
      if (found?.toString() !== wanted) t.fail(`${row}: ${String(found)}, not ${wanted}`)
      const check = { row, column: 'f:n', equals: wanted ?? null }
      const { success } = await table.checkAndMutate(check, { put: put(row, `checked ${row}`) })
      if (!success) t.fail(`the check of ${row} does not see ${wanted}`)
      expected.set(row, `checked ${row}`)
    }
  }
  for (let round = 0; round < 60; round++) {
    const calls: Promise<unknown>[] = []
    for (let i = random(6); i >= 0; i--) {
      const row = 'ab'[random(2)]
      const value = `${round}.${i}`
      if (random(2) === 0) {
        calls.push(table.delete(remove(row)))
        expected.delete(row)
      } else {
        calls.push(table.put(put(row, value)))
        expected.set(row, value)
      }
    }
    await Promise.all(calls)
    await look()
    if (round % 20 !== 19) continue
    await database.close()
    database = await own()
    table = database.table('t')
    await look()
  }
  await database.close()
  const rows = await store.table('t').scan().all()
  t.strictSame(
    rows.map((row) => [row.row!.toString(), row.value('f:n')!.toString()]),
    [...expected].sort(),
    'the store has it too',
  )
})

void t.test('a round ends before a put that a marker of the round would mask', (t) => {
  const cell = (type: LoggedCell['type'], timestamp: bigint, qualifier = 'n'): LoggedCell => {
    const place = { table: 't', family: 'f', row: Buffer.from('r'), ttlMilliseconds: 0 }
    return { ...place, qualifier: Buffer.from(qualifier), type, timestamp, value: Buffer.alloc(0) }
  }
  const rounds = (...batches: LoggedCell[][]): number[] => {
    const numbered = batches.map((cells, i): LoggedBatch => ({
      sequence: i + 1,
      timestamp: 0,
      cells,
    }))
    return roundsOf(numbered).map(({ length }) => length)
  }
  const marker = cell('DeleteFamily', 5n)
  t.strictSame(rounds(), [])
  t.strictSame(rounds([cell('Put', 5n)], [marker], [cell('Put', 6n)]), [3], 'a newer put')
  t.strictSame(rounds([marker], [cell('Put', 5n)], [cell('Put', 4n)]), [1, 2])
  t.strictSame(rounds([marker], [cell('Put', 5n)], [marker], [cell('Put', 5n)]), [1, 2, 1])
  t.strictSame(rounds([cell('DeleteColumn', 5n)], [cell('Put', 5n, 'other')]), [2])
  t.strictSame(rounds([cell('DeleteColumn', 5n)], [cell('Put', 4n)]), [1, 1])
  t.strictSame(rounds([cell('Delete', 5n)], [cell('Put', 4n)]), [2])
  t.strictSame(rounds([cell('DeleteFamilyVersion', 5n)], [cell('Put', 5n)]), [1, 1])
  t.strictSame(rounds([marker, cell('Put', 5n)]), [1], 'cells of one batch are equally old')
  t.end()
})
