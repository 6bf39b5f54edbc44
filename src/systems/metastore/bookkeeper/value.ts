/**
 * The fields of a row: names to bytes, as BookKeeper's `Value` defines them.
 *
 * A `Value` shares the bytes of its caller. Tables copy bytes on writes and reads, so a caller
 * cannot change a stored row through a buffer.
 */
import { types } from 'node:util'
import { checkBytesLike, shown } from '../../../api/index.js'
import { illegalOp } from '../errors.js'

/** No fields: keys and versions only. */
export const NON_FIELDS: ReadonlySet<string> = Object.freeze(new Set<string>())

/** Every field. */
export const ALL_FIELDS = null

/** The fields of a read: {@link ALL_FIELDS}, {@link NON_FIELDS} or a set of names. */
export type FieldSelection = ReadonlySet<string> | null

/** Bytes of a field; a string means its UTF-8 form. In a put, null deletes the field. */
export type FieldData = Uint8Array | string | null

/** A field of a put: null deletes the field; a string means its UTF-8 form. */
export interface FieldChange {
  readonly name: string
  readonly data: Buffer | string | null
}

/** A map of field names to bytes. */
export class Value {
  /** Strings are encoded on the first read: most values are only put. */
  readonly #fields: Map<string, Buffer | string | null>
  /** Whether the live view was requested: from then on the map holds no strings. */
  #isShown = false

  /** Shares the bytes of another value or of an object's properties. Default: no fields. */
  constructor(fields?: Value | Readonly<Record<string, FieldData>>) {
    this.#fields = new Map(fields instanceof Value ? fields.#fields : undefined)
    if (fields === undefined || fields instanceof Value) return
    for (const [name, data] of entriesOf(fields)) this.setField(name, data)
  }

  /** Does not use the prototype chain, which throws for a revoked proxy. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && #fields in value
  }

  /** The bytes of a field; null if it is absent or null. */
  getField(name: string): Buffer | null {
    const data = this.#fields.get(name)
    if (typeof data !== 'string') return data ?? null
    const bytes = Buffer.from(data)
    this.#fields.set(name, bytes)
    return bytes
  }

  /**
   * Sets a field. A put deletes a field whose value is null. `ERR_METASTORE_ILLEGAL_OP` unless the
   * name is a string, and the data are a string, bytes or null.
   */
  setField(name: string, data: FieldData): this {
    if (typeof name !== 'string') throw illegalOp(`a field name is a string, not ${shown(name)}`)
    this.#set(name, typeof data === 'string' ? data : asBuffer(data))
    return this
  }

  /** Removes all fields. */
  clearFields(): this {
    this.#fields.clear()
    return this
  }

  /** A copy of the names, in order of insertion. */
  getFields(): ReadonlySet<string> {
    return new Set(this.#fields.keys())
  }

  /** A live view of the fields. */
  getFieldsMap(): ReadonlyMap<string, Buffer | null> {
    if (!this.#isShown) {
      this.#isShown = true
      for (const [name, data] of this.#fields) this.#set(name, data)
    }
    return this.#fields as ReadonlyMap<string, Buffer | null>
  }

  /** @internal A copy of the fields, for a put of a table. */
  changes(): FieldChange[] {
    // Allocated with its final length: thousands of these arrays may wait for the disk.
    const changes = new Array<FieldChange>(this.#fields.size)
    let at = 0
    for (const [name, data] of this.#fields) {
      changes[at++] = { name, data: data instanceof Uint8Array ? Buffer.from(data) : data }
    }
    return changes
  }

  /** Number of fields, null ones included. */
  get size(): number {
    return this.#fields.size
  }

  /**
   * A value with exactly the named fields, null where a field is absent; all fields for {@link
   * ALL_FIELDS}.
   */
  project(fields: FieldSelection): Value {
    if (fields === null) return new Value(this)
    if (!types.isSet(fields)) throw illegalOp(`the fields are a Set, not ${shown(fields)}`)
    const projected = new Value()
    for (const name of fields) projected.setField(name, this.getField(name))
    return projected
  }

  /** Copies the fields of another value; null removes a field. */
  merge(other: Value): this {
    if (!(other instanceof Value)) throw illegalOp(`the other is a Value, not ${shown(other)}`)
    for (const [name, data] of other.#fields) {
      if (data === null) this.#fields.delete(name)
      else this.#set(name, data)
    }
    return this
  }

  /** Whether both values have the same names with the same bytes; null only equals null. */
  equals(other: unknown): boolean {
    if (!(other instanceof Value) || other.#fields.size !== this.#fields.size) return false
    const others = other.getFieldsMap()
    for (const [name, data] of this.getFieldsMap()) {
      const its = others.get(name)
      if (its === undefined) return false
      if (data === null || its === null ? data !== its : !data.equals(its)) return false
    }
    return true
  }

  /** For display: `[('name'=text), ('other'=NONE)]`. */
  toString(): string {
    const fields = [...this.getFieldsMap()].map(
      ([name, data]) => `('${name}'=${data === null ? 'NONE' : data.toString()})`,
    )
    return `[${fields.join(', ')}]`
  }

  #set(name: string, data: Buffer | string | null): void {
    this.#fields.set(name, this.#isShown && typeof data === 'string' ? Buffer.from(data) : data)
  }
}

function asBuffer(data: Uint8Array | null): Buffer | null {
  if (data === null) return null
  try {
    checkBytesLike(data, 'the data of a field')
  } catch (error) {
    throw illegalOp('the data of a field must be bytes, a string or null', error)
  }
  if (Buffer.isBuffer(data)) return data
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}

/** The fields of an object, whose getters may throw. */
function entriesOf(fields: Readonly<Record<string, FieldData>>): [string, FieldData][] {
  try {
    return Object.entries(fields)
  } catch (error) {
    throw illegalOp('the fields cannot be read', error)
  }
}
