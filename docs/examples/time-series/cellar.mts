/**
 * Measurements of sensors: kept for 30 days, and rolled up to the mean and the greatest value of
 * each hour.
 */
import { Database, defineTable } from 'cellardb'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const db = await Database.open('./data')
const measurements = await defineTable({
  name: 'measurements',
  key: { sensor: 'utf8', at: 'integer' },
  columns: { value: 'double' },
  families: { f: { ttlMilliseconds: 30 * day } },
}).open(db)
const hours = await defineTable({
  name: 'hours',
  key: { sensor: 'utf8', hour: 'integer' },
  columns: { mean: 'double', greatest: 'double' },
}).open(db)

async function rollUp(sensor: string, from: number): Promise<void> {
  const range = { prefix: { sensor }, startKey: { at: from }, stopKey: { at: from + hour } }
  const values = (await measurements.scan(range).all()).map(({ value }) => value!)
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  await hours.put({ sensor, hour: from, mean, greatest: Math.max(...values) })
}

const start = Math.floor(Date.now() / hour) * hour - day
const rows = Array.from({ length: 120 }, (_, n) => {
  return { sensor: 'roof', at: start + n * minute, value: n % 50 }
})
await measurements.putList(rows)
const old = start - 30 * day
await measurements.put({ sensor: 'roof', at: old, value: 99 }, { timestamp: old })
for (const from of [start, start + hour]) await rollUp('roof', from)
console.log(await measurements.count({ prefix: { sensor: 'roof' } })) // prints 120
for await (const { mean, greatest } of hours.scan({ prefix: { sensor: 'roof' } })) {
  console.log(mean!.toFixed(2), greatest)
}
// prints 21.17 49
// prints 22.83 49
await db.close()
