/** Constants of HFile version 3 (FORMAT.md), and the header and checksums of its blocks. */
import { crc32c } from './bytes/crc32c.js'

/** The first eight bytes of each kind of block. */
export const BlockKind = {
  data: 'DATABLK*',
  encodedData: 'DATABLKE',
  leafIndex: 'IDXLEAF2',
  intermediateIndex: 'IDXINTE2',
  rootIndex: 'IDXROOT2',
  bloomChunk: 'BLMFBLK2',
  bloomMeta: 'BLMFMET2',
  deleteBloomMeta: 'DFBLMET2',
  meta: 'METABLKc',
  fileInfo: 'FILEINF2',
  trailer: 'TRABLK"$',
} as const
/** The magic of a block. */
export type BlockKind = (typeof BlockKind)[keyof typeof BlockKind]

/** Bytes of a block's header. */
export const headerBytes = 33
/** Bytes of header and stored payload that have a checksum together, in files of Cellar. */
export const bytesPerChecksum = 16 * 1024
/** Bytes of a checksum. */
export const checksumBytes = 4
/** Bytes of the trailer. */
export const trailerBytes = 4096
/** The last four bytes of a file: minor version 3, major version 3. */
export const versionWord = 0x0300_0003
/** The order of cells, as a trailer names it. */
export const comparatorName = 'org.apache.hadoop.hbase.KeyValue$KVComparator'
/** Other names of the same order. */
export const comparatorNames: readonly string[] = [
  comparatorName,
  'org.apache.hadoop.hbase.CellComparator',
  'org.apache.hadoop.hbase.CellComparatorImpl',
]

/** Kinds of checksums in a header. */
export const ChecksumKind = { none: 0, crc32: 1, crc32c: 2 } as const

/** Types of tags. */
export const TagType = { ttl: 8 } as const

/** Keys of file infos that Cellar reads or writes. */
export const InfoKey = {
  lastKey: 'hfile.LASTKEY',
  averageKeyBytes: 'hfile.AVG_KEY_LEN',
  averageValueBytes: 'hfile.AVG_VALUE_LEN',
  created: 'hfile.CREATE_TIME_TS',
  tagBytesMax: 'hfile.MAX_TAGS_LEN',
  tagsCompressed: 'hfile.TAGS_COMPRESSED',
  encoding: 'DATA_BLOCK_ENCODING',
  indexEncoding: 'INDEX_BLOCK_ENCODING',
  cellVersion: 'KEY_VALUE_VERSION',
  sequenceMax: 'MAX_SEQ_ID_KEY',
  bulkLoadTime: 'BULKLOAD_TIMESTAMP',
  bulkLoadTask: 'BULKLOAD_SOURCE_TASK',
  isMajor: 'MAJOR_COMPACTION_KEY',
  notInMinor: 'EXCLUDE_FROM_MINOR_COMPACTION',
  timeRange: 'TIMERANGE',
  earliestPut: 'EARLIEST_PUT_TS',
  deleteFamilyCount: 'DELETE_FAMILY_COUNT',
} as const

/** Number of checksums of a header with its stored payload, of which each is of `each` bytes. */
export function checksumCount(bytes: number, each = bytesPerChecksum): number {
  return Math.ceil(bytes / each)
}

/** What a header says beside the kind; lengths in bytes. */
export interface BlockHeader {
  /** Bytes of the payload before compression. */
  readonly payloadBytes: number
  /** Bytes of header and stored payload. */
  readonly storedBytes: number
  /** Offset of the block of the same kind before; -1: none. */
  readonly previousOffset: number
}

/** Writes a header at the start of `target`. */
export function writeHeader(target: Buffer, kind: BlockKind, header: BlockHeader): void {
  const { payloadBytes, storedBytes, previousOffset } = header
  const checksums = checksumCount(storedBytes) * checksumBytes
  target.write(kind, 0, 'latin1')
  target.writeInt32BE(storedBytes - headerBytes + checksums, 8)
  target.writeInt32BE(payloadBytes, 12)
  target.writeBigInt64BE(BigInt(previousOffset), 16)
  target[24] = ChecksumKind.crc32c
  target.writeInt32BE(bytesPerChecksum, 25)
  target.writeInt32BE(storedBytes, 29)
}

/** Writes the checksums of `block[0, storedBytes)` at `target[offset, …)`. */
export function writeChecksums(
  block: Buffer,
  storedBytes: number,
  target: Buffer,
  offset: number,
): void {
  let at = offset
  for (let start = 0; start < storedBytes; start += bytesPerChecksum) {
    const end = Math.min(storedBytes, start + bytesPerChecksum)
    at = target.writeUInt32BE(crc32c(block, start, end), at)
  }
}
