/**
 * Mapping between keys of a Level and rows of a table, and of a batch to mutations of rows.
 *
 * A key is its row, byte for byte, so a table is readable through both interfaces. Rows cannot be
 * empty, but keys can: a key that is empty or begins with a zero byte is prefixed with one zero
 * byte. The order of the rows is the order of the keys.
 */

import { invalidArgument, type MultiRowMutations, type Mutation } from '../api/index.js'

/** A key or value in one of the formats that the database takes from abstract-level. */
export type LevelKey = string | Buffer | Uint8Array

/**
 * A key or value as text or bytes. abstract-level's encoding 'view' hands on views of any class,
 * and a custom encoding anything. `ERR_INVALID_ARGUMENT`.
 */
export function textOrBytes(data: LevelKey | ArrayBufferView, what: string): LevelKey {
  if (typeof data === 'string' || data instanceof Uint8Array) return data
  if (!ArrayBuffer.isView(data)) {
    throw invalidArgument(`${what} must be encoded as text or bytes, got ${typeof data}`)
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

const rowOfEmptyKey = Buffer.of(0)

/** The row that holds a key. `ERR_INVALID_ARGUMENT`. */
export function rowOfKey(encodedKey: LevelKey): LevelKey {
  const key = textOrBytes(encodedKey, 'a key')
  if (key.length > 0) {
    const first = typeof key === 'string' ? key.charCodeAt(0) : key[0]
    if (first !== 0) return key
    return typeof key === 'string' ? `\0${key}` : Buffer.concat([rowOfEmptyKey, key])
  }
  return rowOfEmptyKey
}

/** The key that a row holds. REQUIRES a row made by {@link rowOfKey}. */
export function keyOfRow(row: Buffer): Buffer {
  return row[0] === 0 ? row.subarray(1) : row
}

/** Stored bytes in the format of the read. */
export function inFormat(bytes: Buffer, isText: boolean): string | Buffer {
  return isText ? bytes.toString('utf8') : bytes
}

type Row = MultiRowMutations['rows'][number]

/**
 * The rows of a batch, from its operations in order. Only the last operation on a key counts. All
 * cells of an atomic mutation may share one timestamp, and a delete marker then hides a put
 * regardless of their order.
 */
export class BatchRows {
  readonly #column: string
  readonly #deletion: readonly Mutation[]
  readonly #rows: Row[] = []
  #hasPut = false
  #hasDeletion = false

  /** `deletion` holds the mutations that delete a row. */
  constructor(column: string, deletion: readonly Mutation[]) {
    this.#column = column
    this.#deletion = deletion
  }

  put(key: LevelKey, value: LevelKey): void {
    this.#hasPut = true
    const cells = { [this.#column]: textOrBytes(value, 'a value') }
    this.#rows.push({ row: rowOfKey(key), mutations: [{ put: { cells } }] })
  }

  del(key: LevelKey): void {
    this.#hasDeletion = true
    this.#rows.push({ row: rowOfKey(key), mutations: this.#deletion })
  }

  take(): readonly Row[] {
    return this.#hasPut && this.#hasDeletion ? lastOfEach(this.#rows) : this.#rows
  }
}

function lastOfEach(rows: readonly Row[]): readonly Row[] {
  const last = new Map<string, Row>()
  for (const row of rows) last.set(nameOf(row.row), row)
  return last.size === rows.length ? rows : [...last.values()]
}

/** Equal for equal rows, whether text or bytes. */
function nameOf(row: LevelKey): string {
  const bytes = typeof row === 'string' ? Buffer.from(row) : row
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}
