/** What a function of the caller has thrown, which may be any value. */
import { shown } from '../../api/index.js'

/** An error that was thrown, or one that says which other value was. Never throws. */
export function errorOf(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string') return thrown
    if (typeof thrown === 'string') return new Error(thrown)
  } catch {
    // A proxy decides what `instanceof` does.
  }
  return new Error(`${shown(thrown)} was thrown`, { cause: thrown })
}
