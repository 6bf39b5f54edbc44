/** Memory and log are freed although a flush has failed, and although a table rests. */
import { mock } from 'node:test'
import t from 'tap'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import { TestDatabase } from '../../../../helpers/test-database.js'

const inline = { executor: 'inline', compactionEnabled: false } as const

void t.test('a writer behind a failed flush starts it again without a pause', async (t) => {
  const fileSystem = new FaultyFileSystem(new MemoryFileSystem())
  const budget = 256 * 1024
  const database = await Database.open('/db', { ...inline, fileSystem, memtableBytesMax: budget })
  const table = await database.createTable('t', { families: { f: {} } })
  const failed = new Promise((resolve) => database.once('flushError', resolve))
  const only = ({ path }: { path: string }): boolean => path.endsWith('.sst')
  fileSystem.arm({ failAt: 1, persistent: true, errno: 'EIO', only })
  // The pause before the next try never ends.
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const value = Buffer.alloc(16 * 1024)
  let row = 0
  const put = (): Promise<unknown> => table.put({ row: `r${row++}`, cells: { 'f:q': value } })
  while (database.statistics().memtableBytes <= budget) await put().catch(() => undefined)
  await failed
  // Those that wait are told of the failure.
  for (let i = 0; i < 3; i++) await t.rejects(put(), { code: 'ERR_IO' })
  await new Promise(setImmediate)
  fileSystem.disarm()
  await put()
  t.ok(database.statistics().flushes > 0)
  await database.close()
})

void t.test('a table that rests does not keep a long log', async (t) => {
  const logBytesMax = 128 * 1024
  const test = await TestDatabase.open({ options: { logBytesMax, memtableBytesMax: 4 << 20 } })
  const { database } = test
  const resting = await database.createTable('resting', { families: { f: {} } })
  const busy = await database.createTable('busy', { families: { f: {} } })
  const flushed = new Set<string>()
  database.on('flush', ({ table }) => flushed.add(table))
  await resting.put({ row: 'r', cells: { 'f:q': 'v' } })
  for (let i = 0; i < 400; i++) {
    await busy.put({ row: `${i}`, cells: { 'f:q': Buffer.alloc(4000) } })
    if (i % 10 === 9) await new Promise(setImmediate)
  }
  t.ok(flushed.has('busy'))
  t.ok(flushed.has('resting'), 'the table that needs the oldest segment is flushed')
  const { logBytes } = database.statistics()
  t.ok(logBytes < 200 * 4000, `${logBytes} bytes of log`)
  await test.close()
})

void t.test('many tables that rest do not keep a long log', async (t) => {
  const logBytesMax = 128 * 1024
  const test = await TestDatabase.open({ options: { logBytesMax, memtableBytesMax: 4 << 20 } })
  const { database } = test
  for (let i = 0; i < 40; i++) {
    const resting = await database.createTable(`resting${i}`, { families: { f: {} } })
    await resting.put({ row: 'r', cells: { 'f:q': 'v' } })
  }
  const busy = await database.createTable('busy', { families: { f: {} } })
  let longest = 0
  for (let i = 0; i < 400; i++) {
    await busy.put({ row: `${i}`, cells: { 'f:q': Buffer.alloc(4000) } })
    if (i % 10 === 9) await new Promise(setImmediate)
    longest = Math.max(longest, database.statistics().logBytes)
  }
  t.ok(longest < 200 * 4000, `${longest} bytes of log`)
  await test.close()
})
