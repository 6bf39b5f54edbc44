/** Converts the operations of a batch to mutations of rows. */
import type { MultiRowMutations, Mutation } from '../api/index.js'
import { rowOfKey, type LevelKey } from './keys.js'

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
    const cells = { [this.#column]: value }
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
