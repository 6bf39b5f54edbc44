/**
 * Reads the text form of records (see `text-form.ts`), in the grammar of protobuf's Java library:
 * comments, `name: value`, `name { … }`, `name: < … >`, optional `,` or `;` after a field, decimal,
 * octal and hexadecimal numbers, both kinds of quotes, adjacent strings joined.
 *
 * Unknown fields are kept, with their value in canonical form. Malformed text is
 * `ERR_INVALID_ARGUMENT` with the position. Byte values are copies.
 */
import { CellarError, ErrorCode } from '../../../api/index.js'
import {
  addValue,
  checkRequired,
  invalidRecord,
  isEnum,
  isInside,
  isMessage,
  nestingMax,
  toBuffer,
  type AnyMessageType,
  type FieldType,
  type MessageFields,
  type MessageType,
  type UnknownField,
} from './message-type.js'
import { quote } from './text-form.js'
import { TextTokens } from './text-tokens.js'

/** Decodes a message from text; bytes are UTF-8. */
export function fromText<T extends object>(type: MessageType<T>, text: string | Uint8Array): T {
  const message: MessageFields = {}
  const tokens = new TextTokens(toBuffer(text))
  readFields(tokens, type, message, '', 0)
  checkRequired(type, message)
  return message as T
}

/** Reads fields up to and including `close`; '' means the end of the text. */
function readFields(
  tokens: TextTokens,
  type: AnyMessageType,
  message: MessageFields,
  close: string,
  depth: number,
): void {
  if (depth > nestingMax) throw invalidRecord(`${type.name} is nested too deep`)
  while (!tokens.takeEnd(close)) {
    const field = takeField(tokens, type)
    if (field === undefined) {
      message.unknownFields ??= []
      message.unknownFields.push(readUnknown(tokens, tokens.takeName(), depth))
    } else if (isMessage(field.type)) {
      tokens.take(':')
      const nested: MessageFields = {}
      readFields(tokens, field.type, nested, tokens.takeOpening(), depth + 1)
      addValue(message, field, nested)
    } else {
      tokens.expect(':')
      addValue(message, field, readScalar(tokens, field))
    }
    if (!tokens.take(';')) tokens.take(',')
  }
}

/** Messages have few fields: comparing each name is faster than taking the name. */
function takeField(tokens: TextTokens, type: AnyMessageType): FieldType | undefined {
  for (const field of type.fields) if (tokens.takeThisName(field.name)) return field
  return undefined
}

function readScalar(tokens: TextTokens, { name, type }: FieldType): unknown {
  if (type === 'bytes') return tokens.takeQuoted()
  if (type === 'string') return decode(tokens, tokens.takeQuoted())
  if (typeof type === 'object') {
    const value = tokens.takeName()
    if (isEnum(type) && type.numbers.has(value)) return value
    throw tokens.error(`${name} has no value ${value}`)
  }
  const taken = tokens.takeInteger()
  // Comparisons of one kind of number are faster than mixed ones.
  const value = type === 'int64' || type === 'uint64' ? BigInt(taken) : Number(taken)
  if (!isInside(type, value)) throw tokens.error(`${name} is out of range`)
  return value
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(tokens: TextTokens, bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    const { message } = tokens.error('a string is not UTF-8')
    throw new CellarError(ErrorCode.invalidArgument, message, { cause })
  }
}

/** Restores a numbered field to its binary form, if its text was written from the binary form. */
function readUnknown(tokens: TextTokens, name: string, depth: number): UnknownField {
  const text = unknownText(tokens, depth)
  const number = /^[1-9][0-9]{0,8}$/.test(name) ? Number(name) : 0
  const isNumbered = number > 0 && number <= 0x1fff_ffff && text.startsWith(': ')
  const known = isNumbered ? wireValueOf(text.slice(2)) : undefined
  return known === undefined ? { name, text } : { number, ...known }
}

/** The wire type and bytes of a value that was written from the binary form. */
function wireValueOf(value: string): { wireType: number; data: Buffer } | undefined {
  if (value.startsWith('"')) {
    const data = new TextTokens(toBuffer(value)).takeQuoted()
    return { wireType: 2, data: Buffer.concat([varintOf(BigInt(data.length)), data]) }
  }
  if (/^0x(?:[0-9a-f]{8}){1,2}$/.test(value)) {
    const data = Buffer.from(value.slice(2), 'hex').reverse()
    return { wireType: data.length === 4 ? 5 : 1, data }
  }
  const isVarint = /^[0-9]+$/.test(value) && isInside('uint64', BigInt(value))
  return isVarint ? { wireType: 0, data: varintOf(BigInt(value)) } : undefined
}

function varintOf(value: bigint): Buffer {
  const data: number[] = []
  let rest = value
  for (; rest >= 0x80n; rest >>= 7n) data.push(Number(rest & 0x7fn) | 0x80)
  return Buffer.from([...data, Number(rest)])
}

/** The text after the name of an unknown field, in canonical form and not indented. */
function unknownText(tokens: TextTokens, depth: number): string {
  if (depth > nestingMax) throw tokens.error('nested too deep')
  const hasColon = tokens.take(':')
  if (tokens.startsWith('{', '<')) {
    const close = tokens.takeOpening()
    let text = ' {\n'
    while (!tokens.takeEnd(close)) {
      const name = tokens.takeName()
      text += `  ${name}${unknownText(tokens, depth + 1).replaceAll('\n', '\n  ')}\n`
      if (!tokens.take(';')) tokens.take(',')
    }
    return `${text}}`
  }
  if (!hasColon) throw tokens.error('expected ":"')
  const isQuoted = tokens.startsWith('"', "'")
  return isQuoted ? `: ${quote(tokens.takeQuoted())}` : `: ${tokens.takeWord()}`
}
