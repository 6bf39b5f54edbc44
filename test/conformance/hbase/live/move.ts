/**
 * A database moves to a live HBase while it is written to, the gateway is killed and the mover dies
 * meanwhile; then it moves back from an owned database that is written to.
 */
import type { Test } from 'tap'
import type { Database } from '../../../../src/api/index.js'
import { connectHBase, moveDatabase, ownDatabase } from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import type { LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import { cellsOf, MovingSource, newest, tables } from '../../../helpers/moving-source.js'

const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)

/** Moves there and back, beside a plain map. */
export async function testMove(t: Test, live: LiveHBase): Promise<void> {
  t.comment(`seed ${seed}`)
  const database = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => database.close())
  const source = await MovingSource.open(seed)
  t.teardown(() => source.database.close())
  for (let i = 0; i < 3_000; i++) source.write()
  await moveThere(t, live, source, database)
  t.strictSame(await newest(database), Object.fromEntries(source.model), 'the newest values')
  t.strictSame(await cellsOf(database), await cellsOf(source.database), 'all versions')
  await moveBack(t, database, source.model)
}

/** Ends two calls: one by a signal after its first writes, the other goes on without a gateway. */
async function moveThere(
  t: Test,
  live: LiveHBase,
  source: MovingSource,
  database: Database,
): Promise<void> {
  const writer = setInterval(() => source.write(), 1)
  const stopWrites = (): void => {
    source.stopped = true
  }
  try {
    const abort = new AbortController()
    const onProgress = (): void => abort.abort()
    const dead = moveDatabase(source.database, database, { onProgress, signal: abort.signal })
    await t.rejects(dead, { code: 'ERR_ABORTED' })
    let restart: Promise<void> | undefined
    const { writtenCells, repairedRows } = await moveDatabase(source.database, database, {
      stopWrites,
      onProgress: () => {
        restart ??= live.killGateway().then(() => live.startGateway())
      },
    })
    await restart
    t.ok(writtenCells > 0)
    t.equal(repairedRows, 0, 'what was written counts')
  } finally {
    clearInterval(writer)
  }
}

async function moveBack(t: Test, hbase: Database, model: Map<string, string>): Promise<void> {
  const owned = await ownDatabase(hbase, { name: 'moving' })
  t.teardown(() => owned.close())
  let writes = 0
  let refused: unknown
  const write = async (): Promise<void> => {
    for (; refused === undefined; writes++) {
      const [name, row] = [tables[writes % 2], `row${writes % 11}`]
      const table = owned.table(name)
      if (writes % 5 === 4) await table.delete({ row, columns: ['f:a'] })
      else await table.put({ row, cells: { 'f:a': `owned ${writes}` } })
      const key = `${name}/${row}/f:a`
      if (writes % 5 === 4) model.delete(key)
      else model.set(key, `owned ${writes}`)
    }
  }
  const writing = write().catch((error: unknown) => {
    refused = error
  })
  const back = await openMemoryDatabase()
  t.teardown(() => back.close())
  await moveDatabase(owned, back, { stateTable: 'moved_back', tables })
  await writing
  t.match(refused, { code: 'ERR_READ_ONLY' }, 'the switch ends the writes')
  t.equal(owned.failure, undefined, 'and harms nobody')
  t.ok(writes > 10, `${writes} writes on the owned database`)
  t.strictSame(await newest(back), Object.fromEntries(model), 'the newest values are back')
  t.strictSame(await cellsOf(back), await cellsOf(hbase), 'all versions are back')
}
