/**
 * Lets a worker thread release shared memory at once.
 *
 * A job receives the arena of a memtable as a SharedArrayBuffer, which is freed when *every* thread
 * has collected its reference. A worker makes so little garbage that its collector hardly ever
 * runs, and some hundred megabytes of dead arenas could accumulate. So a worker collects garbage
 * after a job. Its heap is small, so that takes a few milliseconds.
 */
let collect: (() => void) | undefined

/** Runs a full collection of this thread's heap if Node allows it; else does nothing. */
export function collectGarbage(): void {
  if (collect === undefined) {
    try {
      // Loaded here: the main thread holds this module, but does not call the function.
      process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
      collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void
    } catch {
      collect = () => {}
    }
  }
  collect()
}
