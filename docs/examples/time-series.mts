/**
 * Measurements of sensors: one row for each sensor and second.
 *
 * Shows keys that sort by time, a time to live, and a scan of a range. Run it in an empty directory,
 * or copy it into a project that has `cellardb`.
 */
import { Database, defineTable } from 'cellardb'

const hourMilliseconds = 3_600_000

const db = await Database.open('./sensors')
const measurements = await defineTable({
  name: 'measurements',
  key: { sensor: 'utf8', at: 'date' },
  columns: { value: 'double' },
  families: { m: { ttlMilliseconds: 400 * 24 * hourMilliseconds, compaction: 'date-tiered' } },
}).open(db)

// Puts of one turn share one write of the log.
const start = Date.now() - 24 * hourMilliseconds
const rows = Array.from({ length: 7200 }, (_, second) => {
  return { sensor: 'roof', at: new Date(start + second * 1000), value: 20 + Math.sin(second / 600) }
})
await measurements.putList(rows)

for (const hour of [0, 1]) {
  const range = {
    prefix: { sensor: 'roof' },
    startKey: { at: new Date(start + hour * hourMilliseconds) },
    stopKey: { at: new Date(start + (hour + 1) * hourMilliseconds) },
  }
  const values = await measurements
    .scan(range)
    .map(({ value }) => value!)
    .all()
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  console.log(values.length, mean > 19 && mean < 21)
}
// prints 3600 true
// prints 3600 true
await db.close()
