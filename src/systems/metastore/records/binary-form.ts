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
  invalidRecord,
  isEnum,
  isMessage,
  nestingMax,
  toBuffer,
  valuesToWrite,
  type AnyMessageType,
  type FieldType,
  type MessageFields,
  type MessageType,
  type ScalarType,
} from './message-type.js'

/** Wire types of the format: the names of the package are not available before it is loaded. */
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
  const message: MessageFields = {}
  try {
    readMessage(new (loadWire().BinaryReader)(bytes), type, message, 0)
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
      writer.tag(field.number, wireTypeOf(field))
      if (isMessage(field.type)) {
        writer.fork()
        writeMessage(writer, field.type, value as MessageFields, depth + 1)
        writer.join()
      } else if (isEnum(field.type)) writer.int32(field.type.numbers.get(value as string)!)
      else writer[field.type](value as never)
    }
  }
  for (const unknown of message.unknownFields ?? []) {
    if ('name' in unknown) {
      throw invalidRecord(`${type.name}: the field ${unknown.name} has no binary form`)
    }
    writer.tag(unknown.number, unknown.wireType).raw(unknown.data)
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
    if (wireType === endGroup) throw invalidRecord('a group ends that did not begin')
    const start = reader.pos
    const field = type.byNumber.get(number)
    if (field !== undefined && wireTypeOf(field) === wireType) {
      const value = readValue(reader, field, message, depth)
      if (value !== undefined) {
        addValue(message, field, value)
        continue
      }
      reader.pos = start
    }
    const data = toBuffer(reader.skip(wireType, number))
    message.unknownFields ??= []
    message.unknownFields.push({ number, wireType, data })
  }
}

/** The value of a field; undefined for an unknown value of an enumeration. */
function readValue(
  reader: Wire.BinaryReader,
  field: FieldType,
  message: MessageFields,
  depth: number,
): unknown {
  const { type, label, name } = field
  if (isEnum(type)) return type.names.get(reader.int32())
  if (!isMessage(type)) return readScalar(reader, type)
  // A singular nested message may occur several times; the occurrences are merged.
  const known = label === 'repeated' ? undefined : message[name]
  const nested = (known ?? {}) as MessageFields
  readMessage(new (loadWire().BinaryReader)(reader.bytes()), type, nested, depth + 1)
  return nested
}

function readScalar(reader: Wire.BinaryReader, type: ScalarType): unknown {
  if (type === 'string') return reader.string(true)
  if (type === 'bytes') return toBuffer(reader.bytes())
  if (type === 'int32' || type === 'uint32') return reader[type]()
  return BigInt(reader[type]())
}
