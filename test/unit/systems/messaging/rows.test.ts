/** Names, rows and metadata of the messaging tables. Numbers are those of the specification. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
  encodePointer,
} from '../../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow, encodePayloadRow } from '../../../conformance/messaging/rows.js'
import { isOlderGeneration } from '../../../../src/systems/messaging/prune-job/prune-hook.js'
import {
  encodeTopicProperties,
  parseTopicMetadata,
  parseTopicPrefix,
  topicPrefix,
} from '../../../../src/systems/messaging/topics/topic.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)
const id = { namespace: 'default', topic: 't1' }
const invalid = { code: 'ERR_INVALID_ARGUMENT' }

void t.test('1.6 a message row has the bytes of the worked example', (t) => {
  const row = { id, generation: 1, publishTimestamp: 1489707864000, sequenceId: 40000 }
  const hex = '64656661756c743a74313a000000010000015ad9820fc09c40'
  t.equal(encodeMessageRow(row).toString('hex'), hex)
  t.strictSame(decodeMessageRow(Buffer.from(hex, 'hex')), row)
  t.end()
})

void t.test('1.6 a payload row has the bytes of the worked example', (t) => {
  const row = {
    id,
    generation: 2,
    writePointer: 1489707864000000000n,
    writeTimestamp: 1489707863000,
    sequenceId: 65535,
  }
  const hex = '64656661756c743a74313a0000000214ac8168d4d370000000015ad9820bd8ffff'
  t.equal(encodePayloadRow(row).toString('hex'), hex)
  t.strictSame(decodePayloadRow(Buffer.from(hex, 'hex')), row)
  t.end()
})

void t.test('1.6 a rolled back pointer has the bytes of the worked example', (t) => {
  t.equal(encodePointer(-1489707864000000000n).toString('hex'), 'eb537e972b2c9000')
  t.equal(decodePointer(Buffer.from('eb537e972b2c9000', 'hex')), -1489707864000000000n)
  t.end()
})

void t.test(
  'rows and pointers survive a round trip, and their order is that of the numbers',
  (t) => {
    const random = seededRandom(seed)
    const whole = (bound: number): number => Math.floor(random() * bound)
    const rows = Array.from({ length: 300 }, () => {
      return {
        id: { namespace: 'n', topic: ['a', 'a-b', 'ab'][whole(3)] },
        generation: 1 + whole(random() < 0.5 ? 3 : 0x7fff_ffff),
        publishTimestamp: whole(random() < 0.5 ? 5 : Number.MAX_SAFE_INTEGER),
        sequenceId: whole(0x1_0000),
      }
    })
    for (const row of rows) t.strictSame(decodeMessageRow(encodeMessageRow(row)), row)
    const byNumbers = [...rows].sort(
      (a, b) =>
        Buffer.compare(topicPrefix(a.id), topicPrefix(b.id)) ||
        a.generation - b.generation ||
        a.publishTimestamp - b.publishTimestamp ||
        a.sequenceId - b.sequenceId,
    )
    const byBytes = rows.map(encodeMessageRow).sort((a, b) => Buffer.compare(a, b))
    t.strictSame(byBytes.map(decodeMessageRow), byNumbers, `seed ${seed}`)
    for (let i = 0; i < 300; i++) {
      const bits = (BigInt(whole(2 ** 32)) << 32n) | BigInt(whole(2 ** 32))
      const pointer = BigInt.asIntN(64, bits) || 1n
      t.equal(decodePointer(encodePointer(pointer)), pointer)
      const row = { id, generation: 1, writeTimestamp: 5, sequenceId: 6 }
      if (pointer < 0n) continue
      const written = { ...row, writePointer: pointer }
      t.strictSame(decodePayloadRow(encodePayloadRow(written)), written)
    }
    t.end()
  },
)

void t.test('145 prefixes of topics do not mix: a, a-b, ab; n and n1', (t) => {
  const text = (namespace: string, topic: string): string =>
    topicPrefix({ namespace, topic }).toString()
  const prefixes = [text('n', 'a'), text('n', 'a-b'), text('n', 'ab'), text('n1', 'a')]
  t.strictSame(prefixes, ['n:a:', 'n:a-b:', 'n:ab:', 'n1:a:'])
  for (const one of prefixes) {
    for (const other of prefixes) t.equal(one.startsWith(other), one === other)
  }
  t.end()
})

void t.test('146 sequence 40000 sorts behind 30000', (t) => {
  const row = { id, generation: 1, publishTimestamp: 7 }
  const low = encodeMessageRow({ ...row, sequenceId: 30000 })
  t.equal(Buffer.compare(low, encodeMessageRow({ ...row, sequenceId: 40000 })), -1)
  t.end()
})

void t.test('numbers and names out of range are refused', (t) => {
  const row = { id, generation: 1, publishTimestamp: 1, sequenceId: 0 }
  for (const generation of [0, -1, 1.5, 2 ** 31, NaN]) {
    t.throws(() => encodeMessageRow({ ...row, generation }))
  }
  for (const publishTimestamp of [-1, 0.5, 2 ** 53]) {
    t.throws(() => encodeMessageRow({ ...row, publishTimestamp }))
  }
  for (const sequenceId of [-1, 65536, 0.5]) {
    t.throws(() => encodeMessageRow({ ...row, sequenceId }))
  }
  const payload = { id, generation: 1, writeTimestamp: 1, sequenceId: 0 }
  for (const writePointer of [0n, -1n, 2n ** 63n]) {
    t.throws(() => encodePayloadRow({ ...payload, writePointer }))
  }
  t.throws(() => encodePointer(0n))
  const names: readonly (readonly [string, string])[] = [
    ['', 't'],
    ['n', ''],
    ['n-m', 't'],
    ['n', 't:u'],
    ['n', 't.u'],
    ['é', 't'],
    ['n\n', 't'],
  ]
  for (const [namespace, topic] of names) {
    t.throws(() => topicPrefix({ namespace, topic }), invalid)
  }
  t.end()
})

void t.test('bytes that are no rows decode to undefined', (t) => {
  const good = encodeMessageRow({ id, generation: 1, publishTimestamp: 1, sequenceId: 0 })
  const changed = (at: number, byte: number): Buffer => {
    const copy = Buffer.from(good)
    copy[at] = byte
    return copy
  }
  for (let length = 0; length < good.length; length++) {
    t.equal(decodeMessageRow(good.subarray(0, length)), undefined)
  }
  t.equal(decodeMessageRow(Buffer.concat([good, Buffer.of(0)])), undefined)
  t.equal(decodeMessageRow(changed(11, 0x80)), undefined, 'negative generation')
  t.equal(decodeMessageRow(changed(14, 0)), undefined, 'generation 0')
  t.equal(decodeMessageRow(changed(15, 0x80)), undefined, 'negative time')
  t.equal(decodeMessageRow(changed(0, 0x3a)), undefined, 'three colons')
  t.equal(decodePayloadRow(good), undefined)
  for (const text of ['', ':', '::', 'n:t', 'n:t:u:', ':t:', 'n::', 'n m:t:']) {
    t.equal(parseTopicPrefix(Buffer.from(text)), undefined, text)
  }
  t.strictSame(parseTopicPrefix(Buffer.from('n:t-1:')), { namespace: 'n', topic: 't-1' })
  t.end()
})

void t.test('10 older generations: (3,5), (3,-3); not (6,5), (6,6), (6,-5)', (t) => {
  const pairs = [
    [3, 5, true],
    [3, -3, true],
    [6, 5, false],
    [6, 6, false],
    [6, -5, false],
    [2, -3, true],
  ] as const
  for (const [data, current, older] of pairs) {
    t.equal(isOlderGeneration(data, current), older, `(${data},${current})`)
  }
  t.end()
})

void t.test('metadata is JSON with sorted keys, and its reserved properties are read', (t) => {
  const value = encodeTopicProperties({ ttl: '604800', color: 'blue', generation: '-3' })
  t.equal(value.toString(), '{"color":"blue","generation":"-3","ttl":"604800"}')
  const properties = { color: 'blue', generation: '-3', ttl: '604800' }
  const ended = { properties, generation: -3, ttlMilliseconds: 604_800_000 }
  t.strictSame(parseTopicMetadata(value), ended)
  const forever = { properties: { generation: '1' }, generation: 1, ttlMilliseconds: Infinity }
  t.strictSame(parseTopicMetadata(Buffer.from('{"generation":"1"}')), forever)
  t.end()
})

void t.test('metadata that cannot be understood makes a topic unknown', (t) => {
  const texts = [
    '',
    'null',
    '[]',
    '{',
    '"generation"',
    '{}',
    '{"ttl":"5"}',
    '{"generation":"0","ttl":"5"}',
    '{"generation":"x","ttl":"5"}',
    '{"generation":1,"ttl":"5"}',
    '{"generation":"2147483648"}',
    '{"generation":"1","ttl":"0"}',
    '{"generation":"1","ttl":"-5"}',
    '{"generation":"1","ttl":"xyz"}',
    '{"generation":"1","ttl":"1.5"}',
    '{"generation":"1","ttl":5}',
    '{"generation":"1","ttl":""}',
    '{"generation":"1","ttl":"9999999999999999"}',
  ]
  for (const text of texts) t.equal(parseTopicMetadata(Buffer.from(text)), undefined, text)
  t.end()
})
