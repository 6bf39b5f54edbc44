/** Names and texts that JavaScript or UTF-8 treats in ways of their own. */
import t from 'tap'
import { type EmbeddedTable } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { contentOf } from '../admin/support.js'

const odd = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']
const refused = { code: 'ERR_INVALID_ARGUMENT', message: /lone surrogate/ }

/** With names as they are; a literal would take `__proto__` for something else. */
function record<T>(names: readonly string[], value: T): Record<string, T> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

void t.test('families with names of Object.prototype are like others', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const metadata = record(odd, 'kept')
  const families = record(odd, { versions: 2, metadata })
  await database.createTable('t', { families, metadata })
  const check = (table: EmbeddedTable): void => {
    const description = table.describe()
    t.strictSame(Object.keys(description.families).sort(), [...odd].sort())
    t.strictSame(Object.entries(description.metadata), Object.entries(metadata))
    for (const name of odd) {
      t.equal(description.families[name].versions, 2)
      t.strictSame(Object.entries(description.families[name].metadata), Object.entries(metadata))
    }
  }
  check(database.table('t'))
  const cells = record(
    odd.map((name) => `${name}:${name}`),
    'v',
  )
  database.table('t').putSync({ row: '__proto__', cells })
  t.equal(database.table('t').getSync({ row: '__proto__' }).size, odd.length)
  await database.createTable('__proto__', { families: { f: {} } })
  const { tables } = database.statistics()
  t.strictSame(Object.keys(tables).sort(), ['__proto__', 't'])
  t.strictSame(Object.keys(tables['t'].families).sort(), [...odd].sort())
  await database.admin.modifyColumnFamily('t', '__proto__', { versions: 2 })
  await test.reopen()
  check(test.database.table('t'))
  const { admin } = test.database
  const pieces: Buffer[] = []
  for await (const piece of admin.exportTable('t')) pieces.push(piece)
  await admin.importTable(pieces, { table: 'imported' })
  check(test.database.table('imported'))
  t.strictSame(contentOf(test.database.table('imported')), contentOf(test.database.table('t')))
  await admin.deleteColumnFamily('t', '__proto__')
  await admin.addColumnFamily('t', '__proto__', { versions: 2, metadata })
  check(test.database.table('t'))
  await admin.createNamespace('n', record(odd, 'x'))
  await admin.modifyNamespace('n', record(['__proto__'], 'y'))
  await test.reopen()
  const { properties } = test.database.admin.getNamespaceDescriptor('n')
  t.strictSame(
    Object.entries(properties),
    odd.map((name) => [name, name === '__proto__' ? 'y' : 'x']),
  )
  await test.close()
})

void t.test('a description makes a table like the one described, enabled or not', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const families = {
    a: { ttlMilliseconds: 9000, compaction: { policy: 'leveled' as const } },
    b: { mob: true },
  }
  const coprocessors = [{ module: 'data:text/javascript,export const endpoints = {}' }]
  await database.createTable('t', { families, flushBytes: 1e6, metadata: { x: 'y' }, coprocessors })
  for (const disabled of [false, true]) {
    if (disabled) await database.admin.disableTable('t')
    const description = database.describeTable('t')
    const name = `copy${disabled}`
    const copy = await database.createTable(name, description)
    t.strictSame(copy.describe(), { ...description, name })
    t.equal(database.admin.isTableEnabled(name), true)
    t.strictSame(await database.alterTable('t', description), description)
    t.equal(database.admin.isTableDisabled('t'), disabled, 'an alteration leaves that as it is')
  }
  await test.close()
})

void t.test('a description is a copy', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: { metadata: { a: 'b' } } } })
  const description = table.describe() as {
    families: Record<string, { metadata: Record<string, string> }>
  }
  description.families['f'].metadata['a'] = 'changed'
  t.equal(table.describe().families['f'].metadata['a'], 'b')
  await test.close()
})

void t.test('texts that UTF-8 cannot hold are refused wherever they would be stored', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  const before = contentOf(table)
  for (const half of ['\ud800', 'a\udfff', '\udc00b', `${'x'.repeat(100)}\ud800`, 'é\ud83d']) {
    t.throws(() => table.getSync({ row: half }), refused)
    t.throws(() => table.getSync({ row: 'r', columns: [`f:${half}`] }), refused)
    t.throws(
      () => table.getSync({ row: 'r', columns: [{ family: 'f', qualifier: half }] }),
      refused,
    )
    t.throws(() => table.scanSync({ startRow: half }), refused)
    t.throws(() => table.scanSync({ prefix: half }), refused)
    t.throws(() => table.putSync({ row: half, cells: { 'f:q': 'v' } }), refused)
    t.throws(() => table.putSync({ row: 'r', cells: { [`f:${half}`]: 'v' } }), refused)
    t.throws(() => table.putSync({ row: 'r', cells: { 'f:q': half } }), refused)
    t.throws(() => table.putSync({ row: 'r', cells: [{ column: 'f:q', value: half }] }), refused)
    t.throws(() => table.deleteSync({ row: half }), refused)
    t.throws(() => table.appendSync({ row: 'r', columns: { 'f:q': half } }), refused)
    t.throws(
      () => table.checkAndMutateSync({ row: 'r', column: 'f:q', equals: half }, { delete: {} }),
      refused,
    )
    await t.rejects(database.createTable('u', { families: record([half], {}) }), refused)
    await t.rejects(database.createTable(half, { families: { f: {} } }), refused)
  }
  t.strictSame(contentOf(table), before)
  table.putSync({ row: '\ud83d\ude00', cells: { 'f:\ud83d\ude00': '\ud83d\ude00' } })
  const result = table.getSync({ row: '\ud83d\ude00' })
  t.equal(result.value('f:\ud83d\ude00')?.toString(), '\ud83d\ude00', 'pairs are whole characters')
  await test.close()
})

void t.test('bytes whose memory was given away are refused', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: {} } })
  const gone = new Uint8Array(5)
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  const detached = { code: 'ERR_INVALID_ARGUMENT', message: /detached/ }
  t.throws(() => table.putSync({ row: gone, cells: { 'f:q': 'v' } }), detached)
  t.throws(() => table.putSync({ row: 'r', cells: { 'f:q': gone } }), detached)
  t.throws(() => table.getSync({ row: 'r', columns: [{ family: gone }] }), detached)
  t.throws(() => table.getSync({ row: 'r', columns: [{ family: 'f', qualifier: gone }] }), detached)
  table.putSync({ row: 'r', cells: { 'f:q': new Uint8Array(0) } })
  t.equal(table.getSync({ row: 'r' }).value('f:q')?.length, 0, 'empty bytes are a value')
  await test.close()
})
