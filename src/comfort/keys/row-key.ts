/**
 * Row keys of several parts: the rows sort by the first part, then by the second, and so on.
 *
 * The bytes are described in key-parts.ts. A key has its parts in the order in which they were
 * declared. Rows are compared as bytes, so a scan over leading parts reads exactly their rows.
 */
import { isUtf8 } from 'node:buffer'
import { checkBytes, checkObject, isText, readArguments, shown } from '../../base/arguments.js'
import { copyBytes, toBytes, viewBytes } from '../../base/bytes.js'
import { invalidArgument } from '../../base/errors.js'
import { nearestName } from '../../base/near-names.js'
import { terminatorBytes } from '../../storage/cell/cell-key.js'
import { checkRowLength, rowBytesMax } from '../../storage/cell/limits.js'
import { shownBytes } from '../../api/results/display.js'
import { descendingPart, keyParts, type KeyPart, type KeyReader } from './key-parts.js'

/** The types of the values that parts hold, by the name of the part. */
export interface KeyPartTypes {
  /** Text. */
  readonly utf8: string
  /** Bytes as they are. */
  readonly bytes: Uint8Array
  /** Safe integers. */
  readonly integer: number
  /** All numbers. */
  readonly double: number
  /** Integers of 64 bits. */
  readonly int64: bigint
  /** True and false. */
  readonly boolean: boolean
  /** Dates, in milliseconds. */
  readonly date: Date
}

/** The name of a kind of values that keys can hold. */
export type KeyPartName = keyof KeyPartTypes

/** A part whose rows come in the opposite order. */
export interface DescendingPart<N extends KeyPartName = KeyPartName> {
  /** The kind of the values. */
  readonly descending: N
}

/**
 * One part of a key: `'utf8'`, `'bytes'`, `'integer'` (safe integers), `'double'`, `'int64'`
 * (bigints), `'boolean'` or `'date'`; or `{ descending: 'date' }` for the greatest values first.
 */
export type KeyPartOption = KeyPartName | DescendingPart

/** The parts of a key by name, the first one first. */
export type KeyParts = Readonly<Record<string, KeyPartOption>>

/** The type of the values of one part. */
export type KeyPartValue<P> = P extends KeyPartName
  ? KeyPartTypes[P]
  : P extends DescendingPart<infer N>
    ? KeyPartTypes[N]
    : never

/** All parts of a key. */
export type KeyValues<K extends KeyParts> = { readonly [N in keyof K]: KeyPartValue<K[N]> }

/** The first parts of a key, without a gap. */
export type LeadingValues<K extends KeyParts> = {
  readonly [N in keyof K]?: KeyPartValue<K[N]> | undefined
}

interface NamedPart {
  readonly name: string
  /** For messages. */
  readonly what: string
  readonly part: KeyPart<unknown>
  /** Whether text and bytes have no end of their own: the last part, if ascending. */
  readonly isOpen: boolean
}

/** Some leading parts as bytes. */
export interface EncodedParts {
  /** All given parts. */
  readonly bytes: Buffer
  /** The last part that was given, as in messages; undefined if none was. */
  readonly lastPart: string | undefined
  /** The bytes without the end of the last part, if that is text or bytes. */
  readonly beginning: Buffer | undefined
  /** Whether all parts were given. */
  readonly isComplete: boolean
}

/** Memory in which a key is made: a part is begun below `rowBytesMax`. No call is re-entered. */
const scratch = Buffer.allocUnsafe(3 * rowBytesMax + 16)

/** The declared parts of a key; made by {@link defineKey}. Calls throw `ERR_INVALID_ARGUMENT`. */
export class RowKey<K extends KeyParts = KeyParts> {
  /** The parts as they were declared. */
  readonly parts: K
  /** The names of the parts, the first one first. */
  readonly names: readonly (keyof K & string)[]
  readonly #parts: readonly NamedPart[]
  /** The names of the parts, and the form of a key, for messages. */
  readonly #listed: string
  readonly #form: string
  /** Whether the key is one text, whose row is its UTF-8. */
  readonly #isText: boolean

  /** As {@link defineKey}. */
  constructor(parts: K) {
    const entries = readArguments(() =>
      Object.entries(checkObject(parts, 'the parts of a key', "{ id: 'utf8' }")),
    )
    if (entries.length === 0) throw invalidArgument("a key needs a part, such as { id: 'utf8' }")
    this.#parts = entries.map(([name, option], i) =>
      namedPart(name, option, i + 1 === entries.length),
    )
    this.#isText = entries.length === 1 && entries[0][1] === 'utf8'
    this.parts = Object.freeze(Object.fromEntries(entries)) as K
    this.names = Object.freeze(entries.map(([name]) => name))
    this.#listed = this.names.join(', ')
    this.#form = `{ ${this.#listed} }`
  }

  /** The row of a key. All parts are needed, and no other name is taken. */
  encode(key: KeyValues<K>): Buffer {
    readArguments(() => {
      this.#checkNames(checkObject(key, 'a key', this.#form), 'a key')
    })
    return this.encodeFrom(key)
  }

  /** The row of the key in an object that may have more members. */
  encodeFrom(key: KeyValues<K>): Buffer {
    const row = this.rowOf(key)
    if (typeof row !== 'string') return row
    const bytes = Buffer.from(row)
    checkRowLength(bytes.length)
    return bytes
  }

  /**
   * As {@link encodeFrom}, for calls that take text as it is: the row of a key of one text is that
   * text, whose length is not checked.
   */
  rowOf(key: KeyValues<K>): string | Buffer {
    if (this.#isText) {
      const row = this.rowOfText(readArguments(() => key[this.names[0]]))
      if (row !== undefined) return row
    }
    const { bytes, isComplete } = this.#encode(this.#valuesOf(key, 'a key'))
    if (isComplete) return bytes
    const missing = this.#parts.find(({ name }) => memberOf(key, name) === undefined)?.name
    throw invalidArgument(`the key lacks its part '${missing}'; give all of: ${this.#listed}`)
  }

  /** The row of a key of one text, as {@link rowOf}; undefined for other keys and values. */
  rowOfText(value: unknown): string | undefined {
    return this.#isText && isText(value) && value !== '' ? value : undefined
  }

  /** The key of a row that {@link encode} made. Other rows are refused. */
  decode(row: Buffer): KeyValues<K> {
    checkBytes(row, 'the row of a key')
    const values: Record<string, unknown> = {}
    if (this.#isText && isUtf8(row)) {
      values[this.names[0]] = toBytes(row).toString()
      return values as KeyValues<K>
    }
    const reader: KeyReader = { source: toBytes(row), at: 0 }
    for (const { name, part, isOpen } of this.#parts) {
      const value = part.read(reader, isOpen)
      if (value === undefined) throw this.#foreignRow(row, `its '${name}' is no ${part.name}`)
      values[name] = value
    }
    if (reader.at !== row.length) throw this.#foreignRow(row, 'it goes on behind its last part')
    return values as KeyValues<K>
  }

  /**
   * The bytes with which the rows of some leading parts begin; all parts give a row. `what` names
   * the object in messages. For ranges: see `rowsOfKeys`.
   */
  encodeLeading(key: LeadingValues<K>, what: string): EncodedParts {
    readArguments(() => {
      this.#checkNames(checkObject(key, what, this.#form), what)
    })
    return this.#encode(this.#valuesOf(key, what))
  }

  #encode(values: readonly unknown[]): EncodedParts {
    let end = 0
    for (let i = 0; i < values.length; i++) {
      const { part, what, isOpen } = this.#parts[i]
      end = part.write(scratch, end, values[i], what, isOpen)
      checkRowLength(end)
    }
    const isComplete = values.length === this.#parts.length
    if (isComplete && end === 0) {
      throw invalidArgument(`${this.#parts[0].what} must not be empty: a row has at least a byte`)
    }
    const bytes = Buffer.allocUnsafe(end)
    copyBytes(scratch, 0, end, bytes, 0)
    const last = this.#parts.at(values.length - 1)
    if (values.length === 0 || last === undefined) {
      return { bytes, lastPart: undefined, beginning: undefined, isComplete }
    }
    const { part, isOpen, what } = last
    const beginningEnd = isOpen ? end : end - terminatorBytes
    return {
      bytes,
      lastPart: what,
      beginning: part.hasPrefixes ? viewBytes(bytes, 0, beginningEnd) : undefined,
      isComplete,
    }
  }

  /** The given values, in the order of the parts. */
  #valuesOf(key: LeadingValues<K>, what: string): unknown[] {
    return readArguments(() => {
      const values: unknown[] = []
      let missing: string | undefined
      for (const { name } of this.#parts) {
        const value = memberOf(key, name)
        if (value === undefined) missing ??= name
        else if (missing === undefined) values.push(value)
        else {
          throw invalidArgument(
            `${what} gives '${name}' without '${missing}', which comes before: ${this.#listed}`,
          )
        }
      }
      return values
    })
  }

  #checkNames(key: object, what: string): void {
    for (const name in key) {
      if (Object.hasOwn(this.parts, name)) continue
      const near = nearestName(name, this.names)
      const hint = near === undefined ? `they are: ${this.#listed}` : `did you mean '${near}'?`
      throw invalidArgument(`${what} has no part ${shown(name)}; ${hint}`)
    }
  }

  #foreignRow(row: Buffer, reason: string): Error {
    const parts = this.#parts.map(({ name, part }) => `${name}: ${part.name}`).join(', ')
    return invalidArgument(`the row ${shownBytes(row)} is no key { ${parts} }: ${reason}`)
  }
}

/** A member that an object was given: all objects have some others, such as 'constructor'. */
function memberOf(key: object, name: string): unknown {
  const value: unknown = Reflect.get(key, name)
  return value === Reflect.get(Object.prototype, name) ? undefined : value
}

function namedPart(name: string, option: unknown, isLast: boolean): NamedPart {
  if (/^(0|[1-9][0-9]*)$/.test(name)) {
    throw invalidArgument(`a part of a key cannot be named '${name}': objects sort such names`)
  }
  const what = `the part '${name}' of the key`
  if (isPartName(option)) return { name, what, part: keyParts[option], isOpen: isLast }
  const inner: unknown =
    typeof option === 'object' && option !== null && 'descending' in option
      ? option.descending
      : undefined
  if (isPartName(inner)) {
    return { name, what, part: descendingPart(keyParts[inner] as KeyPart<unknown>), isOpen: false }
  }
  const known = Object.keys(keyParts).join(', ')
  const found = shown(inner ?? option)
  throw invalidArgument(`${what} is one of ${known} or { descending: 'date' }, got ${found}`)
}

function isPartName(option: unknown): option is KeyPartName {
  return typeof option === 'string' && Object.hasOwn(keyParts, option)
}

/**
 * Declares the parts of row keys, by name: `defineKey({ user: 'utf8', at: { descending: 'date' }
 * })`. Throws `ERR_INVALID_ARGUMENT`.
 */
export function defineKey<const K extends KeyParts>(parts: K): RowKey<K> {
  return new RowKey(parts)
}
