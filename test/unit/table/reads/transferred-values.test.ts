/** Values of results that are passed to other threads with a list of transfers. */
import t from 'tap'
import { Database } from '../../../../src/entries/index.js'

/** Passes a value on as a thread would; Node 22 refuses what Node 20 copies. */
function transfer(value: Buffer): void {
  try {
    structuredClone(value, { transfer: [value.buffer as ArrayBuffer] })
  } catch {
    return
  }
}

void t.test('a value that is transferred takes nothing from others', async (t) => {
  const database = await Database.open(t.testdir({}))
  t.teardown(() => database.close())
  const table = await database.createTable('t', { families: { f: {} } })
  const rows = Array.from({ length: 20 }, (_, i) => `r${i}`)
  await table.putList(rows.map((row) => ({ row, cells: { 'f:q': `value of ${row}` } })))
  const text = (row: string): string | undefined => table.getSync({ row }).value('f:q')?.toString()
  const [first, second] = await table.getList([{ row: 'r0' }, { row: 'r1' }])
  transfer(first.value('f:q')!)
  t.equal(second.value('f:q')!.toString(), 'value of r1')
  for (const row of rows) t.equal(text(row), `value of ${row}`)
  let scanned = 0
  for await (const result of table.scan()) {
    const value = result.value('f:q')!
    t.equal(value.toString(), `value of ${String(result.row)}`)
    transfer(value)
    scanned++
  }
  t.equal(scanned, rows.length)
  await table.put({ row: 'r0', cells: { 'f:q': 'new' } })
  t.equal(text('r0'), 'new')
})
