/** The words of errors that come from the code of users: these may be any values. */
import { shown } from './arguments.js'

/** The message of an error, or of a value that was thrown in its place. Never throws. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return shown(error)
  }
}
