/**
 * A service that is backed up while it works, and a drill that proves the backup.
 *
 * Shows incremental backups, a read-only look into one, and a restore.
 */
import { Database, defineTable } from 'cellardb'

const db = await Database.open('./service')
const definition = defineTable({
  name: 'events',
  key: { number: 'integer' },
  columns: { v: 'utf8' },
})
const events = await definition.open(db)

let running = true
let written = 0
async function work(): Promise<void> {
  while (running) await events.put({ number: written++, v: 'event' })
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
  const rows = await (await definition.open(found)).scan().all()
  await found.close()
  return rows.length > 0 && rows.every(({ number }, i) => number === i)
}

console.log(await isWhole('./backup', true)) // prints true
await Database.restore('./backup', './drill')
console.log(await isWhole('./drill', false)) // prints true
