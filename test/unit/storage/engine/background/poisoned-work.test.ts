/** What runs in the background of a poisoned database: nothing, and the event loop is free. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import { Database, MemoryFileSystem, type FamilyOptions } from '../../../../../src/entries/index.js'

const hour = 3_600_000
/** A loop that never gives the event loop its turn is ended after so many rounds. */
const roundsMax = 20

/** Counts the messages of a channel, and calls `end` at the last round that is let pass. */
function count(t: Test, channel: string, end: () => void): () => number {
  let rounds = 0
  const listener = (): void => {
    if (++rounds === roundsMax) end()
  }
  subscribe(channel, listener)
  t.teardown(() => unsubscribe(channel, listener))
  return () => rounds
}

/** Each of these families wants a compaction at once: a drop, a move, a merge. */
const wishes: Readonly<Record<string, { family: FamilyOptions; files: number }>> = {
  drop: { family: { ttlMilliseconds: 1000, compaction: 'fifo' }, files: 1 },
  move: {
    family: { compaction: { policy: 'leveled', flushedFilesMin: 1, fileBytes: 100 } },
    files: 1,
  },
  merge: { family: { compaction: 'tiered' }, files: 6 },
}

for (const [kind, { family, files }] of Object.entries(wishes)) {
  void t.test(`a poisoned database starts no ${kind}`, async (t) => {
    const fileSystem = new FaultyFileSystem(new MemoryFileSystem())
    const clock = new ManualClock(1000 * hour)
    const options = { fileSystem, clock, executor: 'inline' } as const
    const database = await Database.open('/db', options)
    const table = await database.createTable('t', { families: { f: family } })
    database.pauseCompaction()
    for (let i = 0; i < files; i++) {
      await table.put({ row: `r${i}`, cells: { 'f:v': 'v' } })
      await database.flush()
    }
    clock.milliseconds += hour
    fileSystem.arm({
      failAt: 1,
      persistent: true,
      errno: 'ENOSPC',
      only: ({ kind, path }) => kind === 'write' && path.endsWith('.log'),
    })
    await t.rejects(table.put({ row: 'lost', cells: { 'f:v': 'v' } }), { code: 'ERR_NO_SPACE' })
    const started = count(t, 'cellardb:compaction:start', () => void database.close())
    fileSystem.disarm()
    database.resumeCompaction()
    await nextTurn()
    t.equal(started(), 0)
    t.equal(database.statistics().compactionQueue, 0, 'and nothing waits')
    await database.close()
  })
}

void t.test('a writer that tries again at once leaves the event loop its turn', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const preFlush = (): void => {
    throw new Error('not now')
  }
  const options = {
    fileSystem,
    executor: 'inline',
    memtableBytesMax: 256 * 1024,
    flushBytes: 128 * 1024,
    coprocessors: [{ name: 'refusing', observer: { preFlush } }],
  } as const
  const database = await Database.open('/db', options)
  database.on('flushError', () => undefined)
  const table = await database.createTable('t', { families: { f: {} } })
  const value = Buffer.alloc(32 * 1024)
  let isOver = false
  let refused = 0
  void nextTurn().then(() => (isOver = true))
  for (let i = 0; !isOver && refused < 1000; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:v': value } }).catch(() => refused++)
  }
  t.ok(isOver, `the turn comes, after ${refused} refusals`)
  await t.rejects(database.close())
})
