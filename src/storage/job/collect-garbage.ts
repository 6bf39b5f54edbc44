/**
 * Lets a worker thread release shared memory at once.
 *
 * A job receives the arena of a memtable as a SharedArrayBuffer, which is freed when *every* thread
 * has collected its reference. A worker makes so little garbage that its collector hardly ever
 * runs, and some hundred megabytes of dead arenas could accumulate. So a worker collects garbage
 * after a job. Its heap is small, so that takes a few milliseconds.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Runs a full collection of this thread's heap if Node allows it; else does nothing. */
export function collectGarbage(): void {
  if (collect === undefined) {
    try {
      setFlagsFromString('--expose-gc')
      collect = runInNewContext('gc') as () => void
    } catch {
      collect = () => {}
    }
  }
  collect()
}
