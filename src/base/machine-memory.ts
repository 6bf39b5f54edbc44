/**
 * The memory that this process may use, and the default size of a cache, which is a share of it.
 */
import { totalmem } from 'node:os'

const mebibyte = 1024 * 1024

/** The default size of a cache is this share of the memory … */
export const cacheShare = 1 / 16

/** … but at least this many bytes … */
export const cacheBytesFloor = 32 * mebibyte

/** … and at most this many. */
export const cacheBytesCap = 1024 * mebibyte

/** Bytes of memory that the process may use: the machine's, or the limit of its control group. */
export function machineMemoryBytes(): number {
  // Without a limit, `constrainedMemory` is 0 or more than the machine has.
  const constrained = process.constrainedMemory()
  const total = totalmem()
  return constrained > 0 ? Math.min(constrained, total) : total
}

/** Default bytes of a cache on a machine with `memoryBytes`; a whole number of MiB. */
export function cacheBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * cacheShare) / mebibyte) * mebibyte
  return Math.min(cacheBytesCap, Math.max(cacheBytesFloor, share))
}
