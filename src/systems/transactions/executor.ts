/**
 * Runs work in transactions, with retries after conflicts (Tephra: TransactionExecutor). The work
 * gets a scope, which ends with it.
 */
import {
  checkDatabase,
  checked,
  declareOptions,
  hasCode,
  integer,
  invalidArgument,
  number,
  readArguments,
  timerMillisecondsMax,
  type Database,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import { TransactionContext } from './context.js'
import { stateError, TransactionErrorCode } from './errors.js'
import { checkManager, type Transactions, type TransactionParticipant } from './participant.js'
import { contextStartDeclarations } from './manager/manager-calls.js'
import {
  tableOptions,
  TransactionalTable,
  type TransactionalTableOptions,
} from './tables/transactional-table.js'
import type { Transaction } from './transaction.js'

/**
 * One transaction as passed to the work of `runTransaction`, with its own tables and participants.
 * Ends with the work.
 */
export class TransactionScope {
  readonly #context: TransactionContext
  readonly #client: Transactions
  readonly #database: Database | undefined
  readonly #tables = new Map<string, TransactionalTable>()

  /** `database` holds the tables. */
  constructor(context: TransactionContext, client: Transactions, database: Database | undefined) {
    this.#context = context
    this.#client = client
    this.#database = database
  }

  /** The current transaction. `ERR_TRANSACTION_STATE` after its end. */
  get transaction(): Transaction {
    if (this.#context.current !== undefined) return this.#context.current
    throw stateError('the transaction of this scope is over')
  }

  /**
   * A table within this transaction: the same object for the same name, with the options of the
   * first call. The default of `checkLifetime` is the manager's. `ERR_TABLE_NOT_FOUND`,
   * `ERR_INVALID_ARGUMENT`, `ERR_TRANSACTION_STATE`.
   */
  table(name: string, options: TransactionalTableOptions = {}): TransactionalTable {
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const client = this.#client
    if (this.#database === undefined) {
      throw invalidArgument('the option `database` of runTransaction says where tables are')
    }
    const ofManager = (pointer: bigint): void => client.checkLifetime?.(pointer)
    const { checkLifetime = ofManager, ...rest } = tableOptions.read(options)
    const table = new TransactionalTable(this.#database, name, { ...rest, checkLifetime })
    this.#context.addNow(table)
    this.#tables.set(name, table)
    return table
  }

  /** Adds a participant to the transaction, for instance a `MessagePublisher`; returns it. */
  async add<P extends TransactionParticipant>(participant: P): Promise<P> {
    void this.transaction
    await this.#context.add(participant)
    return participant
  }

  /** As {@link TransactionContext.checkpoint}. */
  checkpoint(): Promise<Transaction> {
    return this.#context.checkpoint()
  }
}

const executorOptions = declareOptions('a run of a transaction', {
  ...contextStartDeclarations,
  /** Most retries after conflicts. Default 20. */
  retriesMax: number({ min: 0, default: 20 }),
  /** Milliseconds before a retry. Default 100. */
  retryMilliseconds: integer({ min: 0, max: timerMillisecondsMax, default: 100 }),
  /** The database of the tables of a scope. Default: the database of the manager. */
  database: checked((given: Database) => checkDatabase(given, 'a run of a transaction')),
})

/** Options of {@link runTransaction}. */
export interface ExecutorOptions extends OptionsOf<typeof executorOptions> {}

/** Work on the tables of its own transaction. */
type ScopedWork<T> = (scope: TransactionScope) => T | Promise<T>
type WorkOnParticipants<T> = (transaction: Transaction) => T | Promise<T>

/**
 * Runs `work` within a transaction and commits. The scope has the tables of this transaction only,
 * so any number of runs may be in progress at once. An error of `work` aborts and is thrown. A
 * conflict aborts and runs the work again; other failures do not. A call of the scope that `work`
 * did not wait for is waited for.
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
    const { database = client.database, ...options } = executorOptions.read(second)
    return run(client, [], options, (context) => {
      return first(new TransactionScope(context, client, database))
    })
  }
  if (typeof second !== 'function') throw invalidArgument('runTransaction needs a function to run')
  const { database: unused, ...options } = executorOptions.read(third)
  if (unused !== undefined) throw invalidArgument('participants have a `database` of their own')
  const participants = readArguments(() => [...first])
  return run(client, participants, options, (context) => second(context.current!))
}

async function run<T>(
  client: Transactions,
  participants: readonly TransactionParticipant[],
  options: Omit<SettingsOf<typeof executorOptions>, 'database'>,
  work: (context: TransactionContext) => T | Promise<T>,
): Promise<T> {
  const { retriesMax, retryMilliseconds, ...start } = options
  for (let retries = 0; ; retries++) {
    const context = new TransactionContext(client, participants)
    await context.start(start)
    let result: T
    try {
      result = await work(context)
    } catch (error) {
      await context.seal()
      if (context.current !== undefined) await context.abort(error)
      throw error
    }
    await context.seal()
    try {
      await context.finish()
      return result
    } catch (error) {
      if (!hasCode(error, TransactionErrorCode.conflict) || retries >= retriesMax) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, retryMilliseconds))
  }
}
