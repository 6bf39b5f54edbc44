import Database from 'better-sqlite3'

const lease = 1000
const attemptsMax = 3
const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, task TEXT, dueAt INTEGER, attempts INTEGER
  )
`)
const insert = db.prepare('INSERT INTO jobs (task, dueAt, attempts) VALUES (?, 0, 0)')
const insertAll = db.transaction((tasks) => {
  for (const task of tasks) insert.run(task)
})
const takeFirst = db.prepare(`
  UPDATE jobs SET dueAt = @dueAt, attempts = attempts + 1
  WHERE id = (
    SELECT id FROM jobs WHERE dueAt <= @now AND attempts < @attemptsMax ORDER BY id LIMIT 1
  )
  RETURNING *
`)
const take = (now) => takeFirst.get({ now, dueAt: now + lease, attemptsMax })
const remove = db.prepare('DELETE FROM jobs WHERE id = ?')
const list = db.prepare('SELECT * FROM jobs ORDER BY id')

const done = []

async function work(now) {
  for (let job = take(now); job !== undefined; job = take(now)) {
    await new Promise((resolve) => setImmediate(resolve))
    if (job.task === 'broken' || (job.task === 'shaky' && job.attempts === 1)) continue
    done.push(job.task)
    remove.run(job.id)
  }
}

insertAll(['mail', 'shaky', 'resize', 'broken', 'report', 'index'])
take(0) // A worker that ends before the job is done.
for (const now of [0, 1000, 2000, 3000]) {
  await Promise.all([work(now), work(now), work(now)])
  console.log(now, done.splice(0).sort().join())
}
for (const job of list.iterate()) console.log('given up:', job.task, job.attempts)
db.close()
