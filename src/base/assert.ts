/**
 * Assertions that stay on in production: they guard the engine's own invariants, not user input.
 */

/**
 * Thrown when an internal invariant is broken; always a bug in Cellar. No `CellarError`, or callers
 * and tests that expect errors with codes would take a bug for one of them.
 */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'
}

/** Throws an `InvariantError` unless `condition` holds. Keep `message` a constant string. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
