/**
 * The forms of records, checked against `@bufbuild/protobuf`: the descriptors are built here from
 * the same field tables, everything else is the library's.
 *
 * @runs long
 */
import { createFileRegistry, create, fromBinary, toBinary, type Message } from '@bufbuild/protobuf'
import { fromText as readText, toText as writeText } from '@bufbuild/protobuf/txtpb'
import {
  DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type DescriptorProto,
} from '@bufbuild/protobuf/wkt'
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import * as records from '../../../../src/systems/metastore/hedwig/records.js'
import * as binary from '../../../../src/systems/metastore/records/binary-form.js'
import {
  isEnum,
  isMessage,
  type AnyMessageType,
  type FieldType,
  type MessageType,
} from '../../../../src/systems/metastore/records/message-type.js'
import { toText } from '../../../../src/systems/metastore/records/text-form.js'
import { fromText } from '../../../../src/systems/metastore/records/text-reader.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_105)
const types: readonly AnyMessageType[] = [
  records.hubInfoDataType,
  records.hubLoadDataType,
  records.ledgerRangesType,
  records.subscriptionDataType,
  records.managerMetaType,
]

const scalarTypes = {
  int32: Type.INT32,
  uint32: Type.UINT32,
  int64: Type.INT64,
  uint64: Type.UINT64,
  string: Type.STRING,
  bytes: Type.BYTES,
}
const labels = { required: Label.REQUIRED, optional: Label.OPTIONAL, repeated: Label.REPEATED }

function describe(type: AnyMessageType, into: Map<string, DescriptorProto>): void {
  const field = type.fields.map((one) => {
    const plain = { name: one.name, number: one.number, label: labels[one.label] }
    if (isEnum(one.type)) throw new Error('no enumerations here')
    if (!isMessage(one.type)) return { ...plain, type: scalarTypes[one.type] }
    describe(one.type, into)
    return { ...plain, type: Type.MESSAGE, typeName: `.${one.type.name}` }
  })
  into.set(type.name, create(DescriptorProtoSchema, { name: type.name, field }))
}

const described = new Map<string, DescriptorProto>()
for (const type of types) describe(type, described)
const registry = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      create(FileDescriptorProtoSchema, {
        name: 'hedwig.proto',
        syntax: 'proto2',
        messageType: [...described.values()],
      }),
    ],
  }),
)

function schema(type: AnyMessageType): NonNullable<ReturnType<typeof registry.getMessage>> {
  return registry.getMessage(type.name)!
}

type Fields = Record<string, unknown>

const random = seededRandom(seed)
const below = (limit: number): number => Math.floor(random() * limit)

function randomBytes(length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => below(256)))
}

function randomScalar(type: string): unknown {
  switch (type) {
    case 'uint32':
      return [0, 1, 127, 128, 0x7fff_ffff, 0xffff_ffff, below(1e6)][below(7)]
    case 'int32':
      return [0, -1, 0x7fff_ffff, -0x8000_0000, below(1e6)][below(5)]
    case 'uint64':
      return [0n, 1n, 127n, 128n, 2n ** 53n, 2n ** 64n - 1n, 2n ** 63n, BigInt(below(1e9))][
        below(8)
      ]
    case 'int64':
      return [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), BigInt(below(1e9))][below(5)]
    case 'string':
      return ['', 'plain', 'quote " and \' and \\', 'tab\tline\nnul\0', 'ünï 😀'][below(5)]
    default:
      return randomBytes(below(200))
  }
}

function randomValue({ type }: FieldType): unknown {
  return isMessage(type) ? randomMessage(type) : randomScalar(type as string)
}

function randomMessage(type: AnyMessageType): Fields {
  const message: Fields = {}
  for (const field of type.fields) {
    if (field.label === 'repeated') {
      const count = below(4)
      if (count > 0) message[field.name] = Array.from({ length: count }, () => randomValue(field))
    } else if (field.label === 'required' || below(2) === 0) {
      message[field.name] = randomValue(field)
    }
  }
  return message
}

void t.test(`both forms say what the library says and come back [seed ${seed}]`, async (t) => {
  for (let round = 0; round < 400; round++) {
    const type = types[round % types.length] as MessageType<Fields>
    const message = randomMessage(type)
    const bytes = binary.toBinary(type, message)
    const text = toText(type, message)
    const theirs: Message = fromBinary(schema(type), bytes)
    t.same(Buffer.from(toBinary(schema(type), theirs)), bytes, 'the library writes the same bytes')
    t.same(Buffer.from(toBinary(schema(type), readText(schema(type), text))), bytes, text)
    t.strictSame(binary.fromBinary(type, bytes), message)
    t.strictSame(fromText(type, text), message)
    t.strictSame(fromText(type, Buffer.from(text)), message)
    // Theirs has escapes and non-ASCII text where ours is ASCII.
    if (!/\\u/i.test(writeText(schema(type), theirs))) {
      t.strictSame(fromText(type, writeText(schema(type), theirs)), message)
    }
  }
})

void t.test('104: the text form is that of the Java library', async (t) => {
  const text = toText(records.subscriptionDataType, {
    state: {
      msgId: {
        localComponent: 2n ** 64n - 1n,
        remoteComponents: [{ region: Buffer.from('\0a"b\'c\\\n\xff', 'latin1'), seqId: 7n }],
      },
    },
    preferences: { options: {}, messageFilter: 'ü' },
  })
  t.equal(
    text,
    'state {\n  msgId {\n    localComponent: 18446744073709551615\n    remoteComponents {\n' +
      '      region: "\\000a\\"b\\\'c\\\\\\n\\377"\n      seqId: 7\n    }\n  }\n}\n' +
      'preferences {\n  options {\n  }\n  messageFilter: "\\303\\274"\n}\n',
  )
  t.equal(toText(records.ledgerRangesType, {}), '')
  t.equal(binary.toBinary(records.ledgerRangesType, { ranges: [] }).length, 0)
})

void t.test('the text reader takes what the grammar allows', async (t) => {
  const text = `# who consumed what
    state < msgId: { localComponent: 0x1F; # hexadecimal
      remoteComponents { region: 'a' "\\x62\\143", seqId: 017 } } messageBound: 5 >
    preferences{messageFilter:"\\?"}`
  t.strictSame(fromText(records.subscriptionDataType, text), {
    state: {
      msgId: {
        localComponent: 31n,
        remoteComponents: [{ region: Buffer.from('abc'), seqId: 15n }],
      },
      messageBound: 5,
    },
    preferences: { messageFilter: '?' },
  })
})

void t.test('text that is no record is refused with its position', async (t) => {
  for (const text of [
    'czxid: 1',
    'hostname: "a" czxid: -1',
    'hostname: "a" czxid: 18446744073709551616',
    'hostname: "a" czxid: 1x',
    'hostname: "a" czxid: 08',
    'hostname: a czxid: 1',
    'hostname: "a czxid: 1',
    'hostname: "a\n" czxid: 1',
    'hostname: "\\400" czxid: 1',
    'hostname: "\\q" czxid: 1',
    'hostname: "\\377" czxid: 1',
    'hostname "a" czxid: 1',
    'hostname: "a" czxid: 1 }',
    'hostname: "a" czxid: 1 other',
    'hostname: "a" czxid: 1 other {',
    'hostname: "a" czxid: 1 other { a: 1',
    'hostname: "a" czxid: 1 ;;',
    'hostname: ',
    ':',
    `hostname: "a" czxid: 1 ${'a {'.repeat(50_000)}`,
  ]) {
    const error = { code: 'ERR_INVALID_ARGUMENT' }
    t.throws(() => fromText(records.hubInfoDataType, text), error, text.slice(0, 60))
  }
})

void t.test('bytes that are no record are refused', async (t) => {
  const good = binary.toBinary(records.hubInfoDataType, { hostname: 'a:1', czxid: 300n })
  for (let length = 0; length < good.length; length++) {
    t.throws(() => binary.fromBinary(records.hubInfoDataType, good.subarray(0, length)), {
      code: 'ERR_INVALID_ARGUMENT',
    })
  }
  for (const hex of ['12ff', '0c', '0f', '00', '120180', '1201ff1801', 'ffffffffffff']) {
    const bytes = Buffer.from(hex, 'hex')
    t.throws(
      () => binary.fromBinary(records.hubInfoDataType, bytes),
      { code: 'ERR_INVALID_ARGUMENT' },
      hex,
    )
  }
})

void t.test('random damage never does worse than ERR_INVALID_ARGUMENT', async (t) => {
  for (let round = 0; round < 1500; round++) {
    const type = types[round % types.length] as MessageType<Fields>
    const message = randomMessage(type)
    const text = Buffer.from(toText(type, message))
    const bytes = binary.toBinary(type, message)
    for (const buffer of [text, bytes]) {
      if (buffer.length > 0) buffer[below(buffer.length)] = below(256)
    }
    for (const read of [() => fromText(type, text), () => binary.fromBinary(type, bytes)]) {
      try {
        read()
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_INVALID_ARGUMENT') throw error
      }
    }
  }
  t.pass('all rounds done')
})

void t.test('messages that do not fit their table are refused', async (t) => {
  const wrong: unknown[] = [
    { czxid: 1n },
    { hostname: 1, czxid: 1n },
    { hostname: 'lone \ud800', czxid: 1n },
    { hostname: 'a', czxid: 1 },
    { hostname: 'a', czxid: -1n },
    { hostname: 'a', czxid: 2n ** 64n },
  ]
  for (const message of wrong as records.HubInfoData[]) {
    for (const write of [toText, binary.toBinary]) {
      t.throws(() => write(records.hubInfoDataType, message), { code: 'ERR_INVALID_ARGUMENT' })
    }
  }
  const ranges = { ranges: {} } as unknown as records.LedgerRanges
  t.throws(() => toText(records.ledgerRangesType, ranges), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('unknown fields survive reading and writing in the binary form', async (t) => {
  const bytes = Buffer.concat([
    binary.toBinary(records.hubInfoDataType, { hostname: 'a:1', czxid: 3n }),
    Buffer.from('2096012d01020304310102030405060708320161', 'hex'), // fields 4 to 6, one a type
    Buffer.from('3b08013c', 'hex'), // field 7: a group
  ])
  const info = binary.fromBinary(records.hubInfoDataType, bytes)
  t.equal(info.unknownFields?.length, 5)
  t.same(binary.toBinary(records.hubInfoDataType, info), bytes)
  const changed = binary.toBinary(records.hubInfoDataType, { ...info, czxid: 4n })
  t.strictSame(
    binary.fromBinary(records.hubInfoDataType, changed).unknownFields,
    info.unknownFields,
  )
})

void t.test('a known field of another wire type is kept as it came', async (t) => {
  const bytes = Buffer.from('1205613a313a311801120561', 'hex')
  const both = Buffer.concat([bytes.subarray(0, 9), Buffer.from('15000000ff', 'hex')])
  const info = binary.fromBinary(records.hubInfoDataType, both)
  t.equal(info.hostname, 'a:1:1')
  t.same(binary.toBinary(records.hubInfoDataType, info), both)
})

void t.test('unknown fields survive reading and writing in the text form', async (t) => {
  const text =
    'hostname: "a:1"\nczxid: 3\nnovel: -1.5e+3\nnested {\n  deep {\n    x: "\\377"\n  }\n}\n' +
    'NAME: SOME\n12: 5\n13: 0x00000007\n14: 0x0000000000000007\n15: "a\\000"\n'
  const info = fromText(records.hubInfoDataType, text)
  t.equal(toText(records.hubInfoDataType, info), text)
  t.equal(
    toText(records.hubInfoDataType, { ...info, czxid: 4n }),
    text.replace('czxid: 3', 'czxid: 4'),
  )
  t.throws(() => binary.toBinary(records.hubInfoDataType, info), { code: 'ERR_INVALID_ARGUMENT' })
  const nested = fromText(records.subscriptionStateType, 'msgId { a: 1 b { c: 2 } }')
  t.equal(
    toText(records.subscriptionStateType, nested),
    'msgId {\n  a: 1\n  b {\n    c: 2\n  }\n}\n',
  )
})

void t.test('unknown fields with a number go from one form to the other and back', async (t) => {
  const known = binary.toBinary(records.hubInfoDataType, { hostname: 'a:1', czxid: 3n })
  const unknown = '2096012d01020304310102030405060708320161'
  const bytes = Buffer.concat([known, Buffer.from(unknown, 'hex')])
  const text = toText(records.hubInfoDataType, binary.fromBinary(records.hubInfoDataType, bytes))
  t.match(text, '4: 150\n5: 0x04030201\n6: 0x0807060504030201\n6: "a"\n')
  t.same(binary.toBinary(records.hubInfoDataType, fromText(records.hubInfoDataType, text)), bytes)
})

void t.test('pieces of one message merge in the binary form', async (t) => {
  // A region without its number of a message is no region.
  const bytes = Buffer.from('0a0512030a0161', 'hex')
  t.throws(() => binary.fromBinary(records.subscriptionStateType, bytes), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  // Two pieces of field 1 (msgId): the second brings the local component.
  const pieces = Buffer.from('0a0712050a016110050a020807', 'hex')
  t.strictSame(binary.fromBinary(records.subscriptionStateType, pieces), {
    msgId: {
      remoteComponents: [{ region: Buffer.from('a'), seqId: 5n }],
      localComponent: 7n,
    },
  })
})
