/** Where the feed of a source is, and the changes that it does not show. */
import type { Database, UnloggedState } from '../../api/index.js'

interface AdminOfUnlogged {
  unloggedState(table: string): UnloggedState
}

/** See {@link UnloggedState}; of other sources always the same. */
export function unloggedStateOf({ admin }: Database, table: string): UnloggedState {
  if (!('unloggedState' in admin)) return { stores: '', mutations: 0 }
  return (admin as unknown as AdminOfUnlogged).unloggedState(table)
}

/** The stores of tables, by name of the table. */
export function storesOf(source: Database, tables: readonly string[]): Record<string, string> {
  return Object.fromEntries(tables.map((name) => [name, unloggedStateOf(source, name).stores]))
}

/** The sequence of the next change; 0 of a source without feed. */
export function nextSequence(source: Database): number {
  if (!hasFeed(source)) return 0
  const snapshot = source.snapshot()
  snapshot.close()
  return snapshot.sequence + 1
}

/** Whether a move follows the changes of the source. */
export function hasFeed({ capabilities }: Database): boolean {
  return capabilities.changes && capabilities.snapshots
}
