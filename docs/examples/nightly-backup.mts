/**
 * A service that is backed up while it works, and a drill that proves the backup.
 *
 * Shows incremental backups, a read-only look into one, and a restore.
 */
import { Database } from 'cellardb'

const db = await Database.open('./service')
const events = await db.ensureTable('events', { families: { f: {} } })

let running = true
let written = 0
async function work(): Promise<void> {
  while (running) {
    await events.put({ row: String(written++).padStart(9, '0'), cells: { 'f:v': 'event' } })
  }
}
const working = work()

for (const night of ['first', 'second', 'third']) {
  await new Promise((resolve) => setTimeout(resolve, 50))
  const { sequence, files, filesKept } = await db.backup('./backup')
  console.log(`${night} night: ${files > filesKept}, up to ${sequence > 0}`)
}
// prints first night: true, up to true
// prints third night: true, up to true
running = false
await working
await db.close()

/** Events have no gaps: a backup is a moment of the history. */
async function isWhole(directory: string, readOnly: boolean): Promise<boolean> {
  const found = await Database.open(directory, { readOnly })
  const rows = await found.table('events').scan().all()
  await found.close()
  return rows.length > 0 && rows.every((row, i) => Number(String(row.row)) === i)
}

console.log(await isWhole('./backup', true)) // prints true
await Database.restore('./backup', './drill')
console.log(await isWhole('./drill', false)) // prints true
