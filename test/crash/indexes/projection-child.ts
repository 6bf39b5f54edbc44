/**
 * The process that the test of projections kills: writes rows, follows them by a projection without
 * end, and prints a line `id number` for each acknowledged write.
 */
import { writeSync } from 'node:fs'
import { Database, project } from '../../../src/entries/index.js'
import { generatorOf } from '../recovery.js'
import { openOptions, projectionOf, tablesOf, type ProjectionPlan } from './projection-scene.js'

const plan = JSON.parse(process.argv[2]) as ProjectionPlan
const random = generatorOf(plan.seed)
const below = (count: number): number => Math.floor(random() * count)

const database = await Database.open(plan.directory, { ...openOptions, flushBytes: 64 * 1024 })
const tables = await tablesOf(database)
project(database, projectionOf(tables, plan.from)).catch((error: unknown) => {
  console.error(error)
  process.exit(3)
})
writeSync(1, 'ready\n')
for (let number = plan.first; ; number++) {
  const id = `u${String(below(40)).padStart(2, '0')}`
  const city = `c${below(4)}`
  const kind = below(6)
  if (kind === 0) {
    await database.transaction((tx) => {
      tx.delete(tables.users, id, 'city')
      tx.put(tables.users, { id, number })
    })
  } else if (kind === 1) {
    const other = { id: `u${40 + below(5)}`, city, number }
    await database.atomic([tables.users.putOf({ id, city, number }), tables.users.putOf(other)])
  } else await tables.users.put({ id, city, number })
  writeSync(1, `${id} ${number}\n`)
  if (below(8) === 0) await new Promise((resolve) => setTimeout(resolve, below(4)))
}
