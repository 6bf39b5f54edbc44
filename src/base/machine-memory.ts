/**
 * How much memory the machine has for this process, and the share of it that a cache takes if
 * nobody says how large it is to be.
 */
import { totalmem } from 'node:os'

const mebibyte = 1024 * 1024

/** The cache gets this part of the memory … */
export const cacheShare = 1 / 16

/** … but at least so many bytes … */
export const cacheBytesFloor = 32 * mebibyte

/** … and at most so many. */
export const cacheBytesCap = 1024 * mebibyte

/** Bytes of memory that the process may use: the machine's, or what its control group allows. */
export function machineMemoryBytes(): number {
  // 0, or more than there is, where nothing constrains the process.
  const constrained = process.constrainedMemory()
  const total = totalmem()
  return constrained > 0 ? Math.min(constrained, total) : total
}

/** Bytes of a cache on a machine with so much memory; a whole number of MiB. */
export function cacheBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * cacheShare) / mebibyte) * mebibyte
  return Math.min(cacheBytesCap, Math.max(cacheBytesFloor, share))
}
