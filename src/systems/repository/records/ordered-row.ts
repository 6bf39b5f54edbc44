/** Rows of the index table: encoded parts one after the other, in the order of their values. */
import type { AtomicMutation } from '../../../api/index.js'
import type { TableContext } from './table-context.js'

/** The column of the rows of the index table. */
export const indexColumn = 'i:r'

/** First bytes of the kinds of rows. */
export const rowKinds = { unique: 0x75, field: 0x78, definition: 0x64 } as const

const escape = 0xff
const terminator = 0x01

/**
 * Encodes bytes so that no value is a prefix of another and the order stays: 00 becomes 00 FF, and
 * 00 01 ends the value.
 */
export function terminated(bytes: Uint8Array): Buffer {
  let zeros = 0
  for (const byte of bytes) if (byte === 0) zeros++
  const out = Buffer.allocUnsafe(bytes.length + zeros + 2)
  let at = 0
  for (const byte of bytes) {
    out[at++] = byte
    if (byte === 0) out[at++] = escape
  }
  out[at++] = 0
  out[at] = terminator
  return out
}

/** Undoes {@link terminated}; `bytes` excludes the terminator. */
export function unterminated(bytes: Buffer): Buffer {
  const out: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    out.push(bytes[at])
    if (bytes[at] === 0) at++
  }
  return Buffer.from(out)
}

/** Offset after the terminator of a part that begins at `start`; -1 without a terminator. */
export function endOfPart(row: Buffer, start: number): number {
  for (let at = start; at + 1 < row.length; at++) {
    if (row[at] !== 0) continue
    if (row[at + 1] === terminator) return at + 2
    at++
  }
  return -1
}

/** The first row after all rows with this prefix, whose first byte is not FF. */
export function rowBehind(prefix: Buffer): Buffer {
  let length = prefix.length
  while (prefix[length - 1] === 0xff) length--
  const row = Buffer.from(prefix.subarray(0, length))
  row[length - 1]++
  return row
}

/** The prefix of the rows of a number, such as that of a field, in one record table. */
export function fieldPrefix(kind: number, table: Buffer, ordinal: number): Buffer {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(ordinal)
  return Buffer.concat([Buffer.of(kind), terminated(table), number])
}

/** The mutation that writes a row of the index table. */
export function indexRow({ indexTable }: TableContext, row: Buffer, value: Buffer): AtomicMutation {
  const put = { cells: { [indexColumn]: value }, timestamp: 1 }
  return { table: indexTable, row, mutations: [{ put }] }
}

/** The mutation that removes a row of the index table. */
export function indexRemoval({ indexTable }: TableContext, row: Buffer): AtomicMutation {
  const families = [{ family: 'i', timestamp: 1 }]
  return { table: indexTable, row, mutations: [{ delete: { families } }] }
}
