/**
 * Keeps optimised code alive between the jobs of a worker thread.
 *
 * V8 optimises hot code for the hidden classes of the objects that it sees. V8 discards the code
 * once a collection finds no object of such a class, which would be after every job. The next job
 * would start with interpreted code and optimise all of it again: a third of the processor time of
 * a merge of 365,000 entries. So a thread keeps the objects of one small job for as long as the
 * thread lives.
 */

/** Most entries of a job whose objects are kept; its indexes and filters take about 6 MiB. */
const entriesMax = 256 * 1024

let isOn = false
let kept: readonly object[] | undefined

/** Switches this on for the thread. For threads that only run jobs. */
export function keepShapes(): void {
  isOn = true
}

/** Keeps the objects of the first small job of the thread. */
export function keepShapesOf(entries: number, objects: readonly object[]): void {
  if (isOn && kept === undefined && entries <= entriesMax) kept = objects
}
