/**
 * Threads that the system refuses to start, as at the limit of a container.
 *
 * @runs campaign
 */
import { createRequire } from 'node:module'
import type * as workerThreads from 'node:worker_threads'
import t, { type Test } from 'tap'
import { Database } from '../../../../src/entries/index.js'
import type { JobExecutor } from '../../../../src/storage/job/threads/executor.js'
import type { JobResult } from '../../../../src/storage/job/job.js'
import {
  hasPool,
  loadPool,
  WorkerExecutor,
} from '../../../../src/storage/job/threads/worker-executor.js'
import { outcomeOf } from './thread-outcome.js'

const module = hasPool() ? loadPool() : undefined
const options = { skip: module === undefined && 'piscina is not installed' }
const threads = createRequire(import.meta.url)('node:worker_threads') as {
  Worker: typeof workerThreads.Worker
}

/** Lets `allowed` threads start and refuses all others; the number can be changed. */
function limitThreads(t: Test, allowed: number): { allowed: number; refused: number } {
  const { Worker } = threads
  const limit = { allowed, refused: 0 }
  threads.Worker = class extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      if (limit.allowed === 0) {
        limit.refused++
        throw new Error('EAGAIN')
      }
      limit.allowed--
      super(...given)
    }
  }
  t.teardown(() => (threads.Worker = Worker))
  return limit
}

void t.test('a refused thread fails its jobs alone', options, async (t) => {
  const limit = limitThreads(t, 0)
  const executor = new WorkerExecutor(() => module!, 2)
  executor.prepare()
  t.same(await Promise.all([outcomeOf(executor), outcomeOf(executor)]), ['died', 'died'])
  t.ok(limit.refused > 0)
  limit.allowed = 1
  t.equal(await outcomeOf(executor), 'ran')
  await executor.close()
})

void t.test('a refused thread leaves those that live alone', options, async (t) => {
  const limit = limitThreads(t, 1)
  const executor = new WorkerExecutor(() => module!, 3)
  const outcomes = Array.from({ length: 3 }, () => outcomeOf(executor))
  t.same(await Promise.all(outcomes), ['ran', 'died', 'died'])
  t.equal(limit.refused, 2)
  t.equal(await outcomeOf(executor), 'ran', 'on the thread that lives')
  t.equal(limit.refused, 2)
  await executor.close()
})

void t.test('jobs of refused threads run inline', options, async (t) => {
  const limit = limitThreads(t, 1)
  const inline: JobExecutor = {
    kind: 'inline',
    prepare: () => undefined,
    run: () => Promise.resolve({ files: [] } as unknown as JobResult),
    close: () => Promise.resolve(),
  }
  const executor = new WorkerExecutor(() => module!, 2, { inline, inlineBytesMax: 0 })
  t.equal(await outcomeOf(executor), 'ran')
  t.same(await Promise.all([outcomeOf(executor), outcomeOf(executor)]), ['ran', 'done'])
  await executor.close()
  t.same(await Promise.all([outcomeOf(executor), outcomeOf(executor)]), ['done', 'done'])
  t.equal(executor.kind, 'worker', 'the next job looks again')
  limit.allowed = 1
  t.equal(await outcomeOf(executor), 'ran')
  await executor.close()
})

void t.test('writers do not notice', options, async (t) => {
  const limit = limitThreads(t, 0)
  const sizes = { memtableBytesMax: 1024 * 1024, logBytesMax: 1024 * 1024 }
  const database = await Database.open(t.testdir({}), { ...sizes, executor: 'auto' })
  const table = await database.createTable('t', { families: { f: {} } })
  const value = Buffer.alloc(100_000)
  for (let i = 0; i < 120; i++) {
    if (i === 80) limit.allowed = 1
    await table.put({ row: `r${i}`, cells: { 'f:v': value } })
    if (i % 10 === 0) table.putSync({ row: `s${i}`, cells: { 'f:v': value } })
  }
  await database.flush()
  t.ok(limit.refused > 0)
  await database.compact('t')
  t.equal((await table.scan().all()).length, 132)
  await database.close()
})
