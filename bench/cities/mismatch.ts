/** How the job says that the store has something else than it must have. */

/** The store has something else than it must have. */
export class Mismatch extends Error {}

/** Throws a {@link Mismatch} unless the values are the same. */
export function expectSame(what: string, found: number | string, expected: number | string): void {
  if (found === expected) return
  throw new Mismatch(`${what}: found ${found}, expected ${expected}`)
}
