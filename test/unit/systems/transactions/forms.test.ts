/** Transactions as bytes and as JSON: the golden vector, round trips, and bytes that are none. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import {
  decodeTransaction,
  encodeTransaction,
  Transaction,
  transactionFromJson,
  transactionToJson,
} from '../../../../src/systems/transactions/index.js'

const golden =
  '0a000100000000000000030a000200000000000000030f00030a000000000f00040a00000001' +
  '00000000000000020a000500000000000000020800060000000' +
  '10a000700000000000000030f00080a000000000800090000000100'

void t.test('the golden vector', (t) => {
  const transaction = new Transaction({
    transactionId: 3n,
    readPointer: 3n,
    inProgress: [2n],
    firstShortInProgress: 2n,
  })
  t.equal(encodeTransaction(transaction).toString('hex'), golden)
  t.strictSame(decodeTransaction(Buffer.from(golden, 'hex')), transaction)
  t.end()
})

void t.test('numbers around 2^53 and of today survive bytes and JSON', (t) => {
  const transaction = new Transaction({
    transactionId: 1_489_707_864_000_000_001n,
    readPointer: 2n ** 53n + 1n,
    invalids: [2n ** 53n + 1n, 1_489_707_864_000_000_003n],
    inProgress: [1_489_707_863_999_999_999n],
    type: 'LONG',
    checkpointWritePointers: [1_489_707_864_000_000_007n],
    writePointer: 1_489_707_864_000_000_007n,
    visibilityLevel: 'SNAPSHOT_EXCLUDE_CURRENT',
  })
  const decoded = decodeTransaction(encodeTransaction(transaction))
  t.strictSame(transactionToJson(decoded), transactionToJson(transaction))
  const json = JSON.parse(JSON.stringify(transactionToJson(transaction))) as unknown
  t.strictSame(transactionToJson(transactionFromJson(json)), transactionToJson(transaction))
  t.end()
})

void t.test('bytes that are no transaction are refused, and cost no memory', (t) => {
  const bytes = Buffer.from(golden, 'hex')
  const code = { code: 'ERR_INVALID_ARGUMENT' }
  for (let length = 0; length < bytes.length; length++) {
    t.throws(() => decodeTransaction(bytes.subarray(0, length)), code)
  }
  const huge = Buffer.from(bytes)
  huge.writeInt32BE(0x7fff_ffff, 26)
  t.throws(() => decodeTransaction(huge), code)
  const random = seededRandom(7)
  for (let i = 0; i < 2000; i++) {
    const damaged = Buffer.from(bytes)
    damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256)
    try {
      decodeTransaction(damaged)
    } catch (error) {
      if ((error as { code?: string }).code !== code.code) t.fail(String(error))
    }
  }
  for (const json of [null, 5, [], {}, { transactionId: 1.5 }, { transactionId: '1' }]) {
    t.throws(() => transactionFromJson(json), code)
  }
  t.end()
})
