/** Stored bytes that no service writes: corruption with the place, and foreign rows are skipped. */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import type { Database } from '../../../../src/entries/index.js'
import { MessagingService } from '../../../../src/systems/messaging/index.js'

const id = { namespace: 'n', topic: 't' }
const request = { messages: ['a', 'b'], producer: { id: 'p', sequence: 1 } }

async function filled(): Promise<Database> {
  const database = await openMemoryDatabase()
  const service = await MessagingService.open(database)
  await service.createTopic(id)
  await service.publish(id, request)
  await service.setPosition(id, 'c', await service.end(id))
  await service.close()
  return database
}

async function onlyRow(database: Database, table: string): Promise<Buffer> {
  const results = await database.table(table).scan().toArray()
  t.equal(results.length, 1, table)
  return Buffer.from(results[0].row!)
}

/** Opens the service over tables with one more cell, for one call. */
async function after<T>(
  given: { readonly table: string; readonly row: Buffer; readonly cells: Record<string, Buffer> },
  database: Database,
  call: (service: MessagingService) => Promise<T>,
): Promise<T> {
  const { table, row, cells } = given
  await database.table(table).put({ row, cells, timestamp: 1 })
  const service = await MessagingService.open(database)
  try {
    return await call(service)
  } finally {
    await service.close()
  }
}

void t.test('the clock', async (t) => {
  for (const bytes of ['', 'ff', '0000000000000000ff', 'ffffffffffffffff', '7fffffffffffffff']) {
    const database = await filled()
    const cells = { 'd:k': Buffer.from(bytes, 'hex') }
    const given = { table: 'tms.meta', row: Buffer.from('.clock'), cells }
    const expected = { code: 'ERR_CORRUPTION', message: /clock in the table 'tms.meta'/ }
    await t.rejects(
      after(given, database, async () => undefined),
      expected,
      bytes,
    )
    await database.close()
  }
})

void t.test('messages and their write pointers', async (t) => {
  const three = '00000003000000010000000200000003616263'
  const cases: [column: string, bytes: string][] = [
    ['d:b', three],
    ['d:t', ''],
    ['d:t', '0000000000000000'],
    ['d:t', '8000000000000000'],
    ['d:t', '000000000000000005'],
  ]
  for (const [column, bytes] of cases) {
    const database = await filled()
    const row = await onlyRow(database, 'tms.message')
    const given = { table: 'tms.message', row, cells: { [column]: Buffer.from(bytes, 'hex') } }
    const expected = {
      code: 'ERR_CORRUPTION',
      message: new RegExp(`row 0x${row.toString('hex')} of messages`),
    }
    await t.rejects(
      after(given, database, (service) => service.poll(id)),
      expected,
      `${column} ${bytes}`,
    )
    await database.close()
  }
})

void t.test('rows of another length are no messages', async (t) => {
  const database = await filled()
  const row = await onlyRow(database, 'tms.message')
  const cells = { 'd:p': Buffer.from('foreign') }
  for (const key of [row.subarray(0, -1), Buffer.concat([row.subarray(0, -2), Buffer.alloc(3)])]) {
    const given = { table: 'tms.message', row: key, cells }
    const messages = await after(given, database, (service) => service.poll(id))
    t.strictSame(
      messages.map(({ payload }) => payload.toString()),
      ['a', 'b'],
    )
  }
  await database.close()
})

void t.test('positions and outcomes of producers', async (t) => {
  for (const bytes of ['', 'ff', '00'.repeat(21)]) {
    const database = await filled()
    const value = Buffer.from(bytes, 'hex')
    const position = { table: 'tms.consumer', row: await onlyRow(database, 'tms.consumer') }
    const ofPosition = { code: 'ERR_CORRUPTION', message: /position of 'c' in n:t/ }
    await after({ ...position, cells: { 'd:i': value } }, database, async (service) => {
      await t.rejects(service.getPosition(id, 'c'), ofPosition)
      await t.rejects(service.listPositions(id), ofPosition)
    })
    if (bytes === '') continue
    const producer = { table: 'tms.producer', row: await onlyRow(database, 'tms.producer') }
    await after({ ...producer, cells: { 'd:q': value } }, database, async (service) => {
      const expected = { code: 'ERR_CORRUPTION', message: /producer 'p' in n:t/ }
      await t.rejects(service.publish(id, request), expected, 'it may be a repeated request')
    })
    await database.close()
  }
})
