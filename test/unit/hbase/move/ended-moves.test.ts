/** What is left of a move that has ended. */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'

type Embedded = Awaited<ReturnType<typeof openMemoryDatabase>>

/** A source with one table. */
async function sourceOf(rows: number): Promise<Embedded> {
  const source = await openMemoryDatabase()
  const table = await source.createTable('a', { families: { f: {} } })
  for (let i = 0; i < rows; i++) table.putSync({ row: `r${i}`, cells: { 'f:q': 'v' } })
  return source
}

void t.test('a move that has ended keeps no log of its source', async (t) => {
  for (const outcome of ['done', 'stopped'] as const) {
    const source = await sourceOf(10)
    const target = await openMemoryDatabase()
    const stopWrites = (): void => {
      if (outcome === 'stopped') throw new Error(outcome)
    }
    const moving = moveDatabase(source, target, { stopWrites }).then(
      () => 'done',
      (error: unknown) => (error as Error).message,
    )
    t.equal(await moving, outcome)
    for (let i = 0; i < 5; i++) {
      await source.table('a').put({ row: 'r', cells: { 'f:q': Buffer.alloc(5_000_000) } })
      await source.flush()
    }
    const old = source.changes({ fromSequence: 1 })
    await t.rejects(old.next(), { code: 'ERR_CHANGES_GONE' }, outcome)
    for (const each of [source, target]) await each.close()
  }
})
