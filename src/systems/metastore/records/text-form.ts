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
  invalidRecord,
  isMessage,
  nestingMax,
  toBuffer,
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
      text += `${indent}${field.name}${valueText(field.type, value, indent)}\n`
    }
  }
  for (const unknown of message.unknownFields ?? []) text += `${unknownText(unknown, indent)}\n`
  return text
}

function valueText(type: FieldType['type'], value: unknown, indent: string): string {
  if (isMessage(type)) {
    return ` {\n${messageText(type, value as MessageFields, `${indent}  `)}${indent}}`
  }
  if (type === 'string' || type === 'bytes') return `: ${quote(value as string | Uint8Array)}`
  // Numbers and names of enumerations print as they are.
  return `: ${String(value)}`
}

function unknownText(unknown: UnknownField, indent: string): string {
  if ('name' in unknown) {
    return `${indent}${unknown.name}${unknown.text.replaceAll('\n', `\n${indent}`)}`
  }
  const data = toBuffer(unknown.data)
  return `${indent}${unknown.number}: ${unknownValueText(unknown.wireType, data)}`
}

/**
 * The value of a field with only a wire type. The number of hexadecimal digits distinguishes types
 * 1 and 5 for the reader. REQUIRES: `data` was kept by the binary reader, so it is complete.
 */
function unknownValueText(wireType: number, data: Buffer): string {
  const varintEnd = data.findIndex((byte) => byte < 0x80) + 1
  if (wireType === 0) {
    let value = 0n
    for (const byte of [...data.subarray(0, varintEnd)].reverse()) {
      value = (value << 7n) | BigInt(byte & 0x7f)
    }
    return String(BigInt.asUintN(64, value))
  }
  if (wireType === 1) return `0x${data.readBigUInt64LE(0).toString(16).padStart(16, '0')}`
  if (wireType === 2) return quote(data.subarray(varintEnd))
  if (wireType === 5) return `0x${data.readUInt32LE(0).toString(16).padStart(8, '0')}`
  throw invalidRecord('an unknown group has no text form')
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

/** The letters that escape the bytes from 7 on. */
export const escapeLetters = 'abtnvfr'
/** The byte of the first letter. */
export const escapedFrom = 7

/** The quoted form of each byte. */
const escapes: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (plain.test(character)) return character
  if (byte >= 0x20 && byte < 0x7f) return `\\${character}`
  const letter = escapeLetters.charAt(byte - escapedFrom)
  return `\\${letter === '' ? byte.toString(8).padStart(3, '0') : letter}`
})
