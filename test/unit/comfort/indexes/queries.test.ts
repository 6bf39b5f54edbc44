/**
 * Queries, refusals, builds and repair of indexes.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import {
  openIndexes,
  type Get,
  type Indexes,
  type RowMutations,
} from '../../../../src/entries/index.js'
import { ManualClock } from '../../../../src/base/clock.js'
import { moduleNamed } from '../../storage/coprocessor/support.js'
import { TestDatabase } from '../../../helpers/test-database.js'

interface Scene {
  readonly test: TestDatabase
  readonly indexes: Indexes
}

async function open(t: Test, families: Record<string, object> = { f: {} }): Promise<Scene> {
  const test = await TestDatabase.open({ clock: new ManualClock(5_000_000) })
  await test.database.createTable('users', { families })
  const indexes = await openIndexes(test.database)
  t.teardown(async () => {
    await indexes.close()
    await test.close()
  })
  return { test, indexes }
}

async function fill({ test }: Scene, count: number): Promise<void> {
  const table = test.database.table('users')
  for (let i = 0; i < count; i++) {
    const cells = { 'f:city': `c${i % 5}`, 'f:name': `n${i}`, 'f:mail': `m${i}` }
    await table.put({ row: `r${String(i).padStart(4, '0')}`, cells })
  }
}

function texts(rows: readonly { readonly row?: Buffer | undefined }[]): string[] {
  return rows.map(({ row }) => row!.toString())
}

void t.test('equality, ranges, both directions, pages and counts', async (t) => {
  const scene = await open(t)
  const { indexes } = scene
  await fill(scene, 40)
  const byCity = await indexes.create('users', {
    name: 'by_city',
    key: { city: 'f:city', name: { column: 'f:name', descending: true } },
    stored: ['f:mail'],
  })
  await byCity.ready()
  t.equal(byCity.state, 'ready')
  const all = await byCity.rows({ prefix: { city: 'c1' } })
  t.same(
    all.rows.map((row) => row.value('f:name', 'utf8')),
    ['n6', 'n36', 'n31', 'n26', 'n21', 'n16', 'n11', 'n1'],
  )
  t.equal(all.next, undefined)
  const back = await byCity.rows({ prefix: { city: 'c1' }, reversed: true })
  t.same(texts(back.rows), texts(all.rows).reverse())
  t.equal(await byCity.count({ prefix: { city: 'c1' } }), 8)
  t.equal(await byCity.count(), 40)
  t.equal(await byCity.count({ startKey: { city: 'c1' }, stopKey: { city: 'c3' } }), 16)
  t.equal(await byCity.count({ startsWith: { city: 'c' } }), 40)
  const names = await byCity.rows({
    prefix: { city: 'c1' },
    startKey: { name: 'n31' },
    stopKey: { name: 'n16' },
    stopInclusive: true,
    columns: ['f:name'],
  })
  t.same(
    names.rows.map((row) => row.value('f:name', 'utf8')),
    ['n31', 'n26', 'n21', 'n16'],
  )
  for (const reversed of [false, true]) {
    const whole = await byCity.rows({ reversed })
    const pages: string[] = []
    let page: string | undefined
    let count = 0
    do {
      const part = await byCity.rows({ reversed, limit: 7, page })
      t.ok(part.rows.length <= 7)
      pages.push(...texts(part.rows))
      page = part.next
      count++
    } while (page !== undefined)
    t.same(pages, texts(whole.rows))
    t.equal(count, 6)
  }
  const covered = await byCity.entries({ prefix: { city: 'c2' }, limit: 1 })
  t.match(covered.rows[0].key, { city: 'c2', name: 'n7' })
  t.equal(covered.rows[0].stored['f:mail'].toString(), 'm7')
  await t.rejects(byCity.rows({ page: 'x' }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(byCity.rows({ prefx: {} } as never), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(byCity.rows({ limit: 0 }), { code: 'ERR_INVALID_ARGUMENT' })
  const forward = await byCity.rows({ limit: 1 })
  await t.rejects(byCity.rows({ reversed: true, page: forward.next }), {
    code: 'ERR_INVALID_ARGUMENT',
  })
})

void t.test('a unique index refuses a second row and names the first', async (t) => {
  const { test, indexes } = await open(t)
  const byMail = await indexes.create('users', {
    name: 'by_mail',
    unique: true,
    key: { mail: 'f:mail' },
  })
  await byMail.ready()
  const table = test.database.table('users')
  await table.put({ row: 'ada', cells: { 'f:mail': 'a@x', 'f:name': 'Ada' } })
  const before = test.database.statistics().lastSequence
  await t.rejects(table.put({ row: 'bob', cells: { 'f:mail': 'a@x', 'f:name': 'Bob' } }), {
    code: 'ERR_UNIQUE_VIOLATION',
    message:
      "table 'users', unique index 'by_mail': { mail: \"a@x\" } belongs to the row ada; " +
      'write another value, or change that row before',
    details: { index: 'by_mail', key: { mail: 'a@x' }, row: Buffer.from('ada') },
  })
  t.throws(() => table.putSync({ row: 'bob', cells: { 'f:mail': 'a@x' } }), {
    code: 'ERR_UNIQUE_VIOLATION',
  })
  t.equal(test.database.statistics().lastSequence, before, 'nothing was written')
  t.equal((await table.get({ row: 'bob' })).isEmpty, true)
  await table.put({ row: 'ada', cells: { 'f:mail': 'a@x' } })
  await t.rejects(
    table.mutateRows({
      rows: ['x', 'y'].map((row) => ({
        row,
        mutations: [{ put: { cells: { 'f:mail': 'same' } } }],
      })),
    }),
    { code: 'ERR_UNIQUE_VIOLATION' },
  )
  await table.mutateRows({
    rows: [
      { row: 'bob', mutations: [{ put: { cells: { 'f:mail': 'a@x' } } }] },
      { row: 'ada', mutations: [{ put: { cells: { 'f:mail': 'b@x' } } }] },
    ],
  })
  t.same(texts((await byMail.rows({ prefix: { mail: 'a@x' } })).rows), ['bob'])
  t.same(texts((await byMail.rows({ prefix: { mail: 'b@x' } })).rows), ['ada'])
  await table.delete({ row: 'bob' })
  await table.put({ row: 'cyd', cells: { 'f:mail': 'a@x' } })
  t.same(texts((await byMail.rows({ prefix: { mail: 'a@x' } })).rows), ['cyd'])
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => table.put({ row: `w${i}`, cells: { 'f:mail': 'one' } })),
  )
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})

void t.test('a build beside writes, killed and resumed', async (t) => {
  const { test } = await open(t)
  const table = test.database.table('users')
  for (let i = 0; i < 400; i++) {
    table.putSync({ row: `r${1000 + i}`, cells: { 'f:city': `c${i % 7}` } })
  }
  const first = await openIndexes(test.database)
  const building = await first.create('users', { name: 'by_city', key: { city: 'f:city' } })
  t.equal(building.state, 'building')
  await t.rejects(building.rows(), { code: 'ERR_INDEX_NOT_READY', message: /is being built/ })
  await t.rejects(building.count(), { code: 'ERR_INDEX_NOT_READY' })
  await table.put({ row: 'r1399', cells: { 'f:city': 'moved' } })
  await first.close()
  await test.reopen()
  const reopened = test.database.table('users')
  // Before anybody opens the indexes, writes keep them all the same.
  await reopened.put({ row: 'r1000', cells: { 'f:city': 'moved' } })
  await reopened.delete({ row: 'r1001' })
  const second = await openIndexes(test.database)
  const index = second.index('users', 'by_city')
  t.equal(index.state, 'building')
  const writes = Array.from({ length: 100 }, (_, i) =>
    reopened.put({ row: `r${1100 + i * 2}`, cells: { 'f:city': 'moved' } }),
  )
  await Promise.all([index.ready(), ...writes])
  t.same(await index.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })
  t.equal(await index.count(), 399)
  t.equal(await index.count({ prefix: { city: 'moved' } }), 102)
  await second.close()
  t.throws(() => index.state, { code: 'ERR_CLOSED' })
})

void t.test('a build that finds two rows of one key fails, and rebuild mends it', async (t) => {
  const scene = await open(t)
  const { test, indexes } = scene
  const table = test.database.table('users')
  await fill(scene, 100)
  await table.put({ row: 'zzz', cells: { 'f:mail': 'm7' } })
  const index = await indexes.create('users', {
    name: 'by_mail',
    unique: true,
    key: { mail: 'f:mail' },
  })
  await t.rejects(index.ready(), { code: 'ERR_UNIQUE_VIOLATION', message: /r0007/ })
  t.equal(index.state, 'failed')
  await t.rejects(index.rows(), { code: 'ERR_INDEX_NOT_READY', message: /r0007/ })
  await table.put({ row: 'zzz2', cells: { 'f:mail': 'm8' } })
  await table.delete({ row: 'zzz' })
  await table.delete({ row: 'zzz2' })
  await indexes.rebuild('users', 'by_mail')
  await index.ready()
  t.equal(await index.count(), 100)
})

void t.test('verify finds damage, rebuild repairs it, drop removes it', async (t) => {
  const scene = await open(t)
  const { test, indexes } = scene
  await fill(scene, 20)
  const index = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await index.ready()
  const [{ entries }] = await indexes.list('users')
  const entriesTable = test.database.table(entries)
  const rows = (await entriesTable.scan({ columns: ['e'] }).all()).map(({ row }) => row!)
  await entriesTable.delete({ row: rows[3] })
  const stray = Buffer.concat([Buffer.from('zz\0\u0001'), Buffer.from('r0003')])
  await entriesTable.put({ row: stray, cells: { 'e:': Buffer.of(0, 5) } })
  const findings = await index.verify()
  t.same(texts(findings.rowsWithoutEntry.map((row) => ({ row }))), ['r0015'])
  t.same(
    findings.entriesWithoutRow.map(({ row }) => row.toString()),
    ['r0003'],
  )
  t.same((await index.rows({ prefix: { city: 'zz' } })).rows, [], 'entries are checked')
  await indexes.rebuild('users', 'by_city')
  await index.ready()
  t.same(await index.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })
  t.equal(await index.count(), 20)
  await t.rejects(indexes.create('users', { name: 'by_city', key: { city: 'f:city' } }), {
    code: 'ERR_INDEX_EXISTS',
  })
  await indexes.drop('users', 'by_city')
  t.same(await indexes.list(), [])
  t.same(test.database.admin.listTableNames(), ['users'])
  await t.rejects(index.rows(), { code: 'ERR_INDEX_NOT_FOUND' })
  await test.database.table('users').put({ row: 'x', cells: { 'f:city': 'y' } })
})

void t.test('expired and truncated rows are not returned', async (t) => {
  const { test, indexes } = await open(t, { f: { ttlMilliseconds: 10_000 } })
  const index = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await index.ready()
  const table = test.database.table('users')
  await table.put({ row: 'a', cells: { 'f:city': 'x' } })
  test.clock.milliseconds += 8000
  await table.put({ row: 'b', cells: { 'f:city': 'x' } })
  test.clock.milliseconds += 4000
  t.same(texts((await index.rows({ prefix: { city: 'x' } })).rows), ['b'])
  t.equal(await index.count(), 2, 'entries outlive expired cells')
  await test.database.admin.truncateTable('users')
  t.same((await index.rows()).rows, [])
  const cells = { 'f:city': 'x' }
  await t.rejects(table.put({ row: 'c', cells, ttlMilliseconds: 5 }), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /no TTL of their own/,
  })
})

void t.test('a family counts whole beside one of its columns', async (t) => {
  const { test, indexes } = await open(t, { f: {}, g: {} })
  const table = test.database.table('users')
  await table.put({ row: 'a', cells: { 'f:city': 'x', 'f:name': 'n', 'g:v': '1', 'g:w': '2' } })
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  const byValue = await indexes.create('users', {
    name: 'by_value',
    key: { value: { valuesOf: 'g' } },
    stored: ['g:v'],
  })
  await byCity.ready()
  await byValue.ready()
  const columnsOf = async (columns: string[]): Promise<string[]> => {
    const { rows } = await byCity.rows({ columns })
    return rows[0].cells().map(({ family, qualifier }) => `${family}:${qualifier.toString()}`)
  }
  t.same(await columnsOf(['f']), ['f:city', 'f:name'])
  t.same(await columnsOf(['g:w']), ['f:city', 'g:w'])
  t.same(await columnsOf(['g:w', 'g']), ['f:city', 'g:v', 'g:w'])
  await table.put({ row: 'b', cells: { 'g:w': '3' } })
  const { rows } = await byValue.entries()
  t.same(
    rows.map(({ key }) => key['value']),
    ['1', '2', '3'],
    'rows of the build and of mutations',
  )
  t.same(await byValue.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })
  const found = await byValue.rows({ prefix: { value: '2' }, columns: ['g:v'] })
  t.same(texts(found.rows), ['a'])
})

void t.test('a delete marker of any source masks the puts that it is newer than', async (t) => {
  const { test, indexes } = await open(t, { f: { versions: 3 } })
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await byCity.ready()
  const steps: readonly [string, () => unknown][] = [
    ['active memtable', () => undefined],
    ['SSTable', () => test.database.flush()],
    ['SSTable behind a reopen', () => test.reopen()],
  ]
  let at = test.clock.now() + 1000
  for (const [what, move] of steps) {
    const row = what
    const table = (): ReturnType<typeof test.database.table> => test.database.table('users')
    await table().put({ row, cells: { 'f:city': 'old' }, timestamp: at })
    await table().delete({ row, columns: ['f:city'], timestamp: (at += 10) })
    await move()
    const opened = what.includes('reopen') ? await openIndexes(test.database) : indexes
    await table().put({ row, cells: { 'f:city': 'hidden' }, timestamp: at - 5 })
    t.same(texts((await opened.index('users', 'by_city').rows()).rows), [], what)
    t.equal(await opened.index('users', 'by_city').count(), 0, what)
    await table().put({ row, cells: { 'f:city': 'new' }, timestamp: at + 1 })
    t.equal(await opened.index('users', 'by_city').count(), 1, what)
    await table().delete({ row })
    at += 10
    await table().delete({ row, timestamp: at })
    t.equal(await opened.index('users', 'by_city').count(), 0, what)
    if (opened !== indexes) await opened.close()
  }
})

void t.test('a row that a batch names twice has the entries of its last values', async (t) => {
  const { test, indexes } = await open(t)
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await byCity.ready()
  const put = (row: string, city: string): RowMutations => {
    return { row, mutations: [{ put: { cells: { 'f:city': city } } }] }
  }
  const rows = [put('a', 'first'), put('b', 'other'), put('a', 'last')]
  await test.database.table('users').mutateRows({ rows })
  const { rows: entries } = await byCity.entries()
  t.same(
    entries.map(({ row, key }) => `${row.toString()} ${String(key['city'])}`),
    ['a last', 'b other'],
  )
})

void t.test('a table of the same name is another table', async (t) => {
  const { test, indexes } = await open(t)
  const declaration = { name: 'by_city', key: { city: 'f:city' } }
  for (const city of ['x', 'y']) {
    const byCity = await indexes.create('users', declaration)
    await byCity.ready()
    await test.database.table('users').put({ row: city, cells: { 'f:city': city } })
    t.same(texts((await byCity.rows()).rows), [city])
    t.equal(await byCity.count(), 1)
    await indexes.drop('users', 'by_city')
    await test.database.admin.deleteTable('users')
    await t.rejects(byCity.rows(), { code: 'ERR_TABLE_NOT_FOUND' })
    await test.database.createTable('users', { families: { f: {} } })
    await t.rejects(byCity.rows(), { code: 'ERR_INDEX_NOT_FOUND' })
  }
})

void t.test('declarations and values that do not fit are refused', async (t) => {
  const { test, indexes } = await open(t)
  const bad: readonly unknown[] = [
    { name: 'a b', key: { x: 'f:x' } },
    { name: 'a', key: {} },
    { name: 'a', key: { row: 'f:x' } },
    { name: 'a', key: { x: { column: 'f:x', valuesOf: 'f' } } },
    { name: 'a', key: { x: { column: 'f:x', each: true } } },
    { name: 'a', key: { x: { column: 'f:x', as: 'int64' } } },
    { name: 'a', key: { x: 'f:x' }, uniqe: true },
    null,
  ]
  for (const declaration of bad) {
    await t.rejects(indexes.create('users', declaration as never), { code: 'ERR_INVALID_ARGUMENT' })
  }
  await t.rejects(indexes.create('users', { name: 'a', key: { x: 'g:x' } }), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
  })
  await t.rejects(indexes.create('none', { name: 'a', key: { x: 'f:x' } }), {
    code: 'ERR_TABLE_NOT_FOUND',
  })
  const index = await indexes.create('users', {
    name: 'by_age',
    key: { age: { column: 'f:data', encoding: 'json', path: ['age'], as: 'integer' } },
  })
  await index.ready()
  const table = test.database.table('users')
  await table.put({ row: 'a', cells: { 'f:data': '{"age":41}' } })
  await table.put({ row: 'b', cells: { 'f:data': '{}' } })
  await t.rejects(table.put({ row: 'c', cells: { 'f:data': '{"age":"x"}' } }), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /part 'age' of the index 'by_age'/,
  })
  await t.rejects(table.put({ row: 'c', cells: { 'f:data': '{' } }), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  t.same(texts((await index.rows({ startKey: { age: 40 } })).rows), ['a'])
})

void t.test('an alteration of the table leaves its indexes', async (t) => {
  const scene = await open(t, { f: {}, g: {} })
  const { test, indexes } = scene
  const { admin } = test.database
  await fill(scene, 3)
  const byName = await indexes.create('users', { name: 'by_name', key: { name: 'f:name' } })
  await byName.ready()
  const own = { module: moduleNamed('schema-coprocessor') }
  for (const coprocessors of [[own], [], undefined]) {
    await admin.modifyTable('users', { coprocessors, metadata: { a: 'b' } })
    t.equal((await indexes.list('users')).length, 1)
    const { coprocessors: found = [] } = admin.getDescriptor('users')
    t.equal(found.length, 1 + (coprocessors?.length ?? 0), 'with those of the caller')
  }
  await test.database.table('users').put({ row: 'x', cells: { 'f:name': 'x' } })
  t.same(texts((await byName.rows({ prefix: { name: 'x' } })).rows), ['x'], 'and keeps them')
  const described = admin.getDescriptor('users')
  await admin.modifyTable('users', { coprocessors: described.coprocessors })
  t.equal(byName.state, 'ready', 'a list with the indexes')
  await t.rejects(admin.modifyTable('users', { dropFamilies: ['f'] }), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
    message: /'by_name' of table 'users' needs the family 'f'; have it, or drop the index/,
  })
  await t.rejects(admin.modifyTable('users', { families: { f: { newVersionBehavior: true } } }), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /family 'f' cannot have newVersionBehavior/,
  })
  await admin.modifyTable('users', { dropFamilies: ['g'] })
  t.same(await byName.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })
  await indexes.drop('users', 'by_name')
  t.notOk(admin.getDescriptor('users').coprocessors, 'a drop leaves nothing')
})

void t.test('rows of a query are read as by gets, from memory and from files', async (t) => {
  const { test, indexes } = await open(t)
  const rows = Array.from({ length: 12 }, (_, i) => Buffer.from(`\0r\0${'\0'.repeat(i % 3)}${i}`))
  const table = test.database.table('users')
  for (const row of rows) {
    await table.put({ row, cells: { 'f:city': 'c\0', 'f:mail': row, 'f:note': 'x'.repeat(9000) } })
  }
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  const unique = { name: 'by_mail', key: { mail: 'f:mail' }, unique: true }
  const byMail = await indexes.create('users', unique)
  await Promise.all([byCity.ready(), byMail.ready()])
  const sorted = rows.sort((a, b) => Buffer.compare(a, b))
  const seen: Buffer[] = []
  const observer = { preGet: (_context: unknown, get: Get) => void seen.push(get.row as Buffer) }
  const check = async (): Promise<void> => {
    const gets = (): number => test.database.statistics().tables['users'].latencies.get!.count
    const before = gets()
    for (const index of [byCity, byMail]) {
      const found = await index.rows({ columns: ['f:note'] })
      t.same(
        found.rows.map((result) => result.row),
        sorted,
      )
      t.same(
        found.rows.map((result) => result.value('f:note')!.length),
        sorted.map(() => 9000),
      )
    }
    t.equal(gets() - before, 2 * rows.length, 'each row counts as a get')
  }
  await table.get({ row: 'a' })
  await check()
  await test.flush()
  await check()
  const observed = await test.database.registerCoprocessor({ name: 'looks', observer })
  await check()
  t.same(seen, [...sorted, ...sorted], 'observers see the gets')
  observed.remove()
})

void t.test('a restored snapshot has the indexes that its table has now', async (t) => {
  const scene = await open(t)
  const { test, indexes } = scene
  const { admin } = test.database
  await fill(scene, 3)
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await byCity.ready()
  await admin.snapshot('before', 'users')
  await indexes.rebuild('users', 'by_city')
  await byCity.ready()

  await admin.restoreSnapshot('before')
  const put = { row: 'x', cells: { 'f:city': 'c9' } }
  await test.database.table('users').put(put)
  t.strictSame(texts((await byCity.rows({ prefix: { city: 'c9' } })).rows), ['x'])
  await indexes.rebuild('users', 'by_city')
  await byCity.ready()
  t.equal(await byCity.count(), 4)

  await indexes.drop('users', 'by_city')
  await admin.restoreSnapshot('before')
  t.strictSame(await indexes.list('users'), [], 'a dropped index stays dropped')
  await test.database.table('users').put(put)

  await admin.deleteTable('users')
  await admin.cloneSnapshot('before', 'users')
  t.strictSame(await indexes.list('users'), [], 'a clone has none, also under the old name')
  await test.database.table('users').put(put)

  await admin.addColumnFamily('users', 'g')
  await indexes.create('users', { name: 'by_new', key: { name: 'g:name' } })
  await t.rejects(admin.restoreSnapshot('before'), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  await test.database.table('users').put({ row: 'x', cells: { 'g:name': 'n' } })
})

void t.test('a rebuild mends an index whose entries were deleted', async (t) => {
  const scene = await open(t)
  const { test, indexes } = scene
  await fill(scene, 3)
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await byCity.ready()
  const entries = async (): Promise<string> => (await indexes.list('users'))[0].entries
  await test.database.admin.deleteTable(await entries())
  await indexes.rebuild('users', 'by_city')
  await byCity.ready()
  await test.database.table('users').put({ row: 'x', cells: { 'f:city': 'c9' } })
  t.equal(await byCity.count(), 4)
  await test.database.admin.deleteTable(await entries())
  await indexes.drop('users', 'by_city')
  t.strictSame(await indexes.list(), [])
})

void t.test('ready waits for a build that another object began, and goes on with it', async (t) => {
  const scene = await open(t)
  const { test, indexes } = scene
  await using other = await openIndexes(test.database)
  await fill(scene, 300)
  await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  const byCity = other.index('users', 'by_city')
  await byCity.ready()
  t.equal(await byCity.count(), 300)
  await indexes.index('users', 'by_city').ready()

  await indexes.rebuild('users', 'by_city')
  await indexes.close()
  await byCity.ready()
  t.equal(await byCity.count(), 300)
  t.strictSame(await byCity.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })

  await t.rejects(byCity.rows({ columns: 5 as never }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(byCity.rows({ columns: 'f:city' as never }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(byCity.rows({ columns: null as never }), { code: 'ERR_INVALID_ARGUMENT' })
  const { rows } = await byCity.rows({ columns: [], limit: 1 })
  t.equal(rows[0].size, 3, 'as a get with an empty list')
})

void t.test('a row with too many combinations of values is refused', async (t) => {
  const { test, indexes } = await open(t)
  const list = (column: string): object => ({ column, encoding: 'json', each: true })
  const byBoth = await indexes.create('users', {
    name: 'by_both',
    key: { a: list('f:a'), b: list('f:b') },
  })
  await byBoth.ready()
  const table = test.database.table('users')
  const words = (count: number): string =>
    JSON.stringify(Array.from({ length: count }, (_, i) => `w${i}`))
  await table.put({ row: 'r', cells: { 'f:a': words(40), 'f:b': words(50) } })
  const more = table.put({ row: 'r', cells: { 'f:b': words(2_501) } })
  await t.rejects(more, { code: 'ERR_TOO_LARGE', message: /make 100040 entries/ })
  t.equal(await byBoth.count(), 2_000)
  await table.delete({ row: 'r' })
  t.equal(await byBoth.count(), 0)
})

void t.test('a page of another range is refused', async (t) => {
  const scene = await open(t)
  const { indexes } = scene
  await fill(scene, 20)
  const byCity = await indexes.create('users', { name: 'by_city', key: { city: 'f:city' } })
  await byCity.ready()
  for (const reversed of [false, true]) {
    const next = async (city: string): Promise<string | undefined> =>
      (await byCity.rows({ prefix: { city }, limit: 2, reversed })).next
    for (const other of ['c1', 'c3']) {
      const page = await next(other)
      const wrong = { reversed, page }
      const refused = { code: 'ERR_INVALID_ARGUMENT', message: /outside of the range/ }
      await t.rejects(byCity.rows({ ...wrong, prefix: { city: 'c2' } }), refused)
      await t.rejects(byCity.entries({ ...wrong, prefix: { city: 'c2' } }), refused)
      await t.rejects(byCity.rows({ ...wrong, startsWith: { city: 'c2' } }), refused)
      const own = await byCity.rows({ ...wrong, prefix: { city: other } })
      t.equal(own.rows.length, 2)
    }
  }
})

void t.test('indexes are opened and listed while tables are dropped', async (t) => {
  const { test, indexes } = await open(t)
  const { admin } = test.database
  // As if the table were dropped behind the list of names.
  t.intercept(admin, 'listTableNames', { value: () => ['dropped', 'users'] })
  t.strictSame(await indexes.list(), [])
  await (await openIndexes(test.database)).close()
})
