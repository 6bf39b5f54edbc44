/**
 * Lets a worker thread give up shared memory at once.
 *
 * A job receives a memtable's arena as a SharedArrayBuffer. The memory is freed when *every* thread
 * has collected its reference, but a worker makes so little garbage that its collector hardly ever
 * runs, and a few hundred megabytes of dead arenas would pile up. So a worker collects after a job;
 * its heap is small, which takes a few milliseconds.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** Runs a full collection of this thread's heap, where Node lets us; else does nothing. */
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
