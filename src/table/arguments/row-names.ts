/** Names of the rows that calls read or change, which define the order of waiting calls. */
import { toBytes } from '../../base/bytes.js'
import type { TableParts } from '../../storage/engine/engine.js'

/** The parts by which calls wait, and the rows by which waiting calls are ordered. */
export interface CallPlace extends Pick<TableParts, 'readPoints' | 'versions' | 'writes'> {
  /** Names of the rows of a mutation; a malformed mutation has none. */
  namesOf(operation: unknown): ReadonlySet<string>
}

/** Names of the rows of some operations; values that are not rows are left out. */
export class RowNames {
  readonly names = new Set<string>()

  /**
   * Adds the rows of a put, delete, increment, append, get or row mutation, of `{ check, action }`,
   * or of a mutation of several rows with its checks, all of one table.
   */
  add(table: string, operation: unknown): this {
    if (typeof operation !== 'object' || operation === null) return this
    try {
      const { row, check, rows, checks } = operation as Readonly<Record<string, unknown>>
      this.addRow(table, row)
      this.addRowOf(table, check)
      if (Array.isArray(rows)) for (const each of rows) this.addRowOf(table, each)
      if (Array.isArray(checks)) for (const each of checks) this.addRowOf(table, each)
    } catch {
      // The operation itself rejects unreadable arguments.
    }
    return this
  }

  /** Adds the rows of one operation of a batch, such as `{ put }`. */
  addOfBatch(table: string, operation: unknown): void {
    if (typeof operation !== 'object' || operation === null) return
    try {
      for (const inner of Object.values(operation) as unknown[]) this.add(table, inner)
    } catch {
      // The operation itself rejects unreadable arguments.
    }
  }

  private addRowOf(table: string, operation: unknown): void {
    if (typeof operation !== 'object' || operation === null) return
    this.addRow(table, (operation as { readonly row?: unknown }).row)
  }

  private addRow(table: string, row: unknown): void {
    if (typeof row !== 'string' && !(row instanceof Uint8Array)) return
    this.names.add(`${table}\n${toBytes(row).toString('latin1')}`)
  }
}
