/** The adapter to ZooKeeper against a server that answers as a test wants; and stored headers. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openMetadataStore } from '../../../../src/metastore-pulsar.js'
import {
  cellOfValue,
  decodeRecord,
  recordWith,
  type RecordHeader,
  type StoredRecord,
} from '../../../../src/metastore/pulsar/record-format.js'
import { JuteReader, JuteWriter } from '../../../../src/metastore/pulsar/zookeeper/jute.js'
import { OpCode, ZkError } from '../../../../src/metastore/pulsar/zookeeper/protocol.js'

/** Answers a request with an error number; 0 = done. */
type Answer = (code: number, socket: Socket) => number

/** A server with one session, whose requests succeed without a body unless `answer` says so. */
async function serve(t: Test, answer: Answer): Promise<string> {
  const server = createServer((socket) => {
    let isReady = false
    let received = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const end = 4 + received.readInt32BE(0)
        const reader = new JuteReader(received.subarray(4, end))
        received = received.subarray(end)
        const writer = new JuteWriter()
        if (!isReady) {
          isReady = true
          socket.write(writer.int(0).int(10_000).long(7n).buffer(Buffer.alloc(16)).frame())
          continue
        }
        const xid = reader.int()
        const error = answer(reader.int(), socket)
        if (!socket.destroyed) socket.write(writer.int(xid).long(1n).int(error).frame())
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return `zk:127.0.0.1:${(server.address() as AddressInfo).port}`
}

void t.test('a watch that the server could not set is set again, unseen', async (t) => {
  let watches = 0
  const url = await serve(t, (code) => {
    if (code !== OpCode.addWatch) return 0
    return ++watches === 1 ? ZkError.connectionLoss : 0
  })
  const store = await openMetadataStore(url, { sessionTimeoutMilliseconds: 5_000 })
  t.equal(watches, 2, 'two attempts')
  t.equal(store.isConnected, true, 'the caller sees a connection')
  await store.close()
})

void t.test('a connection that is lost while the watch is set is made again', async (t) => {
  let watches = 0
  const url = await serve(t, (code, socket) => {
    if (code === OpCode.addWatch && ++watches === 1) socket.destroy()
    return 0
  })
  const store = await openMetadataStore(url, { sessionTimeoutMilliseconds: 5_000 })
  t.equal(watches, 2, 'two attempts')
  await store.close()
})

void t.test('a watch that the server refuses is an error of the open', async (t) => {
  const url = await serve(t, (code) => (code === OpCode.addWatch ? -6 : 0))
  const opening = openMetadataStore(url, { sessionTimeoutMilliseconds: 5_000 })
  await t.rejects(opening, { code: 'ERR_METADATA_STORE_FAILURE' })
})

function headerOf(record: StoredRecord): RecordHeader {
  const { version, sequence, creationSequence, created, modified, session, indexes } = record
  return { version, sequence, creationSequence, created, modified, session, indexes }
}

void t.test('the header of a record round-trips', async (t) => {
  const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER })
  const text = fc.string({ unit: 'grapheme', maxLength: 20 })
  const record = fc.record({
    version: natural,
    sequence: natural,
    creationSequence: natural,
    created: natural,
    modified: natural,
    session: natural,
    indexes: fc.array(fc.tuple(text, text)).map((pairs) => pairs.flat()),
    value: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  })
  fc.assert(
    fc.property(record, (given) => {
      const { value, ...header } = given
      const { cell } = recordWith(header, cellOfValue(value))
      const found = decodeRecord(cell)
      t.same({ ...headerOf(found), value: found.value }, given)
    }),
    { numRuns: 100 },
  )
  const { cell: bytes } = recordWith(fc.sample(record, 1)[0], cellOfValue('value'))
  for (const damaged of [Buffer.alloc(0), bytes.subarray(0, 20), Buffer.alloc(80, 9)]) {
    t.throws(() => decodeRecord(damaged), { code: 'ERR_METADATA_STORE_FAILURE' })
  }
})
