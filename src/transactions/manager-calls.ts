/** What the calls of the transaction manager take and give, and how it is checked. */
import { OptionNames, type AtomicMutation } from '../api/index.js'
import type { ChangeSet } from './change-sets.js'
import { invalidArgument, TransactionError, TransactionErrorCode } from './errors.js'
import { checkMilliseconds, type ManagerSettings } from './options.js'

/** Options of one start. */
export interface StartOptions {
  /** Default: the manager's. */
  readonly timeoutMilliseconds?: number | undefined
  /** Name of the client, for messages about conflicts. */
  readonly client?: string | undefined
}

const startNames = new OptionNames<StartOptions>('a start', {
  timeoutMilliseconds: true,
  client: true,
})

/** Names of the options of a long start. */
export const longNames = new OptionNames<Pick<StartOptions, 'client'>>('a long start', {
  client: true,
})

/** What is committed together with the transaction. */
export interface CommitOptions {
  /** Writes of the client that become part of the frame of the commit. */
  readonly writes?: readonly AtomicMutation[] | undefined
  /**
   * Applies the mutations of the commit, all or none, in one frame with others; resolves when they
   * are durable. Throws `CommitNotCarried` if nothing was handed to the database; after another
   * error, unless the database refused the batch, the manager is unavailable until it is opened
   * again. Default: `Database.atomic`.
   */
  readonly carry?: ((mutations: readonly AtomicMutation[]) => Promise<void>) | undefined
}

/** Names of the options of a commit. */
export const commitNames = new OptionNames<CommitOptions>('a commit', { writes: true, carry: true })

/**
 * What became of a transaction: it runs; its commit is being written; it is invalid; it was
 * committed, or aborted by its client, or has left the invalid list; or its id was not handed out.
 */
export type TransactionState = 'running' | 'committing' | 'invalid' | 'ended' | 'unknown'

/** What was taken off the invalid list. */
export interface PrunedPointers {
  /** Number of pointers. */
  readonly pruned: number
  /** The largest of them; undefined if there is none. */
  readonly largest: bigint | undefined
}

/** The timeout of a short start. `ERR_INVALID_ARGUMENT`. */
export function timeoutOf(options: StartOptions, settings: ManagerSettings): number {
  startNames.check(options)
  const { timeoutMilliseconds = settings.timeoutMilliseconds } = options
  const { timeoutMillisecondsMax } = settings
  checkMilliseconds(timeoutMilliseconds, 'timeoutMilliseconds', 1)
  if (timeoutMilliseconds <= timeoutMillisecondsMax) return timeoutMilliseconds
  throw invalidArgument(`timeoutMilliseconds is at most ${timeoutMillisecondsMax}`)
}

/** The change set of a transaction, each key once. `ERR_TRANSACTION_TOO_LARGE`. */
export function changeSetOf(
  id: bigint,
  changes: Iterable<Uint8Array | string>,
  { changesMax, changeBytesMax }: ManagerSettings,
): ChangeSet {
  const set = new Set<string>()
  let bytes = 0
  for (const change of changes) {
    const key = typeof change === 'string' ? change : Buffer.from(change).toString('latin1')
    bytes += key.length
    set.add(key)
  }
  if (set.size <= changesMax && bytes <= changeBytesMax) return [...set]
  const message = `transaction ${id} has ${set.size} changes of ${bytes} bytes`
  throw new TransactionError(TransactionErrorCode.tooLarge, message)
}
