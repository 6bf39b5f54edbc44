/**
 * One transaction as passed to the work of `runTransaction`, with its own tables and participants.
 */
import { invalidArgument } from '../../api/index.js'
import type { Database } from '../../api/index.js'
import type { TransactionContext } from './context.js'
import { stateError } from './errors.js'
import type { Transactions, TransactionParticipant } from './participant.js'
import type { Transaction } from './transaction.js'
import {
  tableOptions,
  TransactionalTable,
  type TransactionalTableOptions,
} from './tables/transactional-table.js'

/** Created by `runTransaction`; ends with the work. */
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
