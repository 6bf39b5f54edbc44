/** Runs work in transactions, with retries after conflicts (Tephra: TransactionExecutor). */
import { OptionNames, readArguments, shown, type Database } from '../../api/index.js'
import { TransactionContext } from './context.js'
import { invalidArgument, TransactionError, TransactionErrorCode } from './errors.js'
import { checkMilliseconds } from './options.js'
import { checkManager, type Transactions, type TransactionParticipant } from './participant.js'
import { TransactionScope } from './scope.js'
import type { ContextStartOptions } from './start-options.js'
import type { Transaction } from './transaction.js'

/** Options of {@link runTransaction}. */
export interface ExecutorOptions extends ContextStartOptions {
  /** Most retries after conflicts. Default 20. */
  readonly retriesMax?: number | undefined
  /** Milliseconds before a retry. Default 100. */
  readonly retryMilliseconds?: number | undefined
  /** The database of the tables of a scope. Default: the database of the manager. */
  readonly database?: Database | undefined
}

const names = new OptionNames<ExecutorOptions>('a run of a transaction', {
  timeoutMilliseconds: true,
  client: true,
  type: true,
  visibilityLevel: true,
  retriesMax: true,
  retryMilliseconds: true,
  database: true,
})

/** Work on the tables of its own transaction. */
type ScopedWork<T> = (scope: TransactionScope) => T | Promise<T>
/** Work on given participants. */
type WorkOnParticipants<T> = (transaction: Transaction) => T | Promise<T>

/**
 * Runs `work` within a transaction and commits. The scope has the tables of this transaction only,
 * so any number of runs may be in progress at once. An error of `work` aborts and is thrown. A
 * conflict aborts and runs the work again; other failures do not.
 */
export function runTransaction<T>(
  client: Transactions,
  work: ScopedWork<T>,
  options?: ExecutorOptions,
): Promise<T>
/** The same over participants, which join no other transaction meanwhile. */
export function runTransaction<T>(
  client: Transactions,
  participants: Iterable<TransactionParticipant>,
  work: WorkOnParticipants<T>,
  options?: ExecutorOptions,
): Promise<T>
export async function runTransaction<T>(
  client: Transactions,
  first: ScopedWork<T> | Iterable<TransactionParticipant>,
  second: WorkOnParticipants<T> | ExecutorOptions = {},
  third: ExecutorOptions = {},
): Promise<T> {
  checkManager(client)
  if (typeof first === 'function') {
    const options = second as ExecutorOptions
    const { database = client.database, ...rest } = names.check(options)
    return run(client, [], rest, (context) => {
      return first(new TransactionScope(context, client, database))
    })
  }
  if (typeof second !== 'function') throw invalidArgument('runTransaction needs a function to run')
  const { database: unused, ...options } = names.check(third)
  if (unused !== undefined) throw invalidArgument('participants have a `database` of their own')
  const participants = readArguments(() => [...first])
  return run(client, participants, options, (context) => second(context.current!))
}

async function run<T>(
  client: Transactions,
  participants: readonly TransactionParticipant[],
  options: Omit<ExecutorOptions, 'database'>,
  work: (context: TransactionContext) => T | Promise<T>,
): Promise<T> {
  const { retriesMax = 20, retryMilliseconds = 100, ...start } = options
  checkMilliseconds(retryMilliseconds, 'retryMilliseconds', 0)
  if (typeof retriesMax !== 'number' || !(retriesMax >= 0)) {
    throw invalidArgument(`retriesMax must be a number, 0 or more, got ${shown(retriesMax)}`)
  }
  for (let retries = 0; ; retries++) {
    const context = new TransactionContext(client, participants)
    await context.start(start)
    let result: T
    try {
      result = await work(context)
    } catch (error) {
      if (context.current !== undefined) await context.abort(error)
      throw error
    }
    try {
      await context.finish()
      return result
    } catch (error) {
      if (!isConflict(error) || retries >= retriesMax) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, retryMilliseconds))
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof TransactionError && error.code === TransactionErrorCode.conflict
}
