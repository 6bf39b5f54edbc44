/** Messages of the Thrift protocol: cut out of bytes as they arrive, written and read. */
import t from 'tap'
import { seededRandom } from '../../../src/base/random.js'
import { Codec } from '../../../src/hbase/thrift/wire/codec.js'
import { BufferedReader, FramedReader } from '../../../src/hbase/thrift/wire/message-reader.js'
import { methods } from '../../../src/hbase/thrift/wire/methods.js'
import { loadThrift } from '../../../src/hbase/thrift/wire/package.js'
import { failsWith } from '../../suites/kit.js'

const codec = new Codec(loadThrift())
const bytesMax = 1024 * 1024

/** Calls with every kind of value: maps, lists, structs and numbers. */
const calls = [
  codec.encode(methods.listNamespaces, {}, 1),
  codec.encode(
    methods.put,
    {
      table: 't',
      put: {
        row: 'r',
        columnValues: [{ family: 'f', qualifier: 'q', value: 'v', timestamp: 2n ** 60n, type: 4 }],
        attributes: new Map([['_ttl', Buffer.alloc(8)]]),
        durability: 1,
      },
    },
    2,
  ),
  codec.encode(
    methods.openScanner,
    {
      table: 't',
      scan: {
        startRow: Buffer.alloc(3000, 7),
        columns: [{ family: 'f' }, { family: 'g', qualifier: '' }],
        familyTimeRanges: new Map([['f', { minStamp: 0, maxStamp: 5 }]]),
        reversed: true,
      },
    },
    3,
  ),
]

void t.test('messages come out as they were, however their bytes arrive', async (t) => {
  const random = seededRandom(5)
  for (const isFramed of [true, false]) {
    const reader = isFramed ? new FramedReader(bytesMax) : new BufferedReader(bytesMax)
    for (let round = 0; round < 60; round++) {
      const call = calls[round % calls.length]
      const bytes = isFramed ? call : Codec.unframed(call)
      const piece = round < 3 ? 1 : 1 + Math.floor(random() * 300)
      let found: Buffer | undefined
      for (let at = 0; at < bytes.length; at += piece) {
        if (found !== undefined) t.fail('a message before its end')
        found = reader.push(Buffer.from(bytes.subarray(at, at + piece)))
      }
      const isEqual = found?.equals(Codec.unframed(call))
      if (isEqual !== true) t.fail(`round ${round}, framed ${isFramed}, pieces of ${piece}`)
    }
  }
  t.pass('120 messages')
})

void t.test('bytes that are no message are refused', async (t) => {
  const wrong = [
    Buffer.from('HTTP/1.1 400 Bad Request'),
    Buffer.from('8001000200000003616263000000010b0001ffffffff', 'hex'),
    Buffer.from('80010002000000036162630000000163', 'hex'),
    Buffer.concat([Codec.unframed(calls[0]), Buffer.from([1])]),
  ]
  for (const bytes of wrong) {
    await failsWith('ERR_UNAVAILABLE', () => {
      const reader = new BufferedReader(bytesMax)
      if (reader.push(bytes) === undefined) reader.push(Buffer.alloc(3, 99))
    })
  }
  await failsWith('ERR_UNAVAILABLE', () => new FramedReader(100).push(Buffer.alloc(8, 9)))
  await failsWith('ERR_UNAVAILABLE', () => new BufferedReader(10).push(Buffer.alloc(11)))
  t.pass('each with its error')
})

void t.test('damaged answers end in an error or in other values, never in a loop', async (t) => {
  const random = seededRandom(9)
  const whole = Codec.unframed(calls[1])
  for (let round = 0; round < 2000; round++) {
    const bytes = Buffer.from(whole)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
    const end = Math.floor(random() * bytes.length) + 1
    try {
      new BufferedReader(bytesMax).push(bytes.subarray(0, end))
      codec.decode(methods.get, 2, bytes)
    } catch (error) {
      t.match(error, { code: 'ERR_UNAVAILABLE' })
    }
  }
})
