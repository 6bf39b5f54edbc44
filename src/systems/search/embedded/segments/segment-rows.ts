/** The rows of segments in the table. `src/systems/search/FORMAT.md` describes them. */
import type { Database, DurabilityOption, Put, Table } from '../../../../api/index.js'
import { corrupt } from '../../../bytes/byte-reader.js'

/** Kinds of segment rows; the numbers are stored. */
export const rowKind = { header: 0, terms: 1, postings: 2, stored: 3, lengths: 4 } as const
/** A kind of row; see {@link rowKind}. */
export type RowKind = (typeof rowKind)[keyof typeof rowKind]

/** The family of the rows of segments. */
export const segmentFamily = 's'
/** The family of the commit. */
export const commitFamily = 'c'
/** Maximum bytes of a cell; a longer value is split into several cells. */
const partBytes = 1 << 20

/** The families of the table of an index. */
export const searchFamilies = {
  [commitFamily]: { newVersionBehavior: true },
  [segmentFamily]: {},
}

/** The key of a row; it begins with the number of the segment. */
export function segmentRow(segment: number, kind: RowKind, number: number): Buffer {
  const row = Buffer.allocUnsafe(9)
  row.writeUInt32BE(segment)
  row[4] = kind
  row.writeUInt32BE(number, 5)
  return row
}

/** Reads and writes rows of segments. */
export class SegmentRows {
  readonly table: Table
  readonly durability: DurabilityOption

  constructor(database: Database, table: string, durability: DurabilityOption) {
    this.table = database.table(table)
    this.durability = durability
  }

  /** Reads the value of a row. `ERR_CORRUPTION` if the row is missing. */
  async read(segment: number, kind: RowKind, number: number): Promise<Buffer> {
    const row = segmentRow(segment, kind, number)
    const cells = (await this.table.get({ row, columns: [segmentFamily] })).cells()
    if (cells.length === 1) return cells[0].value
    if (cells.length > 1) return Buffer.concat(cells.map(({ value }) => value))
    throw corrupt(`the search segment ${segment} lacks its row ${row.toString('hex')}`)
  }

  put(segment: number, kind: RowKind, number: number, bytes: Buffer): Put {
    const cells = []
    for (let at = 0; at === 0 || at < bytes.length; at += partBytes) {
      const qualifier = (at / partBytes).toString(16).padStart(4, '0')
      const value = bytes.subarray(at, at + partBytes)
      cells.push({ column: `${segmentFamily}:${qualifier}`, value })
    }
    const row = segmentRow(segment, kind, number)
    return { row, cells, timestamp: 1, durability: this.durability }
  }

  async remove(segment: number): Promise<void> {
    const prefix = segmentRow(segment, rowKind.header, 0).subarray(0, 4)
    let batch: Buffer[] = []
    const remove = async (): Promise<void> => {
      const { durability } = this
      const families = [segmentFamily]
      await this.table.deleteList(batch.map((row) => ({ row, families, timestamp: 1, durability })))
      batch = []
    }
    // The header is deleted last: it is needed to find the other rows.
    for await (const row of this.table.scan({ prefix, reversed: true, columns: [segmentFamily] })) {
      batch.push(row.row!)
      if (batch.length >= 500) await remove()
    }
    if (batch.length > 0) await remove()
  }

  /** Numbers of all segments with at least one row, ascending. */
  async segments(): Promise<number[]> {
    const numbers: number[] = []
    let startRow: Buffer = Buffer.alloc(4)
    for (;;) {
      const [found] = await this.table.scan({ startRow, limit: 1, columns: [segmentFamily] }).all()
      if (found === undefined) return numbers
      const number = found.row!.readUInt32BE(0)
      numbers.push(number)
      if (number === 0xffffffff) return numbers
      startRow = segmentRow(number + 1, rowKind.header, 0).subarray(0, 4)
    }
  }
}
