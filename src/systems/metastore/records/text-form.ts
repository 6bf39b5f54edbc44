/**
 * Writes the text form of records as protobuf's Java library does: one `name: value` per line, and
 * messages as `name {` … `}` indented by two spaces. Strings and bytes are in double quotes with
 * octal escapes, so the text is ASCII. `text-reader.ts` reads this form.
 *
 * The text form of `@bufbuild/protobuf` cannot be used: it refuses unknown fields, and writes
 * `name: {` and escapes that readers of Hedwig's time refuse.
 */
import { checkObject, readArguments } from '../../../api/index.js'
import {
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
  type UnknownField,
} from './message-type.js'

/** Encodes a message as text. `ERR_INVALID_ARGUMENT` names an invalid field. */
export function toText<T extends object>(type: MessageType<T>, message: T): string {
  return readArguments(() =>
    messageText(type, checkObject(message, type.name) as MessageFields, ''),
  )
}

function messageText(type: AnyMessageType, message: MessageFields, indent: string): string {
  if (indent.length > 2 * nestingMax) throw invalidRecord(`${type.name} is nested too deep`)
  let text = ''
  for (const field of type.fields) {
    for (const value of valuesToWrite(type, field, message)) {
      text += fieldText(field, value, indent)
    }
  }
  for (const unknown of message.unknownFields ?? []) text += unknownText(unknown, indent)
  return text
}

function fieldText(field: FieldType, value: unknown, indent: string): string {
  const { name, type } = field
  if (isMessage(type)) {
    const inner = messageText(type, value as MessageFields, `${indent}  `)
    return `${indent}${name} {\n${inner}${indent}}\n`
  }
  if (type === 'string' || type === 'bytes') {
    return `${indent}${name}: ${quote(value as string | Uint8Array)}\n`
  }
  // Numbers and names of enumerations print as they are.
  return `${indent}${name}: ${isEnum(type) ? (value as string) : String(value)}\n`
}

function unknownText(unknown: UnknownField, indent: string): string {
  if ('name' in unknown) {
    return `${indent}${unknown.name}${unknown.text.replaceAll('\n', `\n${indent}`)}\n`
  }
  const data = toBuffer(unknown.data)
  return `${indent}${unknown.number}: ${unknownValueText(unknown.wireType, data)}\n`
}

/**
 * The value of a field with only a wire type. The number of hexadecimal digits distinguishes types
 * 1 and 5 for the reader. REQUIRES: `data` was kept by the binary reader, so it is complete.
 */
function unknownValueText(wireType: number, data: Buffer): string {
  switch (wireType) {
    case 0:
      return String(varintValue(data))
    case 1:
      return `0x${data.readBigUInt64LE(0).toString(16).padStart(16, '0')}`
    case 2:
      return quote(data.subarray(lengthOfVarint(data)))
    case 5:
      return `0x${data.readUInt32LE(0).toString(16).padStart(8, '0')}`
    default:
      throw invalidRecord('an unknown group has no text form')
  }
}

function lengthOfVarint(data: Buffer): number {
  let end = 0
  while (data[end] >= 0x80) end++
  return end + 1
}

function varintValue(data: Buffer): bigint {
  let value = 0n
  for (let i = lengthOfVarint(data) - 1; i >= 0; i--) value = (value << 7n) | BigInt(data[i] & 0x7f)
  return BigInt.asUintN(64, value)
}

/** Printable ASCII without quotes and backslash. */
const plain = /^[ !#-&(-[\]-~]*$/

/** Quotes a string (as its UTF-8 bytes) or bytes. */
export function quote(value: string | Uint8Array): string {
  if (typeof value === 'string' && plain.test(value)) return `"${value}"`
  let text = '"'
  for (const byte of toBuffer(value)) text += escapes[byte]
  return `${text}"`
}

const named: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  39: "\\'",
  92: '\\\\',
}

/** The quoted form of each byte. */
const escapes: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  if (Object.hasOwn(named, byte)) return named[byte]
  if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte)
  return `\\${byte.toString(8).padStart(3, '0')}`
})
