/** Jobs on the event loop sync their outputs in another thread; a sync that fails ends the job. */
import t from 'tap'
import { Database } from '../../../../src/entries/index.js'
import { runInSlices } from '../../../../src/storage/job/threads/executor.js'
import type { JobStep } from '../../../../src/storage/job/job.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

void t.test('a job waits for the sync of its output, and gets its error', async (t) => {
  const seen: string[] = []
  function* job(fails: boolean): Generator<JobStep, string> {
    try {
      yield 0
      yield {
        sync: async () => {
          await new Promise((resolve) => setImmediate(resolve))
          seen.push('synced')
          if (fails) throw new Error('no sync')
        },
      }
      seen.push('finished')
      return 'result'
    } catch (error) {
      seen.push('cleaned up')
      throw error
    }
  }
  t.equal(await runInSlices(job(false)), 'result')
  t.same(seen.splice(0), ['synced', 'finished'])
  await t.rejects(runInSlices(job(true)), /no sync/)
  t.same(seen, ['synced', 'cleaned up'])
})

for (const kind of ['flush', 'compact'] as const) {
  void t.test(`a ${kind} whose output cannot be synced changes nothing`, async (t) => {
    const inner = new SimulatedDisk()
    const fileSystem = new FaultyFileSystem(inner)
    const options = { executor: 'inline', fileSystem, compactionEnabled: false } as const
    const database = await Database.open('/db', options)
    const table = await database.createTable('t', { families: { f: {} } })
    const tables = (): string[] => inner.listSync('/db').filter((name) => name.endsWith('.sst'))
    for (let i = 0; i < 3; i++) {
      if (kind === 'compact') await database.flush()
      table.putSync({ row: `r${i}`, cells: { 'f:v': 'v' } })
    }
    if (kind === 'compact') await database.flush()
    const before = tables()
    const only = (operation: { kind: string; path: string }): boolean =>
      operation.kind === 'sync' && operation.path.endsWith('.sst')
    fileSystem.arm({ failAt: 1, errno: 'EIO', only })
    await t.rejects(kind === 'flush' ? database.flush() : database.compact('t'), {
      code: 'ERR_IO',
    })
    fileSystem.disarm()
    t.same(tables(), before, 'inputs stay, and no output is left')
    t.equal([...table.scanSync()].length, 3)
    t.equal(database.failure, undefined)
    if (kind === 'flush') await database.flush()
    else await database.compact('t')
    t.equal(tables().length, 1, 'the next attempt works')
    await database.close()
    const again = await Database.open('/db', { executor: 'inline', fileSystem: inner })
    t.equal([...again.table('t').scanSync()].length, 3)
    await again.close()
  })
}
