/**
 * Change feeds of a database that a failure of its manifest has poisoned: no change will follow, so
 * none of them waits for one.
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'

const families = { f: {} }

void t.test('a feed fails after the last change when the manifest has failed', async (t) => {
  for (const durability of ['SYNC_WAL', 'FSYNC_WAL'] as const) {
    const fileSystem = new FaultyFileSystem(new MemoryFileSystem())
    const database = await Database.open('/db', { fileSystem, executor: 'inline' })
    const table = await database.createTable('t', { families })
    const waiting = database.changes({ durability })
    const first = waiting.next()
    await table.put({ row: 'a', cells: { 'f:q': '1' } })
    t.match((await first).value, { cells: [{ row: Buffer.from('a') }] })
    const next = waiting.next()
    // It has read the whole log, and waits.
    await new Promise((resolve) => setTimeout(resolve, 10))
    const only = ({ kind, path }: { readonly kind: string; readonly path: string }): boolean =>
      kind === 'sync' && path.includes('MANIFEST')
    fileSystem.arm({ failAt: 1, errno: 'EIO', only })
    await t.rejects(database.createTable('u', { families }), { code: 'ERR_IO' })
    fileSystem.disarm()
    t.equal(database.failure?.code, 'ERR_IO')
    await t.rejects(next, { code: 'ERR_POISONED' }, 'a feed that waited')
    t.strictSame(await waiting.next(), { done: true, value: undefined })
    const later = database.changes({ durability, fromSequence: 1 })
    t.match((await later.next()).value, { cells: [{ row: Buffer.from('a') }] })
    await t.rejects(later.next(), { code: 'ERR_POISONED' }, 'a feed that began later')
    const bounded = database.changes({ durability, fromSequence: 1, toSequence: 'now' })
    t.equal((await bounded.next()).done, false)
    t.equal((await bounded.next()).done, true, 'one that has its last sequence ends')
    await database.close()
  }
})
