/** Arguments and results of the transaction manager's calls, and their checks. */
import {
  checkArray,
  checkBytesLike,
  checkFunction,
  OptionNames,
  readArguments,
  shown,
  type AtomicMutation,
} from '../../../api/index.js'
import type { ChangeSet } from './change-sets.js'
import { invalidArgument, TransactionError, TransactionErrorCode } from '../errors.js'
import { checkMilliseconds, type ManagerSettings } from '../options.js'

/** Options of one start. */
export interface StartOptions {
  /** Default: the timeout of the manager. */
  readonly timeoutMilliseconds?: number | undefined
  /** Name of the client, for messages about conflicts. */
  readonly client?: string | undefined
}

const startNames = new OptionNames<StartOptions>('a start', {
  timeoutMilliseconds: true,
  client: true,
})

const longNames = new OptionNames<Pick<StartOptions, 'client'>>('a long start', {
  client: true,
})

/** Additional parts of a commit. */
export interface CommitOptions {
  /** Writes of the client that become part of the frame of the commit. */
  readonly writes?: readonly AtomicMutation[] | undefined
  /**
   * Applies the mutations of the commit atomically, in one frame with others; resolves when they
   * are durable. Throws `CommitNotCarried` if the database received nothing. After another error,
   * unless the database refused the batch, the manager is unavailable until it is opened again.
   * Default: `Database.atomic`.
   */
  readonly carry?: ((mutations: readonly AtomicMutation[]) => Promise<void>) | undefined
}

const commitNames = new OptionNames<CommitOptions>('a commit', { writes: true, carry: true })

/**
 * The state of a transaction. 'committing': its commit is being written. 'ended': committed,
 * aborted by its client, or removed from the invalid list. 'unknown': the id was never assigned.
 */
export type TransactionState = 'running' | 'committing' | 'invalid' | 'ended' | 'unknown'

/** The result of a pruning of the invalid list. */
export interface PrunedPointers {
  /** Number of pruned pointers. */
  readonly pruned: number
  /** The largest of them; undefined if there is none. */
  readonly largest: bigint | undefined
}

/** A copy of the options of a short start. `ERR_INVALID_ARGUMENT`. */
export function copyStart(options: StartOptions): StartOptions {
  const { client, timeoutMilliseconds } = readArguments(() => startNames.copy(options))
  checkClient(client)
  if (timeoutMilliseconds !== undefined) {
    checkMilliseconds(timeoutMilliseconds, 'timeoutMilliseconds', 1)
  }
  return { client, timeoutMilliseconds }
}

/** The timeout of a short start. `ERR_INVALID_ARGUMENT`. */
export function timeoutOf(options: StartOptions, settings: ManagerSettings): number {
  const { timeoutMilliseconds = settings.timeoutMilliseconds } = copyStart(options)
  const { timeoutMillisecondsMax } = settings
  if (timeoutMilliseconds <= timeoutMillisecondsMax) return timeoutMilliseconds
  throw invalidArgument(`timeoutMilliseconds is at most ${timeoutMillisecondsMax}`)
}

/** The client of a long start. `ERR_INVALID_ARGUMENT`. */
export function clientOf(options: Pick<StartOptions, 'client'>): string | undefined {
  const { client } = readArguments(() => longNames.copy(options))
  checkClient(client)
  return client
}

/** A copy of the options of a commit. `ERR_INVALID_ARGUMENT`. */
export function copyCommit(options: CommitOptions): Pick<CommitOptions, 'carry'> & {
  readonly writes: readonly AtomicMutation[]
} {
  return readArguments(() => {
    const { writes = [], carry } = commitNames.check(options)
    return { writes: checkArray(writes, 'writes'), carry: checkFunction(carry, 'carry') }
  })
}

function checkClient(client: unknown): void {
  if (client === undefined || typeof client === 'string') return
  throw invalidArgument(`client must be a string, got ${shown(client)}`)
}

/**
 * The change set of a transaction, each key once. `ERR_INVALID_ARGUMENT`,
 * `ERR_TRANSACTION_TOO_LARGE`.
 */
export function changeSetOf(
  id: bigint,
  changes: Iterable<Uint8Array | string>,
  { changesMax, changeBytesMax }: ManagerSettings,
): ChangeSet {
  const set = new Set<string>()
  let bytes = 0
  for (const change of keysOf(changes)) {
    const key = typeof change === 'string' ? change : Buffer.from(change).toString('latin1')
    bytes += key.length
    set.add(key)
  }
  if (set.size <= changesMax && bytes <= changeBytesMax) return [...set]
  const message = `transaction ${id} has ${set.size} changes of ${bytes} bytes`
  throw new TransactionError(TransactionErrorCode.tooLarge, message)
}

/** A copy of the keys of a change set. `ERR_INVALID_ARGUMENT`. */
export function keysOf(changes: Iterable<Uint8Array | string>): (Uint8Array | string)[] {
  if (typeof changes === 'string') {
    throw invalidArgument('changes must be keys that can be iterated, got a string')
  }
  const keys = readArguments(() => [...changes])
  for (const key of keys) if (typeof key !== 'string') checkBytesLike(key, 'a change')
  return keys
}
