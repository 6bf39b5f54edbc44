/** Endpoints: the shipped aggregates and those of coprocessors. */
import t from 'tap'
import { Database, MemoryFileSystem, type EmbeddedTable } from '../../../../src/entries/index.js'

const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

async function open(values: Readonly<Record<string, Buffer | string>>): Promise<EmbeddedTable> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: { versions: 2 }, g: {} } })
  for (const [row, value] of Object.entries(values)) {
    await table.put({ row, cells: { 'f:n': value, 'f:other': 'x', 'g:n': long(1000n) } })
  }
  return table
}

void t.test('aggregates fold longs as HBase does', async (t) => {
  const table = await open({ a: long(5n), b: long(-7n), c: 'no long', d: long(20n), e: '12345678' })
  const columns = ['f:n']
  t.equal(await table.callEndpoint('rowCount'), 5)
  t.equal(await table.callEndpoint('rowCount', { startRow: 'b', stopRow: 'd' }), 2)
  t.equal(await table.callEndpoint('rowCount', { columns: ['f:absent'] }), 0)
  const request = { columns, stopRow: 'e' }
  t.equal(await table.callEndpoint('sum', request), 18n, 'values of other lengths are passed over')
  t.equal(await table.callEndpoint('min', request), -7n)
  t.equal(await table.callEndpoint('max', request), 20n)
  t.equal(await table.callEndpoint('max', { columns }), Buffer.from('12345678').readBigInt64BE())
  t.equal(await table.callEndpoint('sum', { columns, startRow: 'x' }), undefined)
  t.equal(await table.callEndpoint('min', { columns: ['f:other'] }), undefined)
})

void t.test('sums wrap at 64 bits and count every version that the scan returns', async (t) => {
  const most = 2n ** 63n - 1n
  const table = await open({ a: long(most), b: long(1n) })
  t.equal(await table.callEndpoint('sum', { columns: ['f:n'] }), -(2n ** 63n))
  await table.put({ row: 'b', cells: { 'f:n': long(10n) } })
  const scan = { columns: ['f:n'], startRow: 'b' }
  t.equal(await table.callEndpoint('sum', scan), 10n)
  t.equal(await table.callEndpoint('sum', { ...scan, versions: 'all' }), 11n)
})

void t.test('wrong requests are refused', async (t) => {
  const table = await open({})
  const code = 'ERR_INVALID_ARGUMENT'
  await t.rejects(table.callEndpoint('absent'), { code })
  await t.rejects(table.callEndpoint('sum'), { code }, 'no family')
  await t.rejects(table.callEndpoint('sum', { columns: ['f:n', 'g:n'] }), { code }, 'two families')
  await t.rejects(table.callEndpoint('rowCount', { startRow: 'b', stopRow: 'b' }), { code })
  await t.rejects(table.callEndpoint('rowCount', 7), { code })
})

void t.test('a coprocessor brings endpoints and may replace the shipped ones', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  const registration = await database.registerCoprocessor({
    name: 'mine',
    endpoints: {
      put: async (own, request) => {
        await own.put({ row: String(request), cells: { 'f:a': '1' } })
        return 'done'
      },
      rowCount: () => 'many',
      fail: () => {
        throw new Error('on purpose')
      },
    },
  })
  t.equal(await table.callEndpoint('put', 'r'), 'done')
  t.equal(await table.callEndpoint('rowCount'), 'many')
  await t.rejects(table.callEndpoint('fail'), { code: 'ERR_COPROCESSOR', message: /on purpose/ })
  registration.remove()
  t.equal(await table.callEndpoint('rowCount'), 1)
})
