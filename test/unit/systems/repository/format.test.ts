/** The bytes of FORMAT.md, and what hostile bytes do. */
import t from 'tap'
import { ByteReader } from '../../../../src/systems/bytes/byte-reader.js'
import { ByteWriter } from '../../../../src/systems/bytes/byte-writer.js'
import { Link } from '../../../../src/systems/repository/link.js'
import { RecordId } from '../../../../src/systems/repository/record-id.js'
import {
  decodeHead,
  decodeVersion,
  encodeHead,
  encodeVersion,
  type RecordState,
} from '../../../../src/systems/repository/records/record-state.js'
import {
  decodeMetadata,
  encodeMetadata,
} from '../../../../src/systems/repository/records/metadata.js'
import { SchemaCache } from '../../../../src/systems/repository/schema/schema-cache.js'
import { ValueTypes } from '../../../../src/systems/repository/values/value-types.js'
import { seededRandom } from '../../../../src/base/random.js'

const types = new ValueTypes()
const schema = new SchemaCache()
schema.putField({
  id: 'f',
  ordinal: 3,
  name: '{n}f',
  valueType: 'BOOLEAN',
  type: types.parse('BOOLEAN'),
  scope: 'NON_VERSIONED',
})
schema.putRecordType([
  {
    id: 'r',
    ordinal: 5,
    name: '{n}r',
    version: 1,
    fields: [{ field: 'f', mandatory: false }],
    supertypes: [],
    isStrict: false,
  },
])

function encode(type: string, value: unknown): Buffer {
  const writer = new ByteWriter(1)
  types.parse(type).write(writer, value, { schema, holders: [] })
  return writer.finish()
}

function decode(type: string, bytes: Buffer): unknown {
  const reader = new ByteReader(bytes, 'a value')
  const value = types.parse(type).read(reader, schema)
  reader.finish()
  return value
}

const blob = { key: Buffer.of(7), mediaType: 'a/b', size: 3 }
const golden: [string, unknown, string][] = [
  ['STRING', 'é', '0102c3a9'],
  ['URI', 'a/b', '0103612f62'],
  ['INTEGER', -2, '01fffffffe'],
  ['LONG', 258n, '010000000000000102'],
  ['DOUBLE', 1.5, '013ff8000000000000'],
  ['DECIMAL', '1.50', '0104312e3530'],
  ['BOOLEAN', true, '0101'],
  ['DATE', '1970-01-03', '0100000002'],
  ['DATETIME', new Date(258), '010000000000000102'],
  ['BYTEARRAY', Buffer.of(255), '0101ff'],
  ['LINK', Link.parse('.'), '01012e'],
  ['BLOB', blob, '01010703612f620300'],
  ['BLOB', { ...blob, name: 'n' }, '01010703612f620301016e'],
  ['LIST<STRING>', ['a'], '0101010161'],
  ['LIST<PATH<BOOLEAN>>', [[true], []], '01020101010101' + '00'],
  ['RECORD', { type: '{n}r', fields: { '{n}f': true } }, '01050103020101'],
]

void t.test('values have the bytes of FORMAT.md, both ways', (t) => {
  for (const [type, value, hex] of golden) {
    t.equal(encode(type, value).toString('hex'), hex, type)
    t.strictSame(decode(type, Buffer.from(hex, 'hex')), value, type)
    const parsed = types.parse(type)
    if (type.startsWith('RECORD')) continue
    t.strictSame(parsed.fromJson(parsed.toJson(value)), value, `${type} in JSON`)
  }
  t.equal(RecordId.parse('USER.AB.lang=en').bytes.toString('hex'), '00414200046c616e6702656e')
  t.end()
})

void t.test('values at the edges survive', (t) => {
  const values: [string, unknown[]][] = [
    ['INTEGER', [0, 2 ** 31 - 1, -(2 ** 31)]],
    ['LONG', [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]],
    ['DOUBLE', [NaN, Infinity, -Infinity, -0, 5e-324]],
    ['DECIMAL', ['0', '-0.00', '12345678901234567890123456.789']],
    ['DATE', ['0000-01-01', '9999-12-31', '2024-02-29']],
    ['DATETIME', [new Date(-8.64e15), new Date(8.64e15)]],
    ['STRING', ['', '\0', '😀'.repeat(300)]],
  ]
  for (const [type, list] of values) {
    const parsed = types.parse(type)
    for (const value of list) {
      t.strictSame(decode(type, encode(type, value)), value, `${type} ${String(value)}`)
      const json: unknown = JSON.parse(JSON.stringify(parsed.toJson(value)))
      t.ok(Object.is(parsed.fromJson(json), value) || typeof value === 'object', `${type} in JSON`)
    }
  }
  const refused: [string, unknown][] = [
    ['INTEGER', 2 ** 31],
    ['INTEGER', 1.5],
    ['LONG', 2n ** 63n],
    ['LONG', 2 ** 53],
    ['DECIMAL', '1e5'],
    ['DECIMAL', '01'],
    ['DATE', '2023-02-29'],
    ['DATETIME', new Date(NaN)],
    ['STRING', '\ud800'],
    ['BOOLEAN', 1],
    ['LIST<STRING>', 'a'],
    ['LIST<STRING>', [null]],
    ['URI', 'a b'],
    ['LINK', 'USER.a'],
    ['BLOB', {}],
  ]
  for (const [type, value] of refused) {
    t.throws(() => encode(type, value), { code: 'ERR_INVALID_RECORD' }, `${type} ${String(value)}`)
  }
  t.end()
})

void t.test('bytes in the order of values', (t) => {
  const ascending: [string, unknown[]][] = [
    ['INTEGER', [-(2 ** 31), -1, 0, 1, 2 ** 31 - 1]],
    ['LONG', [-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n]],
    ['DOUBLE', [-Infinity, -1.5, -0, 0, 5e-324, 1, Infinity, NaN]],
    ['DECIMAL', ['-100', '-99.5', '-9', '-0.1', '0', '0.09', '0.1', '9', '9.9', '10', '100']],
    ['BOOLEAN', [false, true]],
    ['DATE', ['0000-01-01', '1969-12-31', '1970-01-01', '9999-12-31']],
    ['DATETIME', [new Date(-5), new Date(0), new Date(5)]],
    ['STRING', ['', 'a', 'aa', 'b', 'é', '😀']],
  ]
  for (const [type, values] of ascending) {
    const { compare, orderedBytes } = types.parse(type)
    for (let i = 1; i < values.length; i++) {
      const [a, b] = [values[i - 1], values[i]] as [never, never]
      t.ok(compare!(a, b) < 0, `${type} ${String(a)} < ${String(b)}`)
      t.ok(Buffer.compare(orderedBytes!(a), orderedBytes!(b)) < 0, 'in bytes')
    }
  }
  t.equal(types.parse('DECIMAL').compare!('1.0' as never, '1.00' as never), 0)
  t.end()
})

const cell = (hex: string, metadata?: Buffer): { value: Buffer; metadata: Buffer | undefined } => {
  return { value: Buffer.from(hex, 'hex'), metadata }
}
const version = {
  created: 6,
  modified: 9,
  removed: new Set([7]),
  versionedType: { ordinal: 5, version: 1 },
  mutableType: undefined,
  fields: new Map([[4, cell('0100')]]),
}
const named = RecordId.parse('USER.a')
const state: RecordState = {
  occ: 300,
  isDeleted: false,
  isKeptEmpty: false,
  version: 2,
  first: 1,
  last: 2,
  autosave: 0,
  created: 7,
  modified: 8,
  type: { ordinal: 5, version: 1 },
  fields: new Map([[3, cell('0101', encodeMetadata(new Map([['k', true]])))]]),
  latest: version,
}

void t.test('a head and a version have the bytes of FORMAT.md', (t) => {
  const head = encodeHead(state)
  const hex =
    '0200' + 'ac02' + '02010200' + '0708' + '0501' + '01' + '03' + '020101' + '05' + '01016b0401'
  t.equal(head.toString('hex'), `${hex}060905010000` + '0107' + '0104020100' + '00')
  t.strictSame(decodeHead(head, named), state)
  const stored = encodeVersion(version)
  t.equal(stored.toString('hex'), '02060905010000' + '0107' + '0104020100' + '00')
  t.strictSame(decodeVersion(stored, named), version)
  t.end()
})

void t.test('damaged bytes are corruption, whatever the damage', (t) => {
  const seed = 16
  const random = seededRandom(seed)
  t.comment(`seed ${seed}`)
  const metadata = encodeMetadata(
    new Map<string, string | number>([
      ['a', 'text'],
      ['b', 1],
    ]),
  )
  const reads: [Buffer, (bytes: Buffer) => unknown][] = [
    [encodeHead(state), (bytes) => decodeHead(bytes, named)],
    [encodeVersion(version), (bytes) => decodeVersion(bytes, named)],
    [metadata, decodeMetadata],
    ...golden.map(([type, value]): [Buffer, (bytes: Buffer) => unknown] => {
      return [encode(type, value), (bytes) => decode(type, bytes)]
    }),
  ]
  let refused = 0
  const codes = new Set<unknown>()
  for (const [bytes, read] of reads) {
    for (let round = 0; round < 200; round++) {
      const damaged = Buffer.from(bytes)
      damaged[Math.floor(random() * damaged.length)] ^= 1 + Math.floor(random() * 255)
      const cut = damaged.subarray(0, Math.ceil(random() * damaged.length))
      try {
        read(round % 2 === 0 ? damaged : cut)
      } catch (error) {
        refused++
        codes.add((error as { code?: string }).code)
      }
    }
  }
  t.ok(refused > 1000, `${refused} were refused`)
  t.strictSame([...codes], ['ERR_CORRUPTION'])
  t.end()
})
