/**
 * Memory of which several holders have a part each. `postMessage` and `structuredClone` with a list
 * of transfers take away the whole memory of a view, so a holder who passes on a value would empty
 * those of all others. Such memory is marked: it is copied instead, or refused with an error, as
 * the version of Node does with the pool of its own buffers.
 */
import { markAsUntransferable } from 'node:worker_threads'

/** A buffer with undefined content, alone in memory that cannot be transferred. */
export function allocateHeld(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  try {
    markAsUntransferable(buffer.buffer)
  } catch {
    // Some runtimes have no such mark.
  }
  return buffer
}
