/**
 * The binary form of records: protobuf's wire format, by the reader and writer of
 * `@bufbuild/protobuf`, driven by the tables of fields.
 *
 * Reading and writing is lossless: unknown fields, known fields with another wire type and unknown
 * values of enumerations are kept in `unknownFields`. Malformed bytes and messages without a
 * required field are `ERR_INVALID_ARGUMENT`. Byte values of a decoded message are views of the
 * input. The package is an optional peer, loaded by the first call: `ERR_MISSING_PACKAGE`.
 */
import type * as Wire from '@bufbuild/protobuf/wire'
import {
  CellarError,
  checkObject,
  ErrorCode,
  readArguments,
  requirePackage,
} from '../../../api/index.js'
import {
  addValue,
  checkRequired,
  isEnum,
  invalidRecord,
  toBuffer,
  isMessage,
  nestingMax,
  valuesToWrite,
  type AnyMessageType,
  type FieldType,
  type MessageFields,
  type MessageType,
} from './message-type.js'

/**
 * Wire types of the format, because the names of the package are not available before it is loaded.
 */
const varint = 0
const lengthDelimited = 2
const endGroup = 4

let wire: typeof Wire | undefined

function loadWire(): typeof Wire {
  wire ??= requirePackage<typeof Wire>('@bufbuild/protobuf/wire', 'the binary form of records')
  return wire
}

/** Encodes a message. `ERR_INVALID_ARGUMENT` names an invalid field. */
export function toBinary<T extends object>(type: MessageType<T>, message: T): Buffer {
  const writer = new (loadWire().BinaryWriter)()
  readArguments(() =>
    writeMessage(writer, type, checkObject(message, type.name) as MessageFields, 0),
  )
  return toBuffer(writer.finish())
}

/** Decodes a message that occupies all of `bytes`. */
export function fromBinary<T extends object>(type: MessageType<T>, bytes: Uint8Array): T {
  const reader = new (loadWire().BinaryReader)(bytes)
  const message: MessageFields = {}
  try {
    readMessage(reader, type, message, 0)
  } catch (error) {
    if (error instanceof CellarError) throw error
    const text = `bytes are no ${type.name}: ${(error as Error).message}`
    throw new CellarError(ErrorCode.invalidArgument, text, { cause: error })
  }
  checkRequired(type, message)
  return message as T
}

function writeMessage(
  writer: Wire.BinaryWriter,
  type: AnyMessageType,
  message: MessageFields,
  depth: number,
): void {
  if (depth > nestingMax) throw invalidRecord(`${type.name} is nested too deep`)
  for (const field of type.fields) {
    for (const value of valuesToWrite(type, field, message)) {
      writeValue(writer, field, value, depth)
    }
  }
  for (const unknown of message.unknownFields ?? []) {
    if ('name' in unknown) {
      throw invalidRecord(`${type.name}: the field ${unknown.name} has no binary form`)
    }
    writer.tag(unknown.number, unknown.wireType).raw(unknown.data)
  }
}

function writeValue(
  writer: Wire.BinaryWriter,
  field: FieldType,
  value: unknown,
  depth: number,
): void {
  const { type } = field
  writer.tag(field.number, wireTypeOf(field))
  switch (type) {
    case 'int32':
      writer.int32(value as number)
      break
    case 'uint32':
      writer.uint32(value as number)
      break
    case 'int64':
      writer.int64(value as bigint)
      break
    case 'uint64':
      writer.uint64(value as bigint)
      break
    case 'string':
      writer.string(value as string)
      break
    case 'bytes':
      writer.bytes(value as Uint8Array)
      break
    default:
      if (isEnum(type)) {
        writer.int32(type.numbers.get(value as string)!)
      } else {
        writer.fork()
        writeMessage(writer, type, value as MessageFields, depth + 1)
        writer.join()
      }
  }
}

function wireTypeOf({ type }: FieldType): number {
  return type === 'string' || type === 'bytes' || isMessage(type) ? lengthDelimited : varint
}

function readMessage(
  reader: Wire.BinaryReader,
  type: AnyMessageType,
  message: MessageFields,
  depth: number,
): void {
  if (depth > nestingMax) throw invalidRecord(`${type.name} is nested too deep`)
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag() as [number, number]
    const field = type.byNumber.get(number)
    if (field === undefined || wireTypeOf(field) !== wireType) {
      keepUnknown(reader, message, number, wireType)
    } else if (isMessage(field.type)) {
      readNested(reader, field.type, field, message, depth)
    } else if (isEnum(field.type)) {
      readEnum(reader, field.type, field, message)
    } else {
      addValue(message, field, readScalar(reader, field))
    }
  }
}

/** A singular nested message may occur several times; the occurrences are merged. */
function readNested(
  reader: Wire.BinaryReader,
  type: AnyMessageType,
  field: FieldType,
  message: MessageFields,
  depth: number,
): void {
  const known = field.label === 'repeated' ? undefined : message[field.name]
  const nested = (known ?? {}) as MessageFields
  readMessage(new (loadWire().BinaryReader)(reader.bytes()), type, nested, depth + 1)
  if (known === undefined) addValue(message, field, nested)
}

function readEnum(
  reader: Wire.BinaryReader,
  type: { readonly names: ReadonlyMap<number, string> },
  field: FieldType,
  message: MessageFields,
): void {
  const start = reader.pos
  const name = type.names.get(reader.int32())
  if (name !== undefined) {
    addValue(message, field, name)
    return
  }
  reader.pos = start
  keepUnknown(reader, message, field.number, varint)
}

function readScalar(reader: Wire.BinaryReader, { type }: FieldType): unknown {
  switch (type) {
    case 'int32':
      return reader.int32()
    case 'uint32':
      return reader.uint32()
    case 'int64':
      return BigInt(reader.int64())
    case 'uint64':
      return BigInt(reader.uint64())
    case 'string':
      return reader.string(true)
    case 'bytes':
    default:
      return toBuffer(reader.bytes())
  }
}

function keepUnknown(
  reader: Wire.BinaryReader,
  message: MessageFields,
  number: number,
  wireType: number,
): void {
  if (wireType === endGroup) throw invalidRecord('a group ends that did not begin')
  const data = toBuffer(reader.skip(wireType, number))
  message.unknownFields ??= []
  message.unknownFields.push({ number, wireType, data })
}
