/**
 * CRC32C (Castagnoli), the checksum of HBase's blocks, eight bytes a step: each of eight tables
 * gives what a byte contributes from its distance to the end of the step.
 */

const polynomial = 0x82f63b78
const tables = new Int32Array(8 * 256)

for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? polynomial : 0)
  tables[byte] = value
}
for (let i = 256; i < tables.length; i++) {
  const before = tables[i - 256]
  tables[i] = (before >>> 8) ^ tables[before & 0xff]
}

/** The checksum of `source[start, end)`, from 0 to 2^32 - 1. */
export function crc32c(source: Uint8Array, start: number, end: number): number {
  let crc = -1
  let at = start
  for (const stepsEnd = end - 8; at <= stepsEnd; at += 8) {
    crc =
      tables[1792 + ((crc ^ source[at]) & 0xff)] ^
      tables[1536 + (((crc >>> 8) ^ source[at + 1]) & 0xff)] ^
      tables[1280 + (((crc >>> 16) ^ source[at + 2]) & 0xff)] ^
      tables[1024 + ((crc >>> 24) ^ source[at + 3])] ^
      tables[768 + source[at + 4]] ^
      tables[512 + source[at + 5]] ^
      tables[256 + source[at + 6]] ^
      tables[source[at + 7]]
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ tables[(crc ^ source[at]) & 0xff]
  return ~crc >>> 0
}
