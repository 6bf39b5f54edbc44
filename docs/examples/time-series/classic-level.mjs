import { ClassicLevel } from 'classic-level'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const db = new ClassicLevel('./data')
const measurements = db.sublevel('measurements', { valueEncoding: 'json' })
const hours = db.sublevel('hours', { valueEncoding: 'json' })

async function rollUp(sensor, from) {
  const range = { gte: `${sensor}!${from}`, lt: `${sensor}!${from + hour}` }
  const values = await measurements.values(range).all()
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  await hours.put(`${sensor}!${from}`, { mean, greatest: Math.max(...values) })
}

/** Old measurements must be removed now and then. */
const removeOld = (sensor) =>
  measurements.clear({ gt: `${sensor}!`, lt: `${sensor}!${Date.now() - 30 * day}` })

const start = Math.floor(Date.now() / hour) * hour - day
const minutes = Array.from({ length: 120 }, (_, n) => ({ at: start + n * minute, value: n % 50 }))
const old = { at: start - 30 * day, value: 99 }
await measurements.batch(
  [old, ...minutes].map(({ at, value }) => ({ type: 'put', key: `roof!${at}`, value })),
)
await removeOld('roof')
for (const from of [start, start + hour]) await rollUp('roof', from)
const roof = { gt: 'roof!', lt: 'roof"' }
console.log((await measurements.keys(roof).all()).length)
for await (const { mean, greatest } of hours.values(roof)) console.log(mean.toFixed(2), greatest)
await db.close()
