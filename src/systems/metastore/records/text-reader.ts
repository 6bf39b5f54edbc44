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
  isInside,
  invalidRecord,
  toBuffer,
  isMessage,
  nestingMax,
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
    const field = takeFieldName(tokens, type)
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

/** Messages have few fields: comparing each name is faster than extracting the name. */
function takeFieldName(tokens: TextTokens, type: AnyMessageType): FieldType | undefined {
  for (const field of type.fields) if (tokens.takeThisName(field.name)) return field
  return undefined
}

function readScalar(tokens: TextTokens, { name, type }: FieldType): unknown {
  switch (type) {
    case 'int32':
    case 'uint32': {
      const value = Number(tokens.takeInteger())
      if (!isInside(type, value)) throw tokens.error(`${name} is out of range`)
      return value
    }
    case 'int64':
    case 'uint64': {
      const value = BigInt(tokens.takeInteger())
      if (!isInside(type, value)) throw tokens.error(`${name} is out of range`)
      return value
    }
    case 'string':
      return decode(tokens, tokens.takeQuoted())
    case 'bytes':
      return tokens.takeQuoted()
    default: {
      const value = tokens.takeName()
      if ('numbers' in type && type.numbers.has(value)) return value
      throw tokens.error(`${name} has no value ${value}`)
    }
  }
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
  const value = text.slice(2)
  if (number === 0 || number > 0x1fff_ffff || !text.startsWith(': ')) return { name, text }
  if (value.startsWith('"')) {
    const data = new TextTokens(toBuffer(value)).takeQuoted()
    return { number, wireType: 2, data: Buffer.concat([varintOf(BigInt(data.length)), data]) }
  }
  if (/^0x[0-9a-f]{8}$/.test(value)) {
    const data = Buffer.alloc(4)
    data.writeUInt32LE(Number(value))
    return { number, wireType: 5, data }
  }
  if (/^0x[0-9a-f]{16}$/.test(value)) {
    const data = Buffer.alloc(8)
    data.writeBigUInt64LE(BigInt(value))
    return { number, wireType: 1, data }
  }
  if (/^[0-9]+$/.test(value) && isInside('uint64', BigInt(value))) {
    return { number, wireType: 0, data: varintOf(BigInt(value)) }
  }
  return { name, text }
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
  if (tokens.isOpening()) {
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
  return tokens.isQuote() ? `: ${quote(tokens.takeQuoted())}` : `: ${tokens.takeWord()}`
}
