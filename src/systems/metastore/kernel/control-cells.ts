/**
 * Cells of control tables: the version of a layout, and numbers, which are unsigned safe integers
 * as 8 bytes, big endian.
 */
import { CellarError, ErrorCode, type AtomicCheck, type Table } from '../../../api/index.js'
import { corrupt } from '../../bytes/byte-reader.js'

/** Writes a number as 8 bytes. */
export function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  bytes.writeUInt32BE(value >>> 0, at + 4)
}

/** Reads a number of 8 bytes; `row` has it, for the `ERR_CORRUPTION` of bytes that are none. */
export function readUint64(bytes: Buffer, at: number, row?: Uint8Array | string): number {
  if (at + 8 <= bytes.length) {
    const number = bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4)
    if (number <= Number.MAX_SAFE_INTEGER) return number
  }
  const place = row === undefined ? 'a stored row' : `the row ${shownRow(row)}`
  throw corrupt(`${place} has the damaged number 0x${bytes.toString('hex', at, at + 8)}`)
}

function shownRow(row: Uint8Array | string): string {
  return JSON.stringify(typeof row === 'string' ? row : Buffer.from(row).toString('latin1'))
}

/** A number as 8 bytes. */
export function uint64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  writeUint64(bytes, value, 0)
  return bytes
}

/** The place of a number in a table. */
export interface ControlCell {
  readonly row: string
  readonly column: string
}

/** The check that a cell has a number; 0 = that it is absent. */
export function numberCheck(table: Table, cell: ControlCell, number: number): AtomicCheck {
  return { table, ...cell, equals: number === 0 ? null : uint64(number) }
}

/** The number in a cell of 8 bytes; 0 if the cell is absent. */
export async function storedNumber(table: Table, { row, column }: ControlCell): Promise<number> {
  const bytes = (await table.get({ row })).value(column)
  return bytes === undefined ? 0 : readUint64(bytes, 0, row)
}

/**
 * Checks the version of the layout of a store, and writes it into a new store.
 * `ERR_FORMAT_VERSION`.
 */
export async function checkLayout(table: Table, column: string, version: string): Promise<void> {
  const row = 'layout'
  const put = { cells: { [column]: version } }
  await table.checkAndMutate({ row, column, notExists: true }, { put })
  const found = (await table.get({ row })).value(column)?.toString()
  if (found === version) return
  const message = `the layout has version ${found}; this package knows ${version}`
  throw new CellarError(ErrorCode.formatVersion, message)
}
