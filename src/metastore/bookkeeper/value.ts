/**
 * The fields of a row: names to bytes, as BookKeeper's `Value` defines them.
 *
 * A `Value` shares the bytes that it is given and hands them out again; tables copy what goes in
 * and what comes out, so that nobody changes a stored row through a buffer.
 */

/** No fields: keys and versions only. */
export const NON_FIELDS: ReadonlySet<string> = Object.freeze(new Set<string>())

/** Every field. */
export const ALL_FIELDS = null

/** Which fields a read returns: {@link ALL_FIELDS}, {@link NON_FIELDS} or some names. */
export type FieldSelection = ReadonlySet<string> | null

/** Bytes of a field; a string stands for its UTF-8 form. Null means "delete the field" in a put. */
export type FieldData = Uint8Array | string | null

/** A map of field names to bytes. */
export class Value {
  readonly #fields: Map<string, Buffer | null>

  /** Shares the bytes of another value or of an object's properties. Default: no fields. */
  constructor(fields?: Value | Readonly<Record<string, FieldData>>) {
    this.#fields = new Map(fields instanceof Value ? fields.#fields : undefined)
    if (fields === undefined || fields instanceof Value) return
    for (const [name, data] of Object.entries(fields)) this.setField(name, data)
  }

  /** The bytes of a field; null if it is absent or null. */
  getField(name: string): Buffer | null {
    return this.#fields.get(name) ?? null
  }

  /** Sets a field. Null is kept as such; a put deletes the field then. */
  setField(name: string, data: FieldData): this {
    this.#fields.set(name, asBuffer(data))
    return this
  }

  /** Removes all fields. */
  clearFields(): this {
    this.#fields.clear()
    return this
  }

  /** The names, in order of insertion; as of now. */
  getFields(): ReadonlySet<string> {
    return new Set(this.#fields.keys())
  }

  /** A live view of the fields. */
  getFieldsMap(): ReadonlyMap<string, Buffer | null> {
    return this.#fields
  }

  /** Number of fields, null ones included. */
  get size(): number {
    return this.#fields.size
  }

  /**
   * A value with exactly the named fields, null where this one has none; all fields for
   * {@link ALL_FIELDS}.
   */
  project(fields: FieldSelection): Value {
    if (fields === null) return new Value(this)
    const projected = new Value()
    for (const name of fields) projected.setField(name, this.getField(name))
    return projected
  }

  /** Takes over the fields of another value; a null one removes the field. */
  merge(other: Value): this {
    for (const [name, data] of other.#fields) {
      if (data === null) this.#fields.delete(name)
      else this.#fields.set(name, data)
    }
    return this
  }

  /** Whether both have the same names with the same bytes; null equals null only. */
  equals(other: unknown): boolean {
    if (!(other instanceof Value) || other.#fields.size !== this.#fields.size) return false
    for (const [name, data] of this.#fields) {
      const its = other.#fields.get(name)
      if (its === undefined) return false
      if (data === null || its === null ? data !== its : !data.equals(its)) return false
    }
    return true
  }

  /** For people: `[('name'=text), ('other'=NONE)]`. */
  toString(): string {
    const fields = [...this.#fields].map(
      ([name, data]) => `('${name}'=${data === null ? 'NONE' : data.toString()})`,
    )
    return `[${fields.join(', ')}]`
  }
}

function asBuffer(data: FieldData): Buffer | null {
  if (data === null) return null
  if (typeof data === 'string') return Buffer.from(data)
  if (Buffer.isBuffer(data)) return data
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  throw new TypeError('the data of a field must be bytes, a string or null')
}
