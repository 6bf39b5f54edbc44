/**
 * Values as text: bytes on the command line with escapes, in JSON as a string or in base64; numbers
 * that JSON lacks as strings.
 */
import { isUtf8 } from 'node:buffer'
import { invalidArgument, isText } from '../../api/index.js'

/** Bytes in JSON: text if they are UTF-8, else base64. */
export type JsonBytes = string | { readonly base64: string }

const escape = /\\x([0-9a-fA-F]{2})/g
const base64Mark = 'base64:'

/** The bytes of a word of the command line: text, with `\xNN` for single bytes; or `base64:…`. */
export function parseBinary(word: string): Buffer {
  if (word.startsWith(base64Mark)) return decodeBase64(word.slice(base64Mark.length))
  const parts: Buffer[] = []
  let at = 0
  for (const match of word.matchAll(escape)) {
    parts.push(Buffer.from(word.slice(at, match.index)), Buffer.from(match[1], 'hex'))
    at = match.index + match[0].length
  }
  return Buffer.concat([...parts, Buffer.from(word.slice(at))])
}

/** The bytes for JSON. */
export function bytesToJson(bytes: Buffer): JsonBytes {
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') }
}

/** The bytes of {@link bytesToJson}. `ERR_INVALID_ARGUMENT` for something else. */
export function bytesFromJson(value: unknown, name: string): Buffer {
  if (isText(value)) return Buffer.from(value, 'utf8')
  const encoded = (value as { base64?: unknown } | null | undefined)?.base64
  if (typeof encoded === 'string') return decodeBase64(encoded)
  throw invalidArgument(`${name} must be a text without lone surrogates, or { "base64": "…" }`)
}

/** A value of JSON with bytes for its rows (`firstRow`, `lastRow`), and bigints for timestamps. */
export function withRows<T>(json: object): T {
  return JSON.parse(JSON.stringify(json), (name, value: unknown) => {
    if (name === 'firstRow' || name === 'lastRow') return bytesFromJson(value, 'a row')
    return name === 'minTimestamp' || name === 'maxTimestamp' ? BigInt(value as string) : value
  }) as T
}

/** Decodes canonical base64. */
export function decodeBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') === text) return bytes
  throw invalidArgument(`'${text.slice(0, 40)}' is not base64`)
}

/** JSON of a value; Infinity and 64-bit numbers are texts. */
export function toJson(value: unknown, space?: number): string {
  return JSON.stringify(
    value,
    (_key, member: unknown) => {
      if (typeof member === 'bigint') return member.toString()
      return member === Infinity ? 'Infinity' : member
    },
    space,
  )
}
