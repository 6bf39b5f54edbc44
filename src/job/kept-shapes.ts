/**
 * Keeps compiled code alive between the jobs of a worker thread.
 *
 * V8 compiles hot code for the hidden classes of the objects it sees, and throws the code away when
 * a collection finds no object of such a class any more: after every job. The next one would begin
 * with interpreted code and compile all of it again, a third of the processor time of a merge of
 * 365,000 entries. So a thread holds on to the objects of one small job for as long as it lives.
 */

/** Most entries of a job whose objects are kept: its indexes and filters take some 6 MiB then. */
const entriesMax = 256 * 1024

let isOn = false
let kept: readonly object[] | undefined

/** Turns it on for this thread; a thread that does other things than jobs should not. */
export function keepShapes(): void {
  isOn = true
}

/** Keeps these objects if they are of the first small job of a thread that keeps any. */
export function keepShapesOf(entries: number, objects: readonly object[]): void {
  if (isOn && kept === undefined && entries <= entriesMax) kept = objects
}
