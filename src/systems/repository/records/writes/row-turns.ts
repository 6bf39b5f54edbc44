/**
 * Turns of writers that have lost a race for a row. They continue one after the other, so they do
 * not conflict with each other again.
 */

/** The turns of a database; a database is open in one process. */
export class RowTurns {
  /** End of the last turn of each row. */
  readonly #last = new Map<string, Promise<void>>()

  /** Runs work on a row after all earlier turns of the row. */
  async run<T>(table: string, row: Buffer, work: () => Promise<T>): Promise<T> {
    const key = `${table} ${row.toString('latin1')}`
    const before = this.#last.get(key)
    let end = (): void => undefined
    const turn = new Promise<void>((resolve) => (end = resolve))
    this.#last.set(key, turn)
    try {
      await before
      return await work()
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
      end()
    }
  }
}
