/** Stored numbers: unsigned safe integers as 8 bytes, big endian. */
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
