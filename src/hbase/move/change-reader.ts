/** The changes of the source from a sequence on, read up to a moment at a time. */
import type { Change, Database } from '../../api/index.js'

/** A feed that is open from the beginning, so that the source keeps its log. */
export class ChangeReader {
  readonly #abort = new AbortController()
  readonly #feed: AsyncGenerator<Change, void>
  #next: Promise<IteratorResult<Change, void>>

  constructor(source: Database, fromSequence: number, tables: readonly string[]) {
    const { signal } = this.#abort
    this.#feed = source.changes({ fromSequence, table: tables, signal })
    this.#next = this.#ask()
  }

  /**
   * The changes up to a sequence, which ends when a later change arrives: the caller has written
   * one. `ERR_CHANGES_GONE`.
   */
  async *through(sequence: number): AsyncGenerator<Change, void> {
    for (;;) {
      const { done, value } = await this.#next
      if (done === true || value.sequence > sequence) return
      this.#next = this.#ask()
      yield value
    }
  }

  /** Ends the feed, and with it the hold on the log of the source. */
  close(): void {
    // A feed that waits ends by the signal, one that has yielded only by its return.
    this.#abort.abort()
    this.#feed.return().catch(() => undefined)
  }

  #ask(): Promise<IteratorResult<Change, void>> {
    const next = this.#feed.next()
    // A failure is that of the call that waits for it.
    next.catch(() => undefined)
    return next
  }
}
