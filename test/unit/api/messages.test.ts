/** Messages of refused arguments: they say what was given, and what to write instead. */
import { inspect } from 'node:util'
import t from 'tap'
import { CellarError, ErrorCode, defineTable, readPage } from '../../../src/entries/index.js'
import type { Database } from '../../../src/api/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { TestDatabase } from '../../helpers/test-database.js'

const as = <T>(value: unknown): T => value as T

for (const [name, open] of Object.entries({
  'the engine': async (): Promise<Database> => (await TestDatabase.open()).database,
  memory: (): Promise<Database> => openMemoryDatabase(),
})) {
  void t.test(`a refusal says what to write: ${name}`, async (t) => {
    const db = await open()
    t.teardown(() => db.close())
    const table = await db.createTable('t', { families: { f: {} } })
    const days = defineTable({ name: 't', key: { id: 'utf8' }, columns: { d: 'utf8' } })
    const scan = async (options: unknown): Promise<unknown> => table.scan(as(options)).all()
    const put = (value: unknown): Promise<unknown> =>
      table.put({ row: 'r', cells: as({ 'f:d': value }) })
    const calls: Record<string, [() => Promise<unknown>, RegExp]> = {
      'families as an array': [
        () => db.createTable('u', { families: as(['f']) }),
        /families of a table must be an object such as \{ f: \{\} \}, got an array/,
      ],
      'no options of a table': [
        () => db.createTable('u', as(undefined)),
        /such as \{ families: \{ f: \{\} \} \}, got undefined/,
      ],
      'a Date': [() => put(new Date()), /the value of 'f:d' .*got a Date; encodings/],
      'a number': [() => put(5), /the value of 'f:d' .*got 5/],
      'an object': [() => put({ a: 1 }), /the value of 'f:d' .*got an object/],
      'a promise': [() => put(Promise.resolve('v')), /'f:d' .*got a Promise; is an await missing/],
      'a number with a time': [() => put({ value: 5, timestamp: 1 }), /the value of 'f:d' .*got 5/],
      'a Date in a list of cells': [
        () => table.put({ row: 'r', cells: [{ column: 'f:d', value: as(new Date()) }] }),
        /the value of 'f:d' .*got a Date/,
      ],
      'get of a row': [() => table.get(as('ada')), /such as \{ row: 'r' \}, got "ada"/],
      'put of a row': [() => table.put(as('ada')), /such as \{ row: 'r', cells: .*got "ada"/],
      'delete of a row': [() => table.delete(as('ada')), /such as \{ row: 'r' \}, got "ada"/],
      'one column': [
        () => table.get({ row: 'r', columns: as('f:d') }),
        /columns must be an array such as \['f:q', 'g'\], got "f:d"/,
      ],
      start: [() => scan({ start: 'a' }), /unknown option 'start'.*did you mean 'startRow'/],
      end: [() => scan({ end: 'a' }), /unknown option 'end'.*did you mean 'stopRow'/],
      gte: [() => scan({ gte: 'a' }), /unknown option 'gte'.*did you mean 'startRow'/],
      maxVersions: [() => scan({ maxVersions: 2 }), /did you mean 'versions'/],
      key: [() => table.get(as({ key: 'a' })), /did you mean 'row'/],
      'a text as filter': [() => scan({ filter: "PrefixFilter('a')" }), /parseFilter makes one/],
      'a page of a typed table': [
        async () => readPage(as(await days.open(db)), { limit: 1 }),
        /readPage needs a Table; .* table\.page\(\)/,
      ],
      'a page of a name': [() => readPage(as('t'), { limit: 1 }), /table of a page .*got "t"/],
    }
    await table.put({ row: 'a', cells: { 'f:d': '1' } })
    await table.put({ row: 'b', cells: { 'f:d': '1' } })
    for (const [call, [run, message]] of Object.entries(calls)) {
      await t.rejects(run(), { code: ErrorCode.invalidArgument, message }, call)
    }
  })
}

void t.test('an error shows the members that it has', (t) => {
  const plain = new CellarError(ErrorCode.closed, 'the table is closed')
  t.strictSame(Object.keys(plain).sort(), ['code', 'name'])
  t.notMatch(inspect(plain), /undefined|Symbol/)
  const detail = { file: '/f', offset: 1 }
  const corrupt = new CellarError(ErrorCode.corruption, 'bad', { corruption: detail })
  t.strictSame(corrupt.corruption, detail)
  t.match(inspect(corrupt), /corruption: \{ file: '\/f', offset: 1 \}/)
  t.ok(corrupt instanceof CellarError)
  t.end()
})
