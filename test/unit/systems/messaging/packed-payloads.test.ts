/** Packed payloads: the worked example, cuts and joins, malformed values, rows that are cut. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  decodeMessageId,
  MessagingService,
  type Message,
} from '../../../../src/systems/messaging/index.js'
import {
  PackedPayloads,
  PayloadPacker,
} from '../../../../src/systems/messaging/store/packed-payloads.js'
import { Transaction } from '../../../../src/systems/transactions/index.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const example = '000000030000000200000002000000046d306d32'

function pack(texts: readonly (string | Uint8Array)[]): PackedPayloads {
  const packer = new PayloadPacker()
  for (const text of texts) packer.add(text)
  return packer.take()
}

const texts = (payloads: PackedPayloads): string[] =>
  payloads.copies(0, payloads.count).map((payload) => payload.toString())

void t.test('the worked example', (t) => {
  const packed = pack(['m0', '', 'm2'])
  t.equal(packed.value.toString('hex'), example)
  t.strictSame(texts(PackedPayloads.stored(Buffer.from(example, 'hex'))), ['m0', '', 'm2'])
  const single = pack(['alone'])
  t.equal(single.isPacked, false)
  t.equal(single.value.toString(), 'alone')
  t.end()
})

void t.test('joins and cuts keep payloads and their order', (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  for (let round = 0; round < 200; round++) {
    const wanted: string[] = []
    const parts = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      const own = Array.from({ length: 1 + Math.floor(random() * 5) }, () => {
        return 'é'.repeat(Math.floor(random() * 4)) + String(wanted.length)
      })
      wanted.push(...own)
      return pack(own)
    })
    const joined = PackedPayloads.join(parts)
    t.strictSame(texts(joined), wanted)
    t.equal(joined.bytes, Buffer.byteLength(wanted.join('')))
    const from = Math.floor(random() * wanted.length)
    const to = from + 1 + Math.floor(random() * (wanted.length - from))
    const cut = joined.slice(from, to)
    t.strictSame(texts(PackedPayloads.stored(cut.value)), wanted.slice(from, to))
  }
  t.end()
})

void t.test('a value of another form is corruption', (t) => {
  const bytes = Buffer.from(example, 'hex')
  const values = ['', '000000', '00000000', '00000001', '000000010000000161ff', 'ffffffff00']
  for (const value of values.map((each) => Buffer.from(each, 'hex'))) {
    t.throws(() => PackedPayloads.stored(value), { code: 'ERR_CORRUPTION' })
  }
  for (let length = 0; length < bytes.length; length++) {
    t.throws(() => PackedPayloads.stored(bytes.subarray(0, length)), { code: 'ERR_CORRUPTION' })
  }
  const descending = Buffer.from('000000030000000200000001000000046d306d32', 'hex')
  t.throws(() => PackedPayloads.stored(descending), { code: 'ERR_CORRUPTION' })
  t.end()
})

void t.test('a rollback that ends inside of a row cuts it, wherever it is read from', async (t) => {
  const topic = { namespace: 'n', topic: 't' }
  const transaction = new Transaction({ transactionId: 9n, readPointer: 9n })
  for (const cacheBytesMax of [0, 1 << 20]) {
    for (const [from, to] of [
      [0, 9],
      [0, 0],
      [9, 9],
      [3, 5],
      [0, 4],
      [4, 9],
    ]) {
      const clock = new ManualClock(1000)
      const fileSystem = new MemoryFileSystem()
      const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
      const lifetimeMilliseconds = Number.MAX_SAFE_INTEGER
      const options = { clock, cacheBytesMax, lifetimeMilliseconds }
      const service = await MessagingService.open(database, options)
      await service.createTopic(topic)
      const messages = Array.from({ length: 10 }, (_, i) => `m${i}`)
      const request = { messages, transactionWritePointer: 5n }
      const { rollbackRange } = (await service.publish(topic, request))!
      const range = { ...rollbackRange, startSequenceId: from, endSequenceId: to }
      await service.rollback(topic, { transactionWritePointer: 5n, rollbackRange: range })
      const all = await service.poll(topic)
      const shown = (found: readonly Message[]): string[] =>
        found.map(({ id, payload }) => `${decodeMessageId(id).sequenceId} ${payload.toString()}`)
      t.strictSame(
        shown(all),
        messages.map((text, i) => `${i} ${text}`),
      )
      const seen = await service.poll(topic, { transaction })
      const wanted = messages.flatMap((text, i) => (i < from || i > to ? [`${i} ${text}`] : []))
      t.strictSame(shown(seen), wanted, `${from} to ${to}`)
      for (const [i, { id }] of all.entries()) {
        const rest = await service.poll(topic, { from: id, inclusive: false, limit: 3 })
        t.strictSame(shown(rest), shown(all).slice(i + 1, i + 4))
      }
      await service.rollback(topic, { transactionWritePointer: 5n, rollbackRange })
      t.strictSame(await service.poll(topic, { transaction }), [], 'the parts as a whole')
      await service.close()
      await database.close()
    }
  }
})

void t.test('a request that is refused fails nobody else in its batch', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const service = await MessagingService.open(database)
  const topic = { namespace: 'n', topic: 't' }
  await service.createTopic(topic)
  const pointer = BigInt(Date.now()) * 1_000_000n
  const mutations = [{ table: 'none', row: 'r', mutations: [{ put: { cells: { 'f:q': '' } } }] }]
  const all = await Promise.allSettled([
    service.publish(topic, { messages: ['a'] }),
    service.publishAtCommit(pointer, [{ id: topic, messages: ['b'] }], mutations),
    service.publish(topic, { messages: ['c'] }),
  ])
  t.strictSame(
    all.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const found = await service.poll(topic)
  t.strictSame(
    found.map(({ payload }) => payload.toString()),
    ['a', 'c'],
  )
  await service.close()
  await database.close()
})
