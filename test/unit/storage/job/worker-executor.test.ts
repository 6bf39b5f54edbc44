/**
 * Threads that die while they start or with jobs queued behind their own: every job is settled.
 * Where that fails, a job is never settled, and the file ends with an unfinished test.
 *
 * @runs campaign
 */
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { CellarError } from '../../../../src/base/errors.js'
import { Database } from '../../../../src/entries/index.js'
import type { JobExecutor } from '../../../../src/storage/job/threads/executor.js'
import { JobControl, type Job, type JobResult } from '../../../../src/storage/job/job.js'
import {
  hasPool,
  loadPool,
  WorkerExecutor,
} from '../../../../src/storage/job/threads/worker-executor.js'
import { job, outcomeOf } from './thread-outcome.js'

const module = hasPool() ? loadPool() : undefined
const options = { skip: module === undefined && 'piscina is not installed' }

/** Ends the next `count` threads as soon as they are created; counts all. */
function killStarting(t: Test, count: number): { started: number; killed: number } {
  const counts = { started: 0, killed: 0 }
  const listener = (message: unknown): void => {
    counts.started++
    if (counts.killed === count) return
    counts.killed++
    void (message as { worker: Worker }).worker.terminate()
  }
  subscribe('worker_threads', listener)
  t.teardown(() => unsubscribe('worker_threads', listener))
  return counts
}

function executorOf(t: Test, threadsMax: number): WorkerExecutor {
  const executor = new WorkerExecutor(() => module!, threadsMax)
  t.teardown(() => executor.close())
  return executor
}

void t.test('a job survives threads that die while they start', options, async (t) => {
  const executor = executorOf(t, 1)
  const counts = killStarting(t, 2)
  t.equal(await outcomeOf(executor), 'ran')
  t.same(counts, { started: 3, killed: 2 })
})

void t.test('an error of a thread keeps the error of the system', options, async (t) => {
  const inputs = [{ fileNumber: 1, fileBytes: 100 }]
  const numbers = { fileNumbers: [2], valueFileNumbers: [], boundaries: [], segments: [] }
  const place = { directory: t.testdir({}), databaseId: Buffer.alloc(16) }
  const lost = { kind: 'compaction', inputs, ...numbers, ...place, format: {} } as unknown as Job
  await t.rejects(executorOf(t, 1).run(lost, new JobControl()), {
    code: 'ERR_IO',
    message: /000001\.sst/,
    cause: { code: 'ENOENT', message: /no such file/ },
  })
  const failed = executorOf(t, 1).run(job, new JobControl())
  await t.rejects(failed, { code: 'ERR_JOB_FAILED', cause: { message: /\w/ } })
})

void t.test('all jobs in the queue of such a thread run', options, async (t) => {
  for (const threadsMax of [1, 2]) {
    const executor = executorOf(t, threadsMax)
    const counts = killStarting(t, threadsMax)
    const outcomes = Array.from({ length: 4 }, () => outcomeOf(executor))
    t.same(await Promise.all(outcomes), ['ran', 'ran', 'ran', 'ran'])
    t.equal(counts.killed, threadsMax)
  }
})

void t.test('if no thread comes up, jobs are rejected, and later ones run', options, async (t) => {
  const executor = executorOf(t, 1)
  const counts = killStarting(t, 4)
  t.same(await Promise.all([outcomeOf(executor), outcomeOf(executor)]), ['died', 'died'])
  t.equal(counts.killed, 4)
  t.equal(await outcomeOf(executor), 'ran')
})

void t.test('a thread that was prepared takes the next job', options, async (t) => {
  const counts = killStarting(t, 0)
  const executor = executorOf(t, 1)
  executor.prepare()
  executor.prepare()
  t.equal(counts.started, 1, 'one thread is enough')
  t.equal(await outcomeOf(executor), 'ran')
  t.equal(counts.started, 1)
})

void t.test('a prepared thread that dies harms nobody', options, async (t) => {
  const counts = killStarting(t, 1)
  const executor = executorOf(t, 1)
  executor.prepare()
  t.equal(await outcomeOf(executor), 'ran')
  t.equal(counts.started, 2)
})

void t.test('a flush survives a thread that dies while it starts', options, async (t) => {
  const database = await Database.open(t.testdir({}), { executor: 'worker' })
  const table = await database.createTable('t', { families: { f: {} } })
  const counts = killStarting(t, 1)
  await table.put({ row: 'a', cells: { 'f:v': '1' } })
  await database.flush()
  t.equal(counts.killed, 1)
  t.equal(database.statistics().tableFiles, 1)
  await database.close()
})

/** Threads whose module is not there, as in a bundle that was made without it. */
function withoutModule(pool: NonNullable<typeof module>): NonNullable<typeof module> {
  return {
    Piscina: class extends pool.Piscina {
      constructor(settings: Record<string, unknown>) {
        super({ ...settings, filename: new URL('./no-such-worker.js', import.meta.url).href })
      }
    },
  }
}

void t.test('threads need no code that is made of strings', options, async (t) => {
  const entry = new URL('../../../../src/entries/index.js', import.meta.url).href
  const program = `
    import { Database } from ${JSON.stringify(entry)}
    const database = await Database.open(${JSON.stringify(t.testdir())}, { executor: 'worker' })
    const table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:q': 'v' } })
    await database.flush()
    await database.close()
    console.log('flushed')`
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', program])
  t.equal(stdout, 'flushed\n')
})

void t.test('without the module of the threads jobs run inline', options, async (t) => {
  const warnings: CellarError[] = []
  const ran: Job[] = []
  const inline: JobExecutor = {
    prepare: () => undefined,
    kind: 'inline',
    run: (job) => {
      ran.push(job)
      return Promise.resolve({ files: [] } as unknown as JobResult)
    },
    close: () => Promise.resolve(),
  }
  const onInline = (warning: CellarError): void => void warnings.push(warning)
  const executor = new WorkerExecutor(() => withoutModule(module!), 2, {
    inline,
    inlineBytesMax: 0,
    onInline,
  })
  t.teardown(() => executor.close())
  t.equal(executor.kind, 'worker')
  const attempts = Array.from({ length: 6 }, () => outcomeOf(executor))
  t.ok((await Promise.all(attempts)).includes('done'))
  t.equal(executor.kind, 'inline')
  t.equal(warnings.length, 1)
  t.match(warnings[0].message, 'job-worker.js must lie beside the bundle')
  t.match(warnings[0].message, 'until the database is opened again')
  t.match(warnings[0].cause, { cause: { code: 'ERR_MODULE_NOT_FOUND' } }, 'the cause says why')
  const before = ran.length
  t.equal(await outcomeOf(executor), 'done')
  t.equal(ran.length, before + 1)
})

void t.test('small jobs run inline until a thread is worth its start', options, async (t) => {
  const counts = killStarting(t, 0)
  const ran: number[] = []
  const inline = {
    kind: 'inline',
    run: ({ fileNumber }: { fileNumber: number }) => Promise.resolve(ran.push(fileNumber)),
  } as never
  const executor = new WorkerExecutor(() => module!, 1, { inline, inlineBytesMax: 100 })
  t.teardown(() => executor.close())
  const run = (fileNumber: number, arenaBytes: number, hooks?: object): Promise<unknown> =>
    executor
      .run({ ...job, fileNumber, entries: { arenaBytes }, hooks } as never, new JobControl())
      .catch(() => undefined)
  for (const [fileNumber, arenaBytes] of [60, 50, 40, 1].entries()) {
    await run(fileNumber, arenaBytes)
    if (fileNumber === 0) t.equal(counts.started, 0, 'no thread is born for a small job')
  }
  t.same(ran, [0], 'the second does not fit, and then a thread is there that is warm')
  t.equal(counts.started, 1)
})

void t.test('without another executor they fail', options, async (t) => {
  const executor = new WorkerExecutor(() => withoutModule(module!), 1)
  t.teardown(() => executor.close())
  for (let attempt = 0; attempt < 2; attempt++) t.equal(await outcomeOf(executor), 'died')
  t.equal(executor.kind, 'worker')
})

void t.test('where the package of the pool does not load, jobs run inline', async (t) => {
  const warnings: unknown[] = []
  const inline = { kind: 'inline', run: () => Promise.resolve('done') } as never
  const executor = new WorkerExecutor(
    () => {
      throw new Error('does not load')
    },
    1,
    { inline, onInline: (warning) => warnings.push(warning) },
  )
  t.equal(executor.kind, 'worker', 'nothing is loaded before the first job')
  executor.prepare()
  t.equal(executor.kind, 'inline')
  t.equal(await executor.run({} as never, {} as never), 'done')
  t.equal(warnings.length, 1)
  t.match(warnings[0], { code: 'ERR_JOB_FAILED', message: /job-worker.js must lie beside/ })
})
