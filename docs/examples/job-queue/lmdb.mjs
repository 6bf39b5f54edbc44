import { open } from 'lmdb'

const lease = 1000
const attemptsMax = 3
const db = open({ path: './data' })
const jobs = db.openDB('jobs')

const take = (now) =>
  jobs.transaction(() => {
    for (const { key, value } of jobs.getRange()) {
      if (value.dueAt > now || value.attempts === attemptsMax) continue
      const job = { ...value, dueAt: now + lease, attempts: value.attempts + 1 }
      jobs.put(key, job)
      return { id: key, ...job }
    }
  })

const done = []

async function work(now) {
  for (let job = await take(now); job !== undefined; job = await take(now)) {
    await new Promise((resolve) => setImmediate(resolve))
    if (job.task === 'broken' || (job.task === 'shaky' && job.attempts === 1)) continue
    done.push(job.task)
    await jobs.remove(job.id)
  }
}

const tasks = ['mail', 'shaky', 'resize', 'broken', 'report', 'index']
await jobs.transaction(() => {
  tasks.forEach((task, id) => jobs.put(id, { task, dueAt: 0, attempts: 0 }))
})
await take(0) // A worker that ends before the job is done.
for (const now of [0, 1000, 2000, 3000]) {
  await Promise.all([work(now), work(now), work(now)])
  console.log(now, done.splice(0).sort().join())
}
for (const { value } of jobs.getRange()) console.log('given up:', value.task, value.attempts)
await db.close()
