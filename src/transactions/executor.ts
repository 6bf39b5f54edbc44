/** Runs work in transactions, and again if it conflicts (Tephra: TransactionExecutor). */
import { OptionNames } from '../api/index.js'
import { TransactionContext } from './context.js'
import { TransactionError, TransactionErrorCode } from './errors.js'
import type { StartOptions } from './manager-calls.js'
import type { TransactionClient, TransactionParticipant } from './participant.js'
import type { Transaction } from './transaction.js'

/** Options of {@link runTransaction}. */
export interface ExecutorOptions extends StartOptions {
  /** How often work that conflicted is run again. Default 20. */
  readonly retriesMax?: number | undefined
  /** Milliseconds before it is run again. Default 100. */
  readonly retryMilliseconds?: number | undefined
}

const names = new OptionNames<ExecutorOptions>('a run of a transaction', {
  timeoutMilliseconds: true,
  client: true,
  retriesMax: true,
  retryMilliseconds: true,
})

/**
 * Runs `work` within a transaction over the participants and commits. An error of `work` aborts and
 * is thrown. A conflict aborts and runs the work again; other failures do not.
 */
export async function runTransaction<T>(
  client: TransactionClient,
  participants: Iterable<TransactionParticipant>,
  work: (transaction: Transaction) => T | Promise<T>,
  options: ExecutorOptions = {},
): Promise<T> {
  const { retriesMax = 20, retryMilliseconds = 100, ...start } = names.check(options)
  const context = new TransactionContext(client, participants)
  for (let retries = 0; ; retries++) {
    const transaction = await context.start(start)
    let result: T
    try {
      result = await work(transaction)
    } catch (error) {
      await context.abort(error)
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
