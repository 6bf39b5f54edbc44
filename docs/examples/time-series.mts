/**
 * Measurements of sensors: one row for each sensor and hour, one column for each second.
 *
 * Shows row keys that sort by time, a time to live, and a scan of a range. Run it in an empty
 * directory, or copy it into a project that has `cellardb`.
 */
import { Database, type Put } from 'cellardb'

const dayMilliseconds = 86_400_000

/** `sensor/2026-11-22T15`: the hours of one sensor lie beside each other, in order. */
function rowOf(sensor: string, time: Date): string {
  return `${sensor}/${time.toISOString().slice(0, 13)}`
}

function measurement(sensor: string, time: Date, value: number): Put {
  const second = String(time.getUTCMinutes() * 60 + time.getUTCSeconds()).padStart(4, '0')
  return {
    row: rowOf(sensor, time),
    cells: { [`m:${second}`]: String(value) },
    timestamp: time.getTime(),
  }
}

const db = await Database.open('./sensors')
const measurements = await db.ensureTable('measurements', {
  families: { m: { ttlMilliseconds: 400 * dayMilliseconds, compaction: 'date-tiered' } },
})

// Puts of one turn share one write of the log.
const start = new Date()
start.setUTCMinutes(0, 0, 0)
const puts = Array.from({ length: 7200 }, (_, second) => {
  const time = new Date(start.getTime() - dayMilliseconds + second * 1000)
  return measurement('roof', time, 20 + Math.sin(second / 600))
})
await measurements.putList(puts)

const from = rowOf('roof', new Date(start.getTime() - dayMilliseconds))
const hours = measurements.scan({ startRow: from, stopRow: 'roof0' })
for await (const hour of hours) {
  const values = hour.cells().map(({ value }) => Number(String(value)))
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  console.log(String(hour.row).startsWith('roof/'), values.length, mean > 19 && mean < 21)
}
// prints true 3600 true
// prints true 3600 true
await db.close()
