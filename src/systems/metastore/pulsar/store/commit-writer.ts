/**
 * The batches of one store: written one after the other, and read by others only when durable.
 *
 * Every batch stores the newest sequence, the number of its {@link BatchWriter}. After a failed
 * batch, reads use a snapshot from before the batch until a later write is durable.
 */
import { assert, type AtomicMutation, type Database, type Snapshot } from '../../../../api/index.js'
import type { BatchWriter } from '../../kernel/group-commit.js'
import type { WorkingState } from './working-state.js'

/** The writer; see the file header. */
export class CommitWriter {
  readonly #database: Database
  readonly #writer: BatchWriter
  #inflight: { readonly state: WorkingState; readonly done: Promise<void> } | undefined = undefined
  /** The state before a batch that failed. */
  #doubt: Snapshot | undefined = undefined

  constructor(database: Database, writer: BatchWriter) {
    this.#database = database
    this.#writer = writer
  }

  /** The newest durable sequence. */
  get sequence(): number {
    return this.#writer.number
  }

  /** Whether a batch has failed and no later write was durable. */
  get isInDoubt(): boolean {
    return this.#doubt !== undefined
  }

  /**
   * Reads the durable state; `read` gets the snapshot to use, or undefined for the newest state. If
   * a batch in progress changes `path`, the read waits for the batch and is repeated if the batch
   * fails. An undefined path means all.
   */
  async read<T>(
    path: string | undefined,
    read: (snapshot: Snapshot | undefined) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const doubt = this.#doubt
      let found: T
      try {
        found = await read(doubt)
      } catch (error) {
        // The snapshot was closed by a write that ended the doubt.
        if (doubt !== this.#doubt) continue
        throw error
      }
      if (doubt !== undefined) return found
      const inflight = this.#inflight
      if (inflight !== undefined && (path === undefined || inflight.state.isChanged(path))) {
        await inflight.done.catch(() => undefined)
      }
      if (!this.isInDoubt) return found
    }
  }

  /**
   * Writes a batch, the mutations of `state` and others, with sequences up to `last`. Calls
   * `onDurable` when the batch is durable, before any read can see the batch.
   */
  async write(
    state: WorkingState,
    others: readonly AtomicMutation[],
    last: number,
    onDurable: () => void,
  ): Promise<void> {
    assert(last > this.sequence, 'sequences only grow')
    assert(this.#inflight === undefined, 'one batch at a time')
    const before = this.#database.snapshot()
    const mutations = state.mutations(last)
    for (const each of others) mutations.push(each)
    const done = this.#writer.write(mutations, 'FSYNC_WAL', last)
    this.#inflight = { state, done }
    try {
      await done
    } finally {
      this.#inflight = undefined
      if (this.#writer.isInDoubt) this.#doubt = before
      else before.close()
    }
    onDurable()
  }

  /**
   * Ends the doubt, if there is any. `onDurable` gets the stored sequence, which is higher than
   * known if a batch has become durable although it reported a failure.
   */
  async recover(onDurable: (stored: number) => Promise<void>): Promise<void> {
    if (this.#doubt === undefined) return
    await onDurable(await this.#writer.advance(0))
    this.#doubt.close()
    this.#doubt = undefined
  }
}
