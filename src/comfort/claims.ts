/** Exclusive use of what is in a database by one object of this process. */
import type { Database } from '../api/database.js'

/** Open claims, by database. */
const claimed = new WeakMap<Database, Set<string>>()

/**
 * Claims a name within a database. Returns the function that releases the claim; undefined if the
 * name is claimed.
 */
export function claim(database: Database, name: string): (() => void) | undefined {
  const names = claimed.get(database) ?? new Set<string>()
  claimed.set(database, names)
  if (names.has(name)) return undefined
  names.add(name)
  let isReleased = false
  return () => {
    if (!isReleased) names.delete(name)
    isReleased = true
  }
}
