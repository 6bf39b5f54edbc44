/**
 * A queue of jobs. A worker takes a job for the time of a lease. A job that fails, or whose worker
 * ends, is taken again when its lease has run out, three times in all.
 */
import { Database, defineTable } from 'cellardb'

const lease = 1000
const attemptsMax = 3
const db = await Database.open('./data')
const columns = { task: 'utf8', dueAt: 'integer', attempts: 'integer' } as const
const jobs = await defineTable({ name: 'jobs', key: { id: 'integer' }, columns }).open(db)

/** Takes the first job that is due; undefined if there is none. */
async function take(now: number) {
  for await (const job of jobs.scan()) {
    if (job.dueAt! > now || job.attempts === attemptsMax) continue
    const taken = await jobs.compareAndSet(job.id, 'dueAt', job.dueAt, now + lease)
    if (taken) return { ...job, attempts: await jobs.increment(job.id, 'attempts') }
  }
}

const done: string[] = []

/** Works until no job is due. */
async function work(now: number): Promise<void> {
  for (let job = await take(now); job !== undefined; job = await take(now)) {
    await new Promise((resolve) => setImmediate(resolve))
    if (job.task === 'broken' || (job.task === 'shaky' && job.attempts === 1)) continue
    done.push(job.task!)
    await jobs.delete(job.id)
  }
}

const tasks = ['mail', 'shaky', 'resize', 'broken', 'report', 'index']
await jobs.putList(tasks.map((task, id) => ({ id, task, dueAt: 0, attempts: 0 })))
await take(0) // A worker that ends before the job is done.
for (const now of [0, 1000, 2000, 3000]) {
  await Promise.all([work(now), work(now), work(now)])
  console.log(now, done.splice(0).sort().join())
}
// prints 0 index,report,resize
// prints 1000 mail,shaky
// prints 2000
// prints 3000
for await (const job of jobs.scan()) console.log('given up:', job.task, job.attempts)
// prints given up: broken 3
await db.close()
