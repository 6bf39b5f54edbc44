/** Coprocessors in the schema of a table: persistence, reload, repair. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Database, type TableCoprocessor } from '../../../../src/entries/index.js'
import { contents, executors, moduleNamed, putRows, quiet } from './support.js'

const schemaModule = moduleNamed('schema-coprocessor')
const stamping: TableCoprocessor = {
  module: schemaModule,
  options: { stamp: 'A', script: 'drop odd rows' },
  priority: 5,
}

for (const executor of executors()) {
  void t.test(`a schema's coprocessors work again after a reopen, ${executor}`, async (t) => {
    const directory = t.testdir()
    const options = { ...quiet, executor }
    const database = await Database.open(directory, options)
    await database.createTable('t', { families: { f: {} }, coprocessors: [stamping] })
    t.same(database.describeTable('t').coprocessors, [stamping])
    await database.close()
    const again = await Database.open(directory, options)
    const table = again.table('t')
    t.same(table.describe().coprocessors, [stamping])
    await putRows(table, 4)
    t.equal((await table.get({ row: 'r1' })).value('f:stamp')?.toString(), 't A')
    t.equal(await table.callEndpoint('hello'), 'hello from t')
    await again.flush()
    t.same(contents(table), ['r0=v0', 'r2=v2'])
    await again.close()
  })
}

void t.test('an alteration takes the place of the list, another leaves it', async (t) => {
  const database = await Database.open(t.testdir(), { ...quiet, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} }, coprocessors: [stamping] })
  await database.alterTable('t', { durability: 'ASYNC_WAL' })
  t.same(table.describe().coprocessors, [stamping])
  const changed = { ...stamping, options: { stamp: 'B' } }
  await database.alterTable('t', { coprocessors: [changed] })
  await putRows(table, 2)
  t.equal((await table.get({ row: 'r1' })).value('f:stamp')?.toString(), 't B')
  await database.flush()
  t.equal(contents(table).length, 2, 'the hook has the new options as well')
  await t.rejects(database.alterTable('t', { coprocessors: [{ module: moduleNamed('absent') }] }), {
    code: 'ERR_COPROCESSOR',
    message: /table 't'.*absent\.js/,
  })
  t.same(table.describe().coprocessors, [changed])
  await database.alterTable('t', { coprocessors: [] })
  await table.put({ row: 'r2', cells: { 'f:a': 'v2' } })
  t.notOk((await table.get({ row: 'r2' })).has('f:stamp'))
  t.notOk('coprocessors' in table.describe())
  await database.close()
})

void t.test('a copy of a table gets coprocessors of its own', async (t) => {
  const database = await Database.open(t.testdir(), { ...quiet, executor: 'inline' })
  await database.createTable('t', { families: { f: {} }, coprocessors: [stamping] })
  const copy = await database.admin.cloneTableSchema('t', 'copy')
  await putRows(copy, 1)
  t.equal((await copy.get({ row: 'r0' })).value('f:stamp')?.toString(), 'copy A')
  await database.close()
})

void t.test('a database whose module is lost says which, and can be repaired', async (t) => {
  const directory = t.testdir({ database: {}, 'hook.mjs': '' })
  const file = join(directory, 'hook.mjs')
  const module = pathToFileURL(file).href
  writeFileSync(file, 'export const endpoints = { ping: () => "pong" }')
  const path = join(directory, 'database')
  const options = { ...quiet, executor: 'inline' as const }
  const database = await Database.open(path, options)
  const table = await database.createTable('t', {
    families: { f: {} },
    coprocessors: [{ module }, { module: `${module}?second` }],
  })
  t.equal(await table.callEndpoint('ping'), 'pong')
  await putRows(table, 3)
  await database.close()
  rmSync(file)
  // A module that this process has loaded stays; another address has to be read.
  const lost = { module: `${module}?third` }
  const repair = await Database.open(path, { ...options, schemaCoprocessorsEnabled: false })
  t.equal(contents(repair.table('t')).length, 3, 'everything can be read without')
  await t.rejects(repair.table('t').callEndpoint('ping'), { code: 'ERR_INVALID_ARGUMENT' })
  await repair.alterTable('t', { coprocessors: [lost] })
  await repair.close()
  await t.rejects(Database.open(path, options), {
    code: 'ERR_COPROCESSOR',
    message: /table 't': .*hook\.mjs\?third/,
  })
  const last = await Database.open(path, { ...options, schemaCoprocessorsEnabled: false })
  await last.alterTable('t', { coprocessors: [] })
  await last.close()
  const repaired = await Database.open(path, options)
  t.equal(contents(repaired.table('t')).length, 3)
  await repaired.close()
})

void t.test('wrong lists of coprocessors are refused', async (t) => {
  const database = await Database.open(t.testdir(), { ...quiet, executor: 'inline' })
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const wrong: readonly unknown[] = [
    {},
    [7],
    [{}],
    [{ module: '' }],
    [{ module: schemaModule, unknown: 1 }],
    [{ module: schemaModule, priority: 1.5 }],
    [{ module: schemaModule, options: { date: new Date(0) } }],
    [{ module: schemaModule, options: cyclic }],
    [{ module: schemaModule }, { module: schemaModule }],
  ]
  for (const coprocessors of wrong) {
    await t.rejects(
      database.createTable('t', { families: { f: {} }, coprocessors: coprocessors as never }),
      { code: 'ERR_INVALID_ARGUMENT' },
    )
  }
  await database.close()
})
