/**
 * The process that the test of index builds kills: writes rows, declares indexes, continues builds,
 * and prints a line `row value` for each acknowledged write.
 */
import { writeSync } from 'node:fs'
import { Database, openIndexes } from '../../../src/entries/index.js'
import { buildDeclarations, type BuildPlan } from './index-build-plan.js'
import { generatorOf } from '../recovery.js'

const plan = JSON.parse(process.argv[2]) as BuildPlan
const random = generatorOf(plan.seed)
const below = (count: number): number => Math.floor(random() * count)

const database = await Database.open(plan.directory, { executor: 'inline', flushBytes: 256 * 1024 })
const table = await database.ensureTable('rows', { families: { f: {} } })
const indexes = await openIndexes(database)
const known = (await indexes.list('rows')).map(({ declaration }) => declaration.name)
for (const declaration of buildDeclarations) {
  if (!known.includes(declaration.name)) await indexes.create('rows', declaration)
  // Another build of the same index replaces the one before.
  else if (below(3) === 0) void indexes.rebuild('rows', declaration.name).catch(() => undefined)
}
writeSync(1, 'ready\n')
for (let number = plan.first; ; number++) {
  const row = `r${below(plan.rows)}`
  if (below(5) === 0) {
    await table.delete({ row })
    writeSync(1, `${row} -\n`)
    continue
  }
  const cells = { 'f:group': `g${number % 7}`, 'f:tags': JSON.stringify([row, `t${number % 3}`]) }
  await table.put({ row, cells: { ...cells, 'f:number': `${number}` } })
  writeSync(1, `${row} ${number}\n`)
}
