/**
 * The adapter to ZooKeeper against a server that answers as a test wants; and stored headers.
 *
 * @runs alone
 */
import fc from 'fast-check'
import t from 'tap'
import { openMetadataStore } from '../../../../../src/entries/metastore-pulsar.js'
import {
  cellOfValue,
  decodeRecord,
  recordWith,
  type RecordHeader,
  type StoredRecord,
} from '../../../../../src/systems/metastore/pulsar/store/record-format.js'
import { OpCode, ZkError } from '../../../../../src/systems/metastore/zookeeper/protocol.js'
import { FakeZooKeeper } from '../../../../helpers/metastore/fake-zookeeper.js'

const sessionTimeoutMilliseconds = 10_000

void t.test('a watch that the server could not set is set again, unseen', async (t) => {
  const server = await FakeZooKeeper.start(t, sessionTimeoutMilliseconds)
  let watches = 0
  server.answer = ({ code }) => {
    if (code !== OpCode.addWatch) return 0
    return ++watches === 1 ? ZkError.connectionLoss : 0
  }
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds })
  t.equal(watches, 2, 'two attempts')
  t.equal(store.isConnected, true, 'the caller sees a connection')
  await store.close()
})

void t.test('a connection that is lost while the watch is set is made again', async (t) => {
  const server = await FakeZooKeeper.start(t, sessionTimeoutMilliseconds)
  let watches = 0
  server.answer = ({ code }) => {
    if (code === OpCode.addWatch && ++watches === 1) {
      server.leave()
      server.comeBack()
    }
    return 0
  }
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds })
  t.equal(watches, 2, 'two attempts')
  await store.close()
})

void t.test('a watch that the server refuses is an error of the open', async (t) => {
  const server = await FakeZooKeeper.start(t, sessionTimeoutMilliseconds)
  server.answer = ({ code }) => (code === OpCode.addWatch ? -6 : 0)
  const opening = openMetadataStore(server.url, { sessionTimeoutMilliseconds })
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
