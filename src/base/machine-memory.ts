/**
 * The memory that this process may use, and the default sizes of caches and memtables, which are
 * shares of it.
 */
import { freemem, totalmem } from 'node:os'

const mebibyte = 1024 * 1024

/** The default size of a cache is this share of the available memory … */
export const cacheShare = 1 / 4

/** … but at least this many bytes. */
export const cacheBytesFloor = 32 * mebibyte

/** The default budget of memtables is this share of the available memory … */
export const memtableShare = 1 / 16

/** … but at least this many bytes … */
export const memtableBytesFloor = 32 * mebibyte

/** … and at most this many. */
export const memtableBytesCeiling = 512 * mebibyte

/** Bytes of memory that the process may use: the machine's, or the limit of its control group. */
export function machineMemoryBytes(): number {
  // Without a limit, `constrainedMemory` is 0 or more than the machine has.
  const constrained = process.constrainedMemory()
  const total = totalmem()
  return constrained > 0 ? Math.min(constrained, total) : total
}

/**
 * Bytes of memory that the process could use in addition without taking them from others. Within a
 * control group the pages of files count as available, as elsewhere: the kernel gives them up. Only
 * Linux says what is available; elsewhere half of the memory is taken to be.
 */
export function availableMemoryBytes(): number {
  const limit = machineMemoryBytes()
  if (process.platform !== 'linux') return limit / 2
  const available = freemem()
  if (limit >= totalmem()) return available
  return Math.max(0, Math.min(available, limit - process.memoryUsage.rss()))
}

/**
 * Default bytes of a cache, a whole number of MiB. `memoryBytes`: what is available, with what the
 * cache has already.
 */
export function cacheBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * cacheShare) / mebibyte) * mebibyte
  return Math.max(cacheBytesFloor, share)
}

/** Default budget of all memtables together, a whole number of MiB. */
export function memtableBytesFor(memoryBytes: number): number {
  const share = Math.floor((memoryBytes * memtableShare) / mebibyte) * mebibyte
  return Math.min(memtableBytesCeiling, Math.max(memtableBytesFloor, share))
}

let collect: (() => void) | undefined

/**
 * Runs a full collection of this thread's heap if Node allows it; else does nothing. Memory that
 * threads share is freed when every thread has collected its references, and its bytes do not count
 * when V8 decides to collect: hundreds of megabytes could wait for that.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    try {
      // Loaded here: most processes never come here.
      process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
      collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void
    } catch {
      collect = () => {}
    }
  }
  collect()
}
