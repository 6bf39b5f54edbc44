/**
 * Ids of records: a text chosen by the user or a UUID, optionally with variant properties.
 *
 * Text: `USER.<id>`, `UUID.<uuid>`, and for variants `<master>.<k>=<v>,<k>=<v>`. A backslash
 * escapes the characters `. , = \` inside ids and properties. The bytes (FORMAT.md) are the rows of
 * record tables; there a master sorts directly before its variants.
 */
import { checkBytes, checkFunction, checkObject, checkText, shown } from '../../api/index.js'
import { ByteReader } from '../bytes/byte-reader.js'
import { ByteWriter } from '../bytes/byte-writer.js'
import { corrupt, invalidArgument } from './errors.js'

const userKind = 0
const uuidKind = 1
const uuidBytes = 16
const idBytesMax = 16_384
const userPrefix = 'USER.'
const plainLengthMax = 256
/** 1 for each byte whose character is neither escaped nor refused. */
const plainBytes = new Uint8Array(256)
for (const character of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:@/+-') {
  plainBytes[character.charCodeAt(0)] = 1
}
const noProperties: VariantProperties = Object.freeze({})
const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Properties of a variant, such as language and country. */
export type VariantProperties = Readonly<Record<string, string>>

/** An id as methods accept it: an instance or its text. */
export type RecordIdLike = RecordId | string

/** An id; immutable. Equal ids have equal text and equal bytes. */
export class RecordId {
  /** The text form. */
  readonly text: string
  /** The id without its variant properties; `this` if it has none. */
  readonly master: RecordId
  /** The properties by name; empty for a master. */
  readonly variantProperties: VariantProperties
  readonly #kind: number
  readonly #own: string
  /** Sorted by name; an object would put names of digits first. */
  readonly #properties: readonly (readonly [name: string, value: string])[]
  #bytes: Buffer | undefined

  /** `plain`: text and bytes of a master without characters to be escaped. */
  private constructor(
    kind: number,
    own: string,
    properties: [string, string][],
    plain?: { readonly text: string; readonly bytes: Buffer },
  ) {
    this.#kind = kind
    this.#own = own
    this.#properties = properties
    if (plain !== undefined) {
      this.variantProperties = noProperties
      this.master = this
      this.text = plain.text
      this.#bytes = plain.bytes
      Object.freeze(this)
      return
    }
    const masterText = kind === userKind ? `USER.${escaped(own)}` : `UUID.${own}`
    this.variantProperties = Object.freeze(Object.fromEntries(properties))
    const parts = properties.map(([key, value]) => `${escaped(key)}=${escaped(value)}`)
    this.master = parts.length === 0 ? this : new RecordId(kind, own, [])
    this.text = parts.length === 0 ? masterText : `${masterText}.${parts.join(',')}`
    Object.freeze(this)
  }

  /** An id that the user chooses. `ERR_INVALID_ARGUMENT`. */
  static user(id: string): RecordId {
    return new RecordId(userKind, checkPart(id, 'the id of a record'), [])
  }

  /** An id of a UUID in its canonical text. `ERR_INVALID_ARGUMENT`. */
  static uuid(uuid: string): RecordId {
    const lower = typeof uuid === 'string' ? uuid.toLowerCase() : ''
    if (!uuidPattern.test(lower)) throw invalidArgument(`${shown(uuid)} is no UUID`)
    return new RecordId(uuidKind, lower, [])
  }

  /** A random id: a UUID of version 4 from a source of random bytes. `ERR_INVALID_ARGUMENT`. */
  static random(randomBytes: (length: number) => Uint8Array): RecordId {
    checkFunction(randomBytes ?? null, 'the source of random bytes')
    const bytes = Buffer.from(checkBytes(randomBytes(uuidBytes), 'random bytes'))
    if (bytes.length !== uuidBytes) throw invalidArgument(`a UUID has ${uuidBytes} bytes`)
    bytes[6] = (bytes[6] & 0x0f) | 0x40
    bytes[8] = (bytes[8] & 0x3f) | 0x80
    return new RecordId(uuidKind, uuidText(bytes), [])
  }

  /** Parses the text of an id. `ERR_INVALID_ARGUMENT`. */
  static parse(text: string): RecordId {
    if (typeof text !== 'string') throw invalidArgument(`an id must be a text, got ${shown(text)}`)
    if (text.startsWith(userPrefix)) {
      const bytes = plainUserBytes(text)
      if (bytes !== undefined) {
        return new RecordId(userKind, text.slice(userPrefix.length), [], { text, bytes })
      }
    }
    const [kind, own, variant, ...more] = splitEscaped(text, '.')
    if (more.length > 0 || own === undefined) throw badId(text)
    const master = masterOf(text, kind, own)
    if (variant === undefined) return master
    const properties = Object.create(null) as Record<string, string>
    for (const part of splitEscaped(variant, ',')) {
      const [key, value, ...rest] = splitEscaped(part, '=')
      if (value === undefined || rest.length > 0) throw badId(text)
      const name = unescaped(key, text)
      if (name in properties) throw badId(text)
      properties[name] = unescaped(value, text)
    }
    return master.variant(properties)
  }

  /** Decodes the bytes of an id. `ERR_INVALID_ARGUMENT`. */
  static fromBytes(bytes: Uint8Array): RecordId {
    const source = Buffer.from(checkBytes(bytes, 'the bytes of an id'))
    if (isPlainUser(source)) {
      const own = source.toString('latin1', 1)
      return new RecordId(userKind, own, [], { text: userPrefix + own, bytes: source })
    }
    try {
      return readId(source)
    } catch (cause) {
      throw invalidArgument(`the bytes are no id of a record: ${(cause as Error).message}`)
    }
  }

  /** The id of an instance or of its text. `ERR_INVALID_ARGUMENT`. */
  static of(id: RecordIdLike): RecordId {
    return RecordId.is(id) ? id : RecordId.parse(id)
  }

  /** Whether a value is an instance of this class. */
  static is(value: unknown): value is RecordId {
    return typeof value === 'object' && value !== null && #own in value
  }

  /** Whether the id has variant properties. */
  get isVariant(): boolean {
    return this.master !== this
  }

  /**
   * The variant of this master with these properties; the master itself without properties.
   * `ERR_INVALID_ARGUMENT` for a variant of a variant.
   */
  variant(properties: VariantProperties): RecordId {
    const entries = Object.entries(checkObject(properties, 'variant properties')).map(
      ([key, value]): [string, string] => [
        checkPart(key, 'the name of a variant property'),
        checkPart(value, `the variant property '${key}'`),
      ],
    )
    if (entries.length === 0) return this
    if (this.isVariant) throw invalidArgument(`${this.text} is a variant already`)
    entries.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    return new RecordId(this.#kind, this.#own, entries)
  }

  /** The row of the record; must not be modified. */
  get bytes(): Buffer {
    this.#bytes ??= this.#encode()
    return this.#bytes
  }

  /** Whether the text forms are equal. */
  equals(other: RecordId): boolean {
    return RecordId.is(other) && this.text === other.text
  }

  /** The text form. */
  toString(): string {
    return this.text
  }

  /** The text form. */
  toJSON(): string {
    return this.text
  }

  #encode(): Buffer {
    const own =
      this.#kind === userKind
        ? Buffer.from(this.#own)
        : Buffer.from(this.#own.replaceAll('-', ''), 'hex')
    const properties = this.#properties
    const writer = new ByteWriter(own.length + 64)
    writer.byte(this.#kind)
    writer.raw(own)
    if (properties.length > 0 && this.#kind === userKind) writer.byte(0)
    for (const [key, value] of properties) {
      writer.text(key)
      writer.text(value)
    }
    const bytes = Buffer.from(writer.finish())
    if (bytes.length > idBytesMax) {
      throw invalidArgument(`an id has at most ${idBytesMax} bytes, this one ${bytes.length}`)
    }
    return bytes
  }
}

/** The row of a `USER.` text with plain characters only; undefined for other texts. */
function plainUserBytes(text: string): Buffer | undefined {
  const length = text.length - userPrefix.length
  if (length < 1 || length > plainLengthMax) return undefined
  const bytes = Buffer.allocUnsafe(1 + length)
  bytes[0] = userKind
  for (let at = 1; at <= length; at++) {
    const code = text.charCodeAt(at + userPrefix.length - 1)
    if (code > 0xff || plainBytes[code] === 0) return undefined
    bytes[at] = code
  }
  return bytes
}

function isPlainUser(source: Buffer): boolean {
  if (source.length < 2 || source.length > plainLengthMax || source[0] !== userKind) return false
  for (let at = 1; at < source.length; at++) if (plainBytes[source[at]] === 0) return false
  return true
}

function readId(source: Buffer): RecordId {
  const reader = new ByteReader(source, 'an id')
  const kind = reader.byte()
  let master: RecordId
  if (kind === uuidKind) master = RecordId.uuid(uuidText(reader.raw(uuidBytes)))
  else if (kind === userKind) {
    const separator = source.indexOf(0, 1)
    const end = separator < 0 ? source.length : separator
    const own = reader.raw(end - 1)
    master = RecordId.user(utf8Of(own))
    if (separator >= 0) {
      reader.byte()
      if (reader.isAtEnd) throw reader.failure('variant properties are missing')
    }
  } else throw reader.failure(`there is no kind ${kind}`)
  const properties: [string, string][] = []
  while (!reader.isAtEnd) properties.push([utf8Of(reader.bytes()), utf8Of(reader.bytes())])
  const id = master.variant(Object.fromEntries(properties))
  if (!id.bytes.equals(source)) throw reader.failure('the properties are not in order')
  return id
}

function utf8Of(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

function masterOf(text: string, kind: string, own: string): RecordId {
  if (kind === 'UUID') return RecordId.uuid(own)
  if (kind === 'USER') return RecordId.user(unescaped(own, text))
  throw badId(text)
}

function badId(text: string): Error {
  return invalidArgument(
    `an id is USER.<id> or UUID.<uuid>, with .<key>=<value>,… for variants; got ${shown(text)}`,
  )
}

/** The canonical text of a UUID. */
export function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Checks an id, or the name or value of a variant property. */
function checkPart(value: unknown, what: string): string {
  const text = checkText(value, what)
  if (text !== '' && text.trim() === text && !text.includes('\0')) return text
  throw invalidArgument(`${what} is empty, begins or ends with a space, or holds NUL`)
}

/** Escapes the characters that have a meaning in the text form. */
export function escaped(part: string): string {
  return part.replace(/[.,=\\]/g, '\\$&')
}

/** Undoes {@link escaped}. `ERR_INVALID_ARGUMENT` for an escape of another character. */
export function unescaped(part: string, whole: string): string {
  if (/[.,=\\]/.test(part.replace(/\\[.,=\\]/g, ''))) throw badId(whole)
  return part.replace(/\\([.,=\\])/g, '$1')
}

/** Splits at the separators without a backslash before them; the parts stay escaped. */
export function splitEscaped(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === separator) {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

/** The id in stored bytes. `ERR_CORRUPTION` for other bytes, named `what`. */
export function storedRecordId(bytes: Buffer | undefined, what: string): RecordId {
  try {
    return RecordId.fromBytes(bytes ?? Buffer.alloc(0))
  } catch {
    throw corrupt(`${what} has no id of a record: ${bytes?.toString('hex') ?? 'no cell'}`)
  }
}
