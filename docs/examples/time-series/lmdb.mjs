import { open } from 'lmdb'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const db = open({ path: './data' })
const measurements = db.openDB('measurements')
const hours = db.openDB('hours')

async function rollUp(sensor, from) {
  const range = { start: [sensor, from], end: [sensor, from + hour] }
  const values = [...measurements.getRange(range).map(({ value }) => value)]
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  await hours.put([sensor, from], { mean, greatest: Math.max(...values) })
}

/** Old measurements must be removed now and then. */
const removeOld = (sensor) =>
  measurements.transaction(() => {
    const range = { start: [sensor], end: [sensor, Date.now() - 30 * day] }
    for (const key of measurements.getKeys(range)) measurements.remove(key)
  })

const start = Math.floor(Date.now() / hour) * hour - day
const minutes = Array.from({ length: 120 }, (_, n) => ({ at: start + n * minute, value: n % 50 }))
const old = { at: start - 30 * day, value: 99 }
await measurements.transaction(() => {
  for (const { at, value } of [old, ...minutes]) measurements.put(['roof', at], value)
})
await removeOld('roof')
for (const from of [start, start + hour]) await rollUp('roof', from)
const roof = { start: ['roof'], end: ['roof', Infinity] }
console.log(measurements.getKeysCount({ ...roof }))
for (const { value } of hours.getRange(roof)) console.log(value.mean.toFixed(2), value.greatest)
await db.close()
