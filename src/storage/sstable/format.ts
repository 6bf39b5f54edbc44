/**
 * Numbers of the SSTable format. FORMAT.md in this folder is their description.
 *
 * Everything here stands on disk or bounds a read from disk: never change a value, add a
 * format version instead.
 */

/**
 * Version that this code writes, and the newest that it reads. 0 is invalid. Never change, only
 * raise.
 */
export const formatVersion = 2

/** The last eight bytes of every SSTable of every version: "CellarST". Never change. */
export const fileMagic = Buffer.from('CellarST', 'latin1')

/**
 * Bytes after the payload of every stored section: codec id, uncompressed length, checksum. Never
 * change.
 */
export const trailerBytes = 13

/** Bytes of the footer of format version 2. Never change. */
export const footerBytes = 72

/** Bytes of the identity of a database. Never change. */
export const databaseIdBytes = 16

/** The identity in files that were written for no database in particular (`BulkWriter`). */
export const noDatabaseId: Buffer = Buffer.alloc(databaseIdBytes)

/**
 * Bytes at the end of the footer that every format version has: version, its complement, magic.
 * Never change.
 */
export const footerTailBytes = 16

/** Longest key plus value of one entry, in bytes. */
export const entryBytesMax = 32 * 1024 * 1024

/**
 * Longest uncompressed data block, in bytes: the largest entry alone in its block, with room for
 * lengths and slots. What a reader allocates for one block never exceeds it.
 */
export const payloadBytesMax = 33 * 1024 * 1024

/** Smallest `blockBytes` that a writer takes. */
export const blockBytesMin = 64
/** Largest `blockBytes` that a writer takes. */
export const blockBytesMax = 16 * 1024 * 1024

/** Longest filter, index or properties section as stored, in bytes. */
export const sectionBytesMax = 0x4000_0000

/**
 * Set in the last word of a data block whose slots are four bytes wide instead of two. Never
 * change.
 */
export const wideSlotsFlag = 0x8000_0000
