/**
 * A table whose reads see the snapshot of one transaction, and whose writes have its write pointer
 * as their timestamp (Tephra: TransactionAwareHTable). A participant of `TransactionContext`.
 *
 * Writes are buffered in memory and become part of the commit frame. They reach the table earlier
 * in two cases: before a read of the same transaction, which must see them, and above
 * `bufferBytesMax`. A rollback deletes such writes again.
 *
 * An empty value counts as the deletion of its column, as in Tephra: a deletion is a put of an
 * empty value, so that it can be undone. All families must be transactional
 * (`transactionalFamily`).
 *
 * A deletion of a row or a family conflicts as follows. With 'ROW' it has the key of the row. With
 * 'COLUMN' it deletes the columns that the transaction sees, each with its key; columns that
 * another transaction adds meanwhile stay. With 'NONE' it never conflicts.
 *
 * Calls take effect in their order, also if they are not awaited: those after a deletion that reads
 * wait for it.
 */
import {
  callback,
  checkArray,
  checkDatabase,
  choice,
  declareOptions,
  number,
  type AtomicMutation,
  type Database,
  type OptionsOf,
  type ReadOptions,
  type Result,
  type ResultScanner,
  type Scan,
  type SettingsOf,
  type Table,
} from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { stateError } from '../errors.js'
import type { TransactionParticipant } from '../participant.js'
import {
  copyRead,
  readingOf,
  type TransactionalGet,
  type TransactionalScan,
} from './table-reads.js'
import {
  copyDelete,
  copyPut,
  type CopiedDelete,
  type TransactionalDelete,
  type TransactionalPut,
} from './table-writes.js'
import { transactionalFamilies, transactionalTtl } from './transactional-family.js'
import { TransactionWrites, type ConflictLevel } from './transaction-writes.js'
import { checkTransaction, type Transaction } from '../transaction.js'

/** The declared options of a transactional table. */
export const tableOptions = declareOptions('a transactional table', {
  /** All users of a table should use the same level. Default 'ROW'. */
  conflictLevel: choice<ConflictLevel>(['ROW', 'COLUMN', 'NONE'], 'ROW'),
  /**
   * Bytes of buffered writes above which they move to the table before the commit. Default 1 MiB.
   */
  bufferBytesMax: number({ min: 0, default: 1 << 20 }),
  /**
   * Refuses writes of transactions beyond their lifetime, as `TransactionManager.checkLifetime`.
   */
  checkLifetime: callback<(pointer: bigint) => void>(),
})

/** Options of a {@link TransactionalTable}. */
export interface TransactionalTableOptions extends OptionsOf<typeof tableOptions> {}

/** The state of the table in one transaction. */
interface Running {
  readonly transaction: Transaction
  readonly families: ReadonlySet<string>
  readonly ttl: Readonly<Record<string, number>>
  readonly writes: TransactionWrites
  readonly order: CallOrder
  /** The change set was returned to the manager, so no further write is allowed. */
  isSealed: boolean
}

/** See the file header. In one transaction at a time: `startTx` refuses a second one. */
export class TransactionalTable implements TransactionParticipant {
  readonly name: string
  readonly #database: Database
  readonly #table: Table
  readonly #settings: SettingsOf<typeof tableOptions>
  #running: Running | undefined

  /**
   * `ERR_TABLE_NOT_FOUND`; `ERR_INVALID_ARGUMENT` for the options, and for a family that does not
   * keep all versions.
   */
  constructor(database: Database, tableName: string, options: TransactionalTableOptions = {}) {
    checkDatabase(database, 'a transactional table')
    this.#settings = tableOptions.read(options)
    this.name = tableName
    this.#database = database
    this.#table = database.table(tableName)
    transactionalFamilies(this.#table)
  }

  /** Reads one row. `ERR_TRANSACTION_STATE` outside of a transaction, here and below. */
  async get(get: TransactionalGet): Promise<Result> {
    const running = this.#required()
    const copy = copyRead(get)
    await this.#flush(running)
    return this.#table.get(this.#reading(running, copy))
  }

  /** Reads rows; the results are in the order of the gets. */
  async getList(gets: readonly TransactionalGet[]): Promise<Result[]> {
    const running = this.#required()
    const copies = checkArray(gets, 'gets').map(copyRead)
    await this.#flush(running)
    return this.#table.getList(copies.map((copy) => this.#reading(running, copy)))
  }

  /** Whether the transaction sees a cell of the row. */
  async exists(get: TransactionalGet): Promise<boolean> {
    const result = await this.get(get)
    return result.exists ?? result.size > 0
  }

  /** Reads rows in order. */
  async scan(scan: TransactionalScan = {}): Promise<ResultScanner> {
    const running = this.#required()
    const copy = copyRead(scan)
    await this.#flush(running)
    return this.#table.scan(this.#reading(running, copy) as Scan)
  }

  /** Writes cells of one row. `ERR_NO_SUCH_COLUMN_FAMILY`. */
  async put(put: TransactionalPut): Promise<void> {
    await this.putList([put])
  }

  /** Writes cells of several rows. If one put is refused, no put is applied. */
  async putList(puts: readonly TransactionalPut[]): Promise<void> {
    const running = this.#writing()
    const copies = checkArray(puts, 'puts').map((put) => copyPut(put, running.families))
    await this.#write(running, (pointer) => {
      for (const { row, cells } of copies) running.writes.add(row, cells, pointer)
    })
  }

  /** Deletes columns, families or a row. `ERR_NO_SUCH_COLUMN_FAMILY`. */
  async delete(deletion: TransactionalDelete): Promise<void> {
    const running = this.#writing()
    const copy = copyDelete(deletion, running.families)
    const { row, columns, families: named } = copy
    const isOfRow = columns.length === 0 && named.length === 0
    const families = isOfRow ? [...running.families] : named
    const { writes, order } = running
    if (families.length > 0 && this.#settings.conflictLevel === 'COLUMN') {
      await order.run(() => this.#deleteSeen(running, { row, columns, families }))
      await this.#limit(running)
      return
    }
    await this.#write(running, (pointer) => {
      writes.addDeletions(row, columns, pointer)
      if (families.length > 0) writes.addFamilyDeletions(row, families, pointer)
    })
  }

  /** `ERR_TRANSACTION_STATE` while the table is in another transaction. */
  startTx(transaction: Transaction): void {
    checkTransaction(transaction)
    if (this.#running !== undefined) {
      throw stateError(
        `the table object '${this.name}' is in transaction ` +
          `${this.#running.transaction.transactionId}: take another one for each transaction`,
      )
    }
    this.#running = {
      transaction,
      families: transactionalFamilies(this.#table),
      ttl: transactionalTtl(this.#table),
      writes: new TransactionWrites(this.#database, this.name, this.#settings.conflictLevel),
      order: new CallOrder(),
      isSealed: false,
    }
  }

  /** Moves the buffered writes to the table, with the old write pointer. */
  async updateTx(transaction: Transaction): Promise<void> {
    const running = this.#required()
    checkTransaction(transaction)
    const { order } = running
    if (!order.isIdle) await order.run(() => undefined)
    await running.writes.flush()
    this.#running = { ...running, transaction }
  }

  getTxChanges(): Iterable<string> {
    const running = this.#required()
    running.isSealed = true
    return running.writes.changes
  }

  async commitTx(isRemote = false): Promise<boolean> {
    const { writes } = this.#required()
    await (isRemote ? writes.persist() : writes.settled())
    return true
  }

  commitWrites(): readonly AtomicMutation[] {
    return this.#required().writes.mutations()
  }

  postTxCommit(): void {
    this.#running = undefined
  }

  async rollbackTx(): Promise<boolean> {
    const running = this.#running
    this.#running = undefined
    await running?.writes.undo()
    return true
  }

  #required(): Running {
    if (this.#running !== undefined) return this.#running
    throw stateError(`the table '${this.name}' is used outside of a transaction`)
  }

  #writing(): Running {
    const running = this.#required()
    if (running.isSealed) throw stateError(`the transaction of '${this.name}' is ending`)
    this.#settings.checkLifetime?.(running.transaction.transactionId)
    return running
  }

  /** The transaction of a call after an `await`: it may have a new write pointer, or have ended. */
  #now({ writes }: Running): Transaction {
    const running = this.#required()
    if (running.writes === writes) return running.transaction
    throw stateError(`the transaction of this call to '${this.name}' is over`)
  }

  #reading<T extends Pick<TransactionalGet, 'columns' | 'filter' | 'visibilityLevel'>>(
    running: Running,
    { visibilityLevel, ...read }: T,
  ): Omit<T, 'visibilityLevel'> & ReadOptions {
    const reading = readingOf({ ...read, visibilityLevel }, this.#now(running), running.ttl)
    return { ...read, ...reading }
  }

  /** Deletes the columns of families that the transaction sees or has written. */
  async #deleteSeen(running: Running, { row, columns, families }: CopiedDelete): Promise<void> {
    const whole = families.map((family) => ({ family }))
    const get = { row, columns: whole, visibilityLevel: 'SNAPSHOT' } as const
    const seen = await this.#table.get(this.#reading(running, get))
    const { writePointer } = this.#now(running)
    this.#writing()
    const { writes } = running
    const own = writes.columns(row, families, writePointer)
    // A value in the empty column was not written by a transaction.
    const named = seen.cells().filter(({ qualifier }) => qualifier.length > 0)
    writes.addDeletions(row, [...columns, ...named, ...own], writePointer)
  }

  /** Adds writes to the buffer: at once, or after the deletions that still read. */
  #write(running: Running, add: (pointer: bigint) => void): Promise<void> {
    const { order, transaction } = running
    if (order.isIdle) {
      add(transaction.writePointer)
      return this.#limit(running)
    }
    return order.run(() => {
      const { writePointer } = this.#now(running)
      this.#writing()
      add(writePointer)
      return this.#limit(running)
    })
  }

  async #limit({ writes }: Running): Promise<void> {
    if (writes.bufferBytes > this.#settings.bufferBytesMax) await writes.flush()
  }

  /** Moves the buffered writes to the table, so that a read sees them. */
  async #flush({ transaction, writes, order }: Running): Promise<void> {
    if (!order.isIdle) await order.run(() => undefined)
    if (writes.bufferBytes > 0) this.#settings.checkLifetime?.(transaction.transactionId)
    await writes.flush()
  }
}
