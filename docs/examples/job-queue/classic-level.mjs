import { ClassicLevel } from 'classic-level'

const lease = 1000
const attemptsMax = 3
const db = new ClassicLevel('./data')
const jobs = db.sublevel('jobs', { valueEncoding: 'json' })

/** Calls follow each other: two workers could take the same job. */
let last = Promise.resolve()
function take(now) {
  last = last.then(async () => {
    for await (const [id, value] of jobs.iterator()) {
      if (value.dueAt > now || value.attempts === attemptsMax) continue
      const job = { ...value, dueAt: now + lease, attempts: value.attempts + 1 }
      await jobs.put(id, job)
      return { id, ...job }
    }
  })
  return last
}

const done = []

async function work(now) {
  for (let job = await take(now); job !== undefined; job = await take(now)) {
    await new Promise((resolve) => setImmediate(resolve))
    if (job.task === 'broken' || (job.task === 'shaky' && job.attempts === 1)) continue
    done.push(job.task)
    await jobs.del(job.id)
  }
}

const tasks = ['mail', 'shaky', 'resize', 'broken', 'report', 'index']
await jobs.batch(
  tasks.map((task, id) => {
    return { type: 'put', key: String(id).padStart(8, '0'), value: { task, dueAt: 0, attempts: 0 } }
  }),
)
await take(0) // A worker that ends before the job is done.
for (const now of [0, 1000, 2000, 3000]) {
  await Promise.all([work(now), work(now), work(now)])
  console.log(now, done.splice(0).sort().join())
}
for await (const job of jobs.values()) console.log('given up:', job.task, job.attempts)
await db.close()
