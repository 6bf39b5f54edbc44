/**
 * Managers of one database follow each other: a repository or table that one makes is there for the
 * others when the call returns, and one that is dropped is gone for all before its rows go. A
 * database is open in one process, so no manager is elsewhere.
 */
import type { Database } from '../../api/index.js'

/** A manager, as it is told of changes. */
export interface ModelFollower {
  /** A record table can be used. */
  tableMade(repository: string, table: string): Promise<void>
  /** A record table is being dropped. */
  tableDropped(repository: string, table: string): Promise<void>
  /** A repository is being deleted; its tables go next. */
  repositoryDeleted(repository: string): Promise<void>
}

const shared = new WeakMap<Database, Map<string, RepositoryModel>>()

/** The repositories and record tables of one prefix of a database. */
export class RepositoryModel {
  readonly #followers = new Set<ModelFollower>()
  #drops: Promise<void> = Promise.resolve()

  /** The model that all managers share. */
  static of(database: Database, tablePrefix: string): RepositoryModel {
    const byPrefix = shared.get(database) ?? new Map<string, RepositoryModel>()
    shared.set(database, byPrefix)
    const known = byPrefix.get(tablePrefix) ?? new RepositoryModel()
    byPrefix.set(tablePrefix, known)
    return known
  }

  /** Tells a manager of changes from now on; the function ends that. */
  follow(follower: ModelFollower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** Tells all managers of a change, also the one that makes it. */
  async tell(change: (follower: ModelFollower) => Promise<void>): Promise<void> {
    for (const follower of [...this.#followers]) await change(follower)
  }

  /** Ends a drop, one after the other: two at the same time would meet in the same tables. */
  drop(work: () => Promise<void>): Promise<void> {
    const ended = this.#drops.then(work)
    this.#drops = ended.catch(() => undefined)
    return ended
  }
}
