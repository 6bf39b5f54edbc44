import t from 'tap'
import type {
  Admin,
  Database,
  ExportOptions,
  MemoryFileSystem,
} from '../../../../src/entries/index.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { contentOf, fill, makeTable, tableFiles } from './support.js'

async function bytesOf(admin: Admin, name = 't', options: ExportOptions = {}): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of admin.exportTable(name, options)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The stream in pieces of `length` bytes. */
function* inPieces(bytes: Buffer, length: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

/** A table with versions, markers, empty and odd names, a large cell. */
async function fillOddly(database: Database): Promise<void> {
  const table = await makeTable(database)
  await fill(table, 50, 'one')
  await database.flush()
  await fill(table, 20, 'two')
  for (const timestamp of [1, 2, 3, 2 ** 52]) {
    await table.put({ row: 'v', cells: { 'a:x': `at ${timestamp}` }, timestamp })
  }
  await table.put({
    row: 'zero\0row\0',
    cells: [{ column: 'a:', value: '' }],
    ttlMilliseconds: 100_000,
  })
  await table.put({ row: Buffer.from([0, 255, 1]), cells: { 'b:\0q': Buffer.from([0, 1]) } })
  await table.put({ row: 'large', cells: { 'a:x': Buffer.alloc(700_000, 'l') } })
  await table.delete({ row: 'v', columnVersions: [{ family: 'a', qualifier: 'x', timestamp: 2 }] })
  await table.delete({ row: 'r0003' })
}

void t.test('an export comes back as the same table', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await fillOddly(test.database)
  const before = contentOf(test.database.table('t'))
  for (const compression of ['NONE', 'LZ4', 'GZ'] as const) {
    const bytes = await bytesOf(admin, 't', { compression })
    const name = `copy_${compression}`
    const length = compression === 'NONE' ? 7 : 100_000
    const imported = await admin.importTable(inPieces(bytes, length), { table: name })
    t.match(imported, { table: name, cells: before.length })
    t.strictSame(contentOf(test.database.table(name)), before, compression)
    const { families } = admin.getDescriptor('t')
    t.strictSame(admin.getDescriptor(name).families, families, 'options of the families')
  }
  await test.reopen()
  t.strictSame(contentOf(test.database.table('copy_LZ4')), before, 'reopened')
  await test.close()
})

void t.test(
  'versions, time range, rows, columns and markers are chosen as in a scan',
  async (t) => {
    const test = await TestDatabase.open()
    const { admin } = test.database
    await fillOddly(test.database)
    const table = test.database.table('t')
    const choices: ExportOptions[] = [
      { versions: 'all' },
      { versions: 2 },
      { timeRange: [2, 5] },
      { startRow: 'r0010', stopRow: 'r0015' },
      { columns: ['b'] },
      { raw: true, versions: 'all' },
    ]
    for (const [i, choice] of choices.entries()) {
      const imported = await admin.importTable([await bytesOf(admin, 't', choice)], {
        table: `t${i}`,
      })
      const found: string[] = []
      const wanted: string[] = []
      const all = { raw: true, versions: 'all' } as const
      for (const row of test.database.table(`t${i}`).scanSync(all)) {
        for (const { row: name, timestamp, type } of row.cells()) {
          found.push(`${name.toString()} ${timestamp} ${type}`)
        }
      }
      for (const row of table.scanSync(choice)) {
        for (const { row: name, timestamp, type } of row.cells()) {
          wanted.push(`${name.toString()} ${timestamp} ${type}`)
        }
      }
      t.strictSame(found, wanted, JSON.stringify(choice))
      t.equal(imported.cells, wanted.length)
    }
    await test.close()
  },
)

void t.test('a raw export of a family whose order of writing counts is refused', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await test.database.createTable('t', {
    families: { a: {}, n: { newVersionBehavior: true } },
  })
  const put = (value: string, timestamp: number) =>
    table.put({ row: 'r', cells: { 'n:q': value }, timestamp })
  await put('a', 10)
  await table.delete({ row: 'r', columns: ['n:q'], timestamp: 20 })
  await put('b', 15)
  const refused = { code: 'ERR_UNSUPPORTED', message: /family 'n' has newVersionBehavior/ }
  await t.rejects(bytesOf(admin, 't', { raw: true, versions: 'all' }), refused)
  await admin.importTable([await bytesOf(admin, 't', { versions: 'all' })], { table: 'c' })
  const copied = await test.database.table('c').get({ row: 'r', versions: 'all' })
  t.strictSame(
    copied.cells().map(({ value }) => value.toString()),
    ['b'],
  )
  await bytesOf(admin, 't', { raw: true, columns: ['a'] })
  await test.close()
})

void t.test('an export shows one moment, whatever happens meanwhile', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 400, 'one'.repeat(300))
  const before = contentOf(table)
  const pieces: Buffer[] = []
  for await (const piece of admin.exportTable('t', { compression: 'NONE' })) {
    pieces.push(piece)
    if (pieces.length !== 3) continue
    await fill(table, 400, 'two')
    await test.database.compact('t')
    await admin.truncateTable('t')
  }
  t.ok(pieces.length > 4, `${pieces.length} pieces`)
  await admin.importTable(pieces, { table: 'c' })
  t.strictSame(contentOf(test.database.table('c')), before)
  await test.close()
})

void t.test('an import into a table with rows adds to them, over all states', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await table.put({ row: 'a', cells: { 'a:x': 'old', 'b:y': 'old' }, timestamp: 5 })
  const bytes = await bytesOf(admin)
  await table.put({ row: 'a', cells: { 'a:x': 'new' }, timestamp: 5 })
  await table.put({ row: 'b', cells: { 'a:x': 'more' }, timestamp: 5 })
  const view = test.database.snapshot()
  await admin.importTable([bytes])
  const wanted = ['a/a:x@5=old', 'a/b:y@5=old', 'b/a:x@5=more']
  t.strictSame(contentOf(table), wanted, 'the import was the last to write')
  const seen = table.getSync({ row: 'a', snapshot: view }).value('a:x')?.toString()
  t.equal(seen, 'new', 'a view of before does not see it')
  view.close()
  await test.database.compact('t')
  t.strictSame(contentOf(table), wanted)
  await test.close()
})

void t.test(
  `a damaged stream is told with its offset, nothing is imported (${seed})`,
  async (t) => {
    const test = await TestDatabase.open()
    const { admin } = test.database
    const fileSystem = test.fileSystem as MemoryFileSystem
    await fillOddly(test.database)
    const bytes = await bytesOf(admin)
    await test.flush()
    const files = tableFiles(fileSystem)
    const random = randomFrom(seed)
    const expectDamage = async (damaged: Buffer, what: string): Promise<void> => {
      const importing = admin.importTable([damaged], { table: 'copy', source: '/dump' })
      const error = await importing.then(
        () => undefined,
        (reason: unknown) => reason as { code: string; corruption?: { offset: number } },
      )
      t.equal(error?.code, 'ERR_CORRUPTION', what)
      t.type(error?.corruption?.offset, 'number', what)
    }
    for (let i = 0; i < 250; i++) {
      const at = Math.floor(random() * bytes.length)
      const damaged = Buffer.from(bytes)
      damaged[at] ^= 1 << Math.floor(random() * 8)
      await expectDamage(damaged, `a bit flipped in byte ${at} of ${bytes.length}`)
    }
    for (let i = 0; i < 100; i++) {
      const length = i < 40 ? bytes.length - 1 - i : Math.floor(random() * bytes.length)
      await expectDamage(bytes.subarray(0, length), `cut to ${length} of ${bytes.length}`)
    }
    await expectDamage(Buffer.concat([bytes, Buffer.from('x')]), 'a further byte')
    await expectDamage(Buffer.concat([bytes, bytes]), 'twice')
    await expectDamage(Buffer.alloc(1000), 'zeros')
    const pieces: Buffer[] = []
    for await (const piece of admin.exportTable('t')) pieces.push(piece)
    t.ok(pieces.length >= 5)
    const [magic, head, first, second, ...rest] = pieces
    await expectDamage(Buffer.concat([magic, head, second, first, ...rest]), 'exchanged chunks')
    await expectDamage(Buffer.concat([magic, head, first, ...rest]), 'a chunk left out')
    await expectDamage(Buffer.concat([magic, head, head, first, second, ...rest]), 'a chunk twice')
    t.notOk(admin.tableExists('copy'))
    t.strictSame(tableFiles(fileSystem), files, 'no file is left over')
    await admin.importTable([bytes], { table: 'copy' })
    t.ok(admin.tableExists('copy'))
    await test.close()
  },
)

void t.test('mistakes are told and change nothing', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 5, 'one')
  const bytes = await bytesOf(admin)
  const wrong = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(bytesOf(admin, 'none'), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(bytesOf(admin, 't', { compression: 'X' as never }), wrong)
  await t.rejects(bytesOf(admin, 't', { versions: 0 }), wrong)
  await t.rejects(bytesOf(admin, 't', { timeRange: [5, 2] }), wrong)
  await t.rejects(bytesOf(admin, 't', { columns: ['z'] }), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  const signal = AbortSignal.abort()
  await t.rejects(bytesOf(admin, 't', { signal }), { code: 'ERR_ABORTED' })
  await t.rejects(admin.importTable([bytes], { signal }), { code: 'ERR_ABORTED' })
  await t.rejects(admin.importTable([], { signal }), { code: 'ERR_ABORTED' }, 'also of no piece')
  await t.rejects(admin.importTable(['text' as never]), wrong)
  await t.rejects(admin.importTable([bytes], { table: '.x' }), wrong)
  const missing = { code: 'ERR_NAMESPACE_NOT_FOUND' }
  await t.rejects(admin.importTable([bytes], { table: 'n:x' }), missing)
  await admin.createTable('other', { families: { a: {} } })
  const family = { code: 'ERR_NO_SUCH_COLUMN_FAMILY' }
  await t.rejects(admin.importTable([bytes], { table: 'other' }), family)
  await admin.modifyTable('t', { readOnly: true })
  await t.rejects(admin.importTable([bytes]), { code: 'ERR_READ_ONLY' })
  async function* failing(): AsyncGenerator<Buffer> {
    yield await Promise.resolve(bytes.subarray(0, 300))
    throw new Error('the network went away')
  }
  await t.rejects(admin.importTable(failing(), { table: 'x' }), /network/)
  t.strictSame(admin.listTableNames(), ['other', 't'])
  t.equal(contentOf(table).length, 10)
  await test.close()
})

void t.test('progress counts up to what the end says', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await fill(await makeTable(test.database), 300, 'x'.repeat(2000))
  const exported: number[] = []
  const options = { onProgress: ({ cells }: { cells: number }): unknown => exported.push(cells) }
  const bytes = await bytesOf(admin, 't', options)
  t.equal(exported.at(-1), 600)
  t.ok(exported.length > 2)
  const imported: number[] = []
  await admin.importTable([bytes], {
    table: 'c',
    onProgress: ({ rows }) => imported.push(rows),
  })
  t.equal(imported.at(-1), 300)
  await admin.createTable('empty', { families: { a: {} } })
  t.match(await admin.importTable([await bytesOf(admin, 'empty')], { table: 'e2' }), { cells: 0 })
  t.ok(admin.tableExists('e2'))
  await test.close()
})

void t.test('an imported table has the coprocessors of its schema at once', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const source = 'export const endpoints = { ping: () => "pong" }'
  const module = `data:text/javascript,${encodeURIComponent(source)}`
  const families = { f: {} }
  const table = await test.database.createTable('t', { families, coprocessors: [{ module }] })
  await table.put({ row: 'r', cells: { 'f:q': 'v' } })
  const stream: Buffer[] = []
  for await (const piece of admin.exportTable('t')) stream.push(piece)
  await admin.importTable(stream, { table: 'imported' })
  t.equal(await test.database.table('imported').callEndpoint('ping'), 'pong')
  await test.database.close()
})
