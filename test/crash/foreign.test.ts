/**
 * Files of another database that come into a database directory: refused, whatever they hold.
 *
 * @runs campaign
 */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BulkWriter, CellarError, Database } from '../../src/entries/index.js'

const options = { executor: 'inline' as const, compactionEnabled: false }
const families = { f: { mob: true, mobThreshold: 20 } }

function newHome(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'cellar-foreign-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Two databases made by the same calls have the same file numbers and file sizes. */
async function make(directory: string, mark: string): Promise<void> {
  const database = await Database.open(directory, options)
  const table = await database.createTable('t', { families })
  for (let i = 0; i < 50; i++) {
    const row = `r${String(i).padStart(2, '0')}`
    table.putSync({ row, timestamp: 5, cells: { 'f:v': mark, 'f:large': mark.repeat(100) } })
  }
  await database.flush()
  await database.close()
}

async function refusalOf(directory: string): Promise<CellarError> {
  try {
    const database = await Database.open(directory, options)
    await database.close()
  } catch (error) {
    if (error instanceof CellarError) return error
    throw error
  }
  throw new Error('it was opened')
}

for (const [kind, pattern] of [
  ['SSTable', /\.sst$/],
  ['value file', /\.val$/],
  ['log segment', /\.log$/],
] as const) {
  void t.test(`a ${kind} of another database is refused`, async (t) => {
    const home = newHome(t)
    const [own, other] = [join(home, 'own'), join(home, 'other')]
    await make(own, 'own')
    await make(other, 'oth')
    const names = readdirSync(own).filter((name) => pattern.test(name))
    t.ok(names.length > 0)
    for (const name of names) copyFileSync(join(other, name), join(own, name))
    const error = await refusalOf(own)
    t.equal(error.code, 'ERR_CORRUPTION')
    t.match(error.message, /another database/)
    t.equal(error.corruption?.file, join(own, names[names.length - 1]))
    t.match(error.corruption?.expected, /^database [0-9a-f]{32}$/)
    t.match(error.corruption?.found, /^database [0-9a-f]{32}$/)
    t.not(error.corruption?.expected, error.corruption?.found)
  })
}

void t.test('bulk files stay good through clones, restores, merges and exports', async (t) => {
  const home = newHome(t)
  const bulk = join(home, 'bulk')
  const writer = await BulkWriter.create(bulk, { families })
  writer.add({ row: 'a', cells: { 'f:v': 'bulk', 'f:large': 'x'.repeat(100) } })
  writer.finish()
  const directory = join(home, 'db')
  let database = await Database.open(directory, options)
  await database.createTable('t', { families })
  await database.admin.bulkLoad('t', [bulk])
  await database.admin.snapshot('s', 't')
  await database.admin.cloneSnapshot('s', 'clone')
  const check = (): void => {
    for (const name of database.listTables()) {
      const result = database.table(name).getSync({ row: 'a' })
      t.equal(result.value('f:v')?.toString(), 'bulk', name)
      t.equal(result.value('f:large')?.length, 100, name)
    }
  }
  check()
  await database.close()
  database = await Database.open(directory, options)
  t.same(database.listTables(), ['clone', 't'])
  check()
  const chunks: Uint8Array[] = []
  for await (const chunk of database.admin.exportTable('t')) chunks.push(chunk)
  await database.admin.importTable(chunks, { table: 'imported' })
  await database.admin.restoreSnapshot('s')
  check()
  await database.compact()
  check()
  await database.close()
  database = await Database.open(directory, options)
  check()
  await database.close()
})

void t.test('a file of a database is no bulk file', async (t) => {
  const home = newHome(t)
  const [bulk, own] = [join(home, 'bulk'), join(home, 'own')]
  const writer = await BulkWriter.create(bulk, { families: { f: {} } })
  for (let i = 0; i < 50; i++) {
    writer.add({ row: `r${String(i).padStart(2, '0')}`, cells: { 'f:v': 'own' } })
  }
  writer.finish()
  const database = await Database.open(own, options)
  const table = await database.createTable('t', { families: { f: {} } })
  await database.admin.bulkLoad('t', [bulk], { copy: true })
  t.equal(table.getSync({ row: 'r00' }).value('f:v')?.toString(), 'own')
  await database.close()
  const again = await Database.open(own, options)
  // A merge gives the file the identity of the database; as a bulk file it is then refused.
  await again.compact()
  await again.close()
  const [name] = readdirSync(own).filter((file) => file.endsWith('.sst'))
  const [bulkName] = readdirSync(bulk).filter((file) => file.endsWith('.sst'))
  copyFileSync(join(own, name), join(bulk, bulkName))
  const third = await Database.open(own, options)
  await t.rejects(third.admin.bulkLoad('t', [bulk]), { code: 'ERR_CORRUPTION' })
  await third.close()
})
