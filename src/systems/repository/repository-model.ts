/**
 * Managers of one database share a model. A new repository or table is visible to all managers when
 * the call returns; a dropped one is gone for all before its rows are removed. A database is open
 * in one process, so all its managers are in this process.
 */
import type { Database } from '../../api/index.js'

/** A manager as a follower of changes. */
export interface ModelFollower {
  /** A record table was created and can be used. */
  tableMade(repository: string, table: string): Promise<void>
  /** A record table is being dropped. */
  tableDropped(repository: string, table: string): Promise<void>
  /** A repository is being deleted; its tables follow. */
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

  /** Notifies a manager of changes until the returned function is called. */
  follow(follower: ModelFollower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** Notifies all managers of a change, including the one that makes it. */
  async tell(change: (follower: ModelFollower) => Promise<void>): Promise<void> {
    for (const follower of [...this.#followers]) await change(follower)
  }

  /** Runs one drop after the other: concurrent drops could work on the same tables. */
  drop(work: () => Promise<void>): Promise<void> {
    const ended = this.#drops.then(work)
    this.#drops = ended.catch(() => undefined)
    return ended
  }
}
