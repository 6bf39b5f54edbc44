/** Values thrown by functions of the caller, which need not be errors. */
import { shown } from '../../api/index.js'

/** The thrown error, or an error that describes the thrown value. Never throws. */
export function errorOf(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown
    if (typeof thrown === 'string') return new Error(thrown)
  } catch {
    // A proxy may throw from `instanceof`.
  }
  return new Error(`${shown(thrown)} was thrown`, { cause: thrown })
}
