/** Rows of the index table: parts one behind the other, in the order of their values. */

/** First bytes of the kinds of rows. */
export const rowKinds = { unique: 0x75, field: 0x78 } as const

const escape = 0xff
const terminator = 0x01

/** Bytes such that no value is the beginning of another, and order stays: 00 becomes 00 FF. */
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

/** Offset behind the terminator of a part that begins at `start`; -1 if there is none. */
export function endOfPart(row: Buffer, start: number): number {
  for (let at = start; at + 1 < row.length; at++) {
    if (row[at] !== 0) continue
    if (row[at + 1] === terminator) return at + 2
    at++
  }
  return -1
}

/** The beginning of the rows of one field of one record table. */
export function fieldPrefix(kind: number, table: Buffer, ordinal: number): Buffer {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(ordinal)
  return Buffer.concat([Buffer.of(kind), terminated(table), number])
}
