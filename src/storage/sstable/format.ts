/**
 * Constants of the SSTable format, which FORMAT.md in this folder describes.
 *
 * All are part of the disk format or bound a read from disk: never change a value, add a format
 * version instead.
 */

/**
 * The version written by this code, and the only one that it reads. 0 is invalid. Never change,
 * only raise.
 */
export const formatVersion = 4

/** The last eight bytes of every SSTable of every version: "CellarST". Never change. */
export const fileMagic = Buffer.from('CellarST', 'latin1')

/**
 * Size of the trailer after the payload of every stored section: codec id, uncompressed length,
 * checksum. Never change.
 */
export const trailerBytes = 13

/** Size of the footer since format version 2. Never change. */
export const footerBytes = 72

/** Size of the identity of a database. Never change. */
export const databaseIdBytes = 16

/** The identity in files that are written without a database (`BulkWriter`). */
export const noDatabaseId: Buffer = Buffer.alloc(databaseIdBytes)

/**
 * Size of the common end of the footers of all format versions: version, its complement, magic.
 * Never change.
 */
export const footerTailBytes = 16

/** Maximum size of key and value of one entry, in bytes. */
export const entryBytesMax = 32 * 1024 * 1024

/**
 * Maximum size of an uncompressed data block, in bytes: the largest entry alone in its block, with
 * lengths and slots. Bounds the allocation of a reader for one block.
 */
export const payloadBytesMax = 33 * 1024 * 1024

/** Minimum of `blockBytes`. */
export const blockBytesMin = 64
/** Maximum of `blockBytes`. */
export const blockBytesMax = 16 * 1024 * 1024

/** Maximum stored size of the filter, index and properties sections, in bytes. */
export const sectionBytesMax = 0x4000_0000

/**
 * Flag in the last word of a data block whose slots have four bytes instead of two. Never change.
 */
export const wideSlotsFlag = 0x8000_0000

/**
 * Mark of a slot whose entry begins a row, in the second highest bit of the slot. Without the mark
 * the entry goes on with the row of the entry before. Never change.
 */
export const beginsRowMark = 1

/**
 * Mark in the highest bit of a slot with {@link beginsRowMark}: the block holds the whole row, and
 * the row is plain. Never change.
 */
export const plainRowMark = 2

/** Bits of a slot of two bytes below the marks: the offset of its entry. Never change. */
export const narrowOffsetBits = 14

/** As {@link narrowOffsetBits}, of a slot of four bytes. Never change. */
export const wideOffsetBits = 30

/** The highest offset in a slot of two bytes, and the mask of the offset. */
export const narrowOffsetMax: number = (1 << narrowOffsetBits) - 1

/** As {@link narrowOffsetMax}, of a slot of four bytes. */
export const wideOffsetMax: number = 2 ** wideOffsetBits - 1

/** Size of a slot of a block whose offsets do not fit into two bytes with the marks. */
export const wideSlotBytes = 4
