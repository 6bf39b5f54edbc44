/**
 * The rows of a log in a table of the database: the state in `o:state`, a batch in cells of the
 * family `b`. Their qualifiers are the sequence (8 bytes) and the number of the part (2 bytes).
 *
 * The timestamps of the cells are versions of the state, far below any time. So the delete marker
 * of a removed row hides what a late call of an earlier owner writes there. Without the marker, a
 * late call could make the row anew, and that owner would take the row for its own. Major
 * compactions keep the markers for an hour.
 */
import type { Check, Database, PutCell, Table } from '../../api/index.js'
import { hasCode } from '../../base/errors.js'
import type { LogRow, LogStore, RowChange } from './log/log-store.js'

/** Bytes of a cell, far below the limit of cells. */
const partBytes = 1024 * 1024
/** How long delete markers hide late calls, in milliseconds. */
const timeToPurgeDeletesMilliseconds = 60 * 60 * 1000
const stateColumn = 'o:state'
const stateCell = { family: 'o', qualifier: 'state' }

/** Makes the table of logs if it does not exist. */
export async function ensureLogTable(
  database: Database,
  name: string,
  durability: 'SYNC_WAL' | 'FSYNC_WAL',
): Promise<void> {
  if (await database.admin.tableExists(name)) return
  try {
    const family = { timeToPurgeDeletesMilliseconds }
    await database.createTable(name, { families: { o: family, b: family }, durability })
  } catch (error) {
    // Another process was quicker.
    if (!hasCode(error, 'ERR_TABLE_EXISTS')) throw error
  }
}

export class TableLogStore implements LogStore {
  readonly #table: Table

  constructor(table: Table) {
    this.#table = table
  }

  async read(row: string, what: 'all' | 'state'): Promise<LogRow> {
    const result = await this.#table.get(what === 'all' ? { row } : { row, columns: [stateColumn] })
    const batches = new Map<number, Buffer>()
    for (const { family, qualifier, value } of result.cells()) {
      if (family !== 'b') continue
      const sequence = Number(qualifier.readBigUInt64BE())
      const earlier = batches.get(sequence)
      batches.set(sequence, earlier === undefined ? value : Buffer.concat([earlier, value]))
    }
    return { state: result.value(stateColumn), batches }
  }

  async change(row: string, change: RowChange): Promise<boolean> {
    const { expected, state, version, batches } = change
    const check: Check =
      expected === undefined
        ? { row, column: stateColumn, notExists: true }
        : { row, column: stateColumn, equals: expected }
    const cells: PutCell[] = [{ column: stateCell, value: state, timestamp: version }]
    for (const { sequence, bytes } of batches) {
      for (let part = 0; part * partBytes < bytes.length; part++) {
        const qualifier = Buffer.alloc(10)
        qualifier.writeBigUInt64BE(BigInt(sequence))
        qualifier.writeUInt16BE(part, 8)
        const value = bytes.subarray(part * partBytes, (part + 1) * partBytes)
        cells.push({ column: { family: 'b', qualifier }, value, timestamp: version })
      }
    }
    const { success } = await this.#table.checkAndMutate(check, { put: { cells } })
    return success
  }

  async remove(row: string): Promise<void> {
    await this.#table.delete({ row })
  }
}
