/** Filters on an owned database whose store refuses filter objects. */
import t from 'tap'
import { FilterBase, FilterCode, PageFilter, type CellView } from '../../../../src/api/filters.js'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

/** Passes values that begin with a letter. */
class Letter extends FilterBase {
  readonly #letter: number

  constructor(letter: string) {
    super(false)
    this.#letter = letter.charCodeAt(0)
  }

  override filterCell(cell: CellView): FilterCode {
    return cell.copyValue()[0] === this.#letter ? FilterCode.include : FilterCode.skip
  }
}

void t.test('the owner evaluates filters that the store refuses', async (t) => {
  const store = await openMemoryDatabase()
  const refusing = reduceToRows(store)
  const database = await ownDatabase(refusing, { name: 'shop' })
  t.equal(database.capabilities.filters, true)
  const table = await database.createTable('a', { families: { f: { versions: 2 } } })
  for (const row of ['r1', 'r2', 'r3', 'r4']) {
    for (const value of ['x old', 'y new']) await table.put({ row, cells: { 'f:q': value } })
  }
  const filter = new Letter('x')
  await t.rejects(async () => refusing.table('a').get({ row: 'r1', filter }), {
    code: 'ERR_UNSUPPORTED',
  })
  const value = async (given: object): Promise<string | undefined> =>
    (await table.get({ row: 'r1', versions: 'all', filter, ...given })).value('f:q', 'utf8')
  t.equal(await value({}), 'x old', 'an older version passes')
  t.equal(await value({ filter: new Letter('z') }), undefined)
  t.equal(await table.exists({ row: 'r1', filter: new Letter('z') }), false)

  const snapshot = database.snapshot()
  await table.delete({ row: 'r1' })
  t.equal(await value({}), undefined, 'an earlier read leaves nothing behind')
  t.equal(await value({ snapshot }), 'x old', 'a snapshot is filtered as well')
  snapshot.close()
  await table.put({ row: 'r1', cells: { 'f:q': 'x again' } })
  t.equal(await value({}), 'x again', 'nor does a delete marker')

  const [, second] = await table.getList([{ row: 'r1' }, { row: 'r2', versions: 'all', filter }])
  t.equal(second.value('f:q', 'utf8'), 'x old')
  const rows = async (given: object): Promise<string[]> =>
    (await table.scan({ versions: 'all', ...given }).toArray()).map(({ row }) => String(row))
  t.strictSame(await rows({ filter }), ['r1', 'r2', 'r3', 'r4'])
  t.strictSame(await rows({ filter, limit: 2, reversed: true }), ['r4', 'r3'])
  t.strictSame(await rows({ filter: new PageFilter(3) }), ['r1', 'r2', 'r3'], 'rows are counted')
  t.throws(() => table.scan({ filter, batch: 0 }), { code: 'ERR_INVALID_ARGUMENT' })

  await database.admin.modifyTable('a', { families: { g: {} } })
  await table.put({ row: 'r1', cells: { 'g:q': 'x too' } })
  const after = await table.get({ row: 'r1', filter })
  t.equal(after.value('g:q', 'utf8'), 'x too', 'a family that was added is filtered')
  await database.close()
  await store.close()
})
