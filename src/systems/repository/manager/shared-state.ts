/**
 * The state that all managers of one database share. A database is open in one process, so all its
 * managers are in this process.
 *
 * A new repository or table is visible to all managers when the call returns; a dropped one is gone
 * for all before its rows are removed.
 */
import { KeyedQueue, type Database } from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { FieldIndexes } from '../fields/field-index.js'
import { UniqueClaims } from '../records/unique/unique-values.js'
import { CommitGate } from '../records/writes/commit.js'
import type { SchemaListener } from '../schema/type-manager.js'

/**
 * Observes drops. The records of a dropped table can no longer be read; those of a deleted
 * repository still can during the call. @internal
 */
export interface DropObserver {
  /** A record table is being dropped. */
  tableDropped(repository: string, table: string): Promise<void>
  /** A repository is being deleted; its tables follow. */
  repositoryDeleted(repository: string): Promise<void>
}

/** A manager as a follower of changes. */
export interface ModelFollower extends DropObserver {
  /** A record table was created and can be used. */
  tableMade(repository: string, table: string): Promise<void>
}

const shared = new WeakMap<Database, Map<string, SharedState>>()

/** What the managers of one database with one prefix of table names share. */
export class SharedState {
  readonly gate = new CommitGate()
  readonly turns = new KeyedQueue()
  readonly claims = new UniqueClaims()
  readonly fieldIndexes = new FieldIndexes()
  readonly schemaListeners = new Set<SchemaListener>()
  readonly #followers = new Set<ModelFollower>()
  /** One drop after the other: concurrent drops could work on the same tables. */
  readonly drops = new CallOrder()

  static of(database: Database, tablePrefix: string): SharedState {
    const byPrefix = shared.get(database) ?? new Map<string, SharedState>()
    shared.set(database, byPrefix)
    const known = byPrefix.get(tablePrefix) ?? new SharedState()
    byPrefix.set(tablePrefix, known)
    return known
  }

  /** Notifies a manager of changes until the returned function is called. */
  follow(follower: ModelFollower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** Notifies all managers of a change, including the one that makes it. */
  async notify(change: (follower: ModelFollower) => Promise<void>): Promise<void> {
    for (const follower of [...this.#followers]) await change(follower)
  }
}
