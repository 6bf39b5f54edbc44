/**
 * How long the thread of the event loop was ready to run and got no processor: on a busy machine
 * that is most of what looks like a delay. Linux only.
 */
import { readFileSync } from 'node:fs'

/** Milliseconds since the start of the process; undefined where the system does not tell. */
export function processorWaitMilliseconds(): number | undefined {
  try {
    const text = readFileSync(`/proc/${process.pid}/task/${process.pid}/schedstat`, 'latin1')
    const nanoseconds = Number(text.split(' ')[1])
    return Number.isFinite(nanoseconds) ? nanoseconds / 1e6 : undefined
  } catch {
    return undefined
  }
}
