/**
 * Databases shared by the store objects of a process: the first user opens a database, the last
 * user closes it.
 */

interface Closeable {
  close(): Promise<void>
}

interface OpenDatabase<D> {
  readonly opened: Promise<D>
  users: number
  /** Set when the last user has closed the database. */
  closed: Promise<void> | undefined
}

/** The open databases of one kind of store, each by a key. */
export class SharedDatabases<K, D extends Closeable> {
  readonly #beforeClose: (database: D) => Promise<void>
  readonly #databases = new Map<K, OpenDatabase<D>>()

  /** `beforeClose` ends the work of the stores before a database is closed. */
  constructor(beforeClose: (database: D) => Promise<void>) {
    this.#beforeClose = beforeClose
  }

  /** Opens a database, or joins the users of the one that is open under the key. */
  async open(key: K, open: () => Promise<D>): Promise<D> {
    for (;;) {
      const known = this.#databases.get(key)
      if (known === undefined) {
        // As a promise, whatever a caller's function returns or throws.
        const opened = new Promise<D>((resolve) => resolve(open()))
        this.#databases.set(key, { opened, users: 1, closed: undefined })
        opened.catch(() => this.#databases.delete(key))
        return opened
      }
      if (known.closed === undefined) {
        known.users++
        return known.opened
      }
      await known.closed.catch(() => undefined)
    }
  }

  /** Reverts one {@link open}; the last call closes the database. */
  async close(key: K): Promise<void> {
    const known = this.#databases.get(key)
    if (known === undefined || --known.users > 0) return
    known.closed = this.#closeDatabase(known.opened).finally(() => this.#databases.delete(key))
    return known.closed
  }

  async #closeDatabase(opened: Promise<D>): Promise<void> {
    const database = await opened
    try {
      await this.#beforeClose(database)
    } finally {
      await database.close()
    }
  }
}
