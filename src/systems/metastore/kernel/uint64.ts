/** Unsigned safe integers as 8 bytes, big endian. */

/** Writes a number as 8 bytes. */
export function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  bytes.writeUInt32BE(value >>> 0, at + 4)
}

/** Reads a number of 8 bytes. */
export function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4)
}

/** A number as 8 bytes. */
export function uint64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  writeUint64(bytes, value, 0)
  return bytes
}
