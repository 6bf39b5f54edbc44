/**
 * Transactions over rows of typed tables: reads are recorded, writes are kept, and one atomic batch
 * commits them, if each value that was read is still the same.
 *
 * Isolation: serializable for the rows that `get` read. The batch checks their values and writes in
 * one step, so the transaction has the effect of one that ran alone at that moment. A value that
 * was changed and changed back counts as the same, and so does an empty value that came where there
 * was none (HBase's rule). Where the backend has snapshots, all gets of an
 * attempt read one, so they agree with each other even in an attempt that loses. A transaction
 * without writes checks nothing: its reads are those of the snapshot. Scans are not offered,
 * because rows that others add to a range cannot be checked.
 */
import { types } from 'node:util'
import { checkObject, readArguments, shown } from '../../base/arguments.js'
import { copyArguments } from '../../base/copy-arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { declareOptions, integer, unchecked, type OptionsOf } from '../../base/options.js'
import { seededRandom } from '../../base/random.js'
import type { AtomicBatch, AtomicCheck, AtomicMutation } from '../../api/atomic.js'
import { checkDatabase, requireCapability } from '../../api/capabilities.js'
import type { Database } from '../../api/database.js'
import type { DurabilityOption } from '../../api/durability.js'
import type { Snapshot } from '../../api/reads.js'
import type { KeyParts } from '../keys/row-key.js'
import type { ColumnOutput, ColumnsOption } from '../typed/columns.js'
import { countedValue, counterColumn, type CounterName } from '../typed/counters.js'
import {
  RowForm,
  writeOptions,
  type KeyOf,
  type RowInput,
  type RowOutput,
  type TypedHandle,
  type TypedPutOptions,
} from '../typed/row-form.js'
import { RowChanges } from './row-changes.js'

const transactionOptions = declareOptions('a transaction', {
  /** How often the function is called at most. Default 20. */
  attemptsMax: integer({ min: 1, default: 20 }),
  /** Default: the strongest durability of the written tables. */
  durability: unchecked<DurabilityOption>(),
})

/** Options of {@link transaction}. */
export interface TransactionOptions extends OptionsOf<typeof transactionOptions> {}

/** Longest wait between two attempts in milliseconds; the first one is followed at once. */
const waitMillisecondsMax = 32

/** For waits that differ between callers, and between processes. */
const random = seededRandom(process.pid)

/** Gives the batch of a transaction, and ends it. */
let take: (transaction: Transaction) => Omit<AtomicBatch, 'durability'> & { own: number }

/** One attempt of a transaction: what the function of {@link transaction} gets. */
export class Transaction {
  static {
    take = (transaction) => transaction.#take()
  }

  readonly #snapshot: Snapshot | undefined
  readonly #rows = new Map<string, RowChanges>()
  readonly #ownChecks: AtomicCheck[] = []
  readonly #ownMutations: AtomicMutation[] = []
  #isOver = false

  /** Made by {@link transaction}. */
  constructor(snapshot: Snapshot | undefined) {
    this.#snapshot = snapshot
  }

  /**
   * The row, with the writes of this transaction; undefined if no column has a value. The commit
   * checks that its columns have not changed. Errors of `Table.get`.
   */
  async get<K extends KeyParts, C extends ColumnsOption>(
    table: TypedHandle<K, C>,
    key: KeyOf<K>,
  ): Promise<RowOutput<K, C> | undefined> {
    const changes = this.#changesOf(table, rowsOf(table).row(key))
    await changes.read(this.#snapshot)
    this.#checkRunning()
    return changes.current() as RowOutput<K, C> | undefined
  }

  /** Writes the given columns of a row; the others keep their values. `ERR_INVALID_ARGUMENT`. */
  put<K extends KeyParts, C extends ColumnsOption>(
    table: TypedHandle<K, C>,
    row: RowInput<K, C>,
    options: Omit<TypedPutOptions, 'durability'> = {},
  ): void {
    const lifetime = writeOptions.read(options)
    const { row: bytes, writes } = rowsOf(table).writesOf(row)
    this.#changesOf(table, bytes).write(writes, lifetime)
  }

  /**
   * Removes the named columns of a row; without names all columns of the typed table.
   * `ERR_INVALID_ARGUMENT`.
   */
  delete<K extends KeyParts, C extends ColumnsOption>(
    table: TypedHandle<K, C>,
    key: KeyOf<K>,
    ...names: readonly (keyof C & string)[]
  ): void {
    const columns =
      names.length === 0 ? rowsOf(table).columns : names.map((name) => rowsOf(table).column(name))
    const removals = columns.map((column) => ({ column, stored: undefined }))
    this.#changesOf(table, rowsOf(table).row(key)).write(removals, {})
  }

  /**
   * Replaces a row by what `change` makes of it: columns that the new row lacks are removed.
   * `change` gets undefined for a row that does not exist; the row stays as it is if `change`
   * returns undefined. Resolves to the new row. Errors of {@link get} and {@link put};
   * `ERR_INVALID_ARGUMENT` if the transaction wrote the row while it waited for `change`, for that
   * write would be lost.
   */
  async update<K extends KeyParts, C extends ColumnsOption>(
    table: TypedHandle<K, C>,
    key: KeyOf<K>,
    change: (
      row: RowOutput<K, C> | undefined,
    ) => RowInput<K, C> | undefined | Promise<RowInput<K, C> | undefined>,
  ): Promise<RowOutput<K, C> | undefined> {
    if (typeof change !== 'function') {
      throw invalidArgument(`update needs a function: (row) => newRow, got ${shown(change)}`)
    }
    const bytes = rowsOf(table).row(key)
    const changes = this.#changesOf(table, bytes)
    await changes.read(this.#snapshot)
    this.#checkRunning()
    const { writeCount } = changes
    const given = change(changes.current() as RowOutput<K, C> | undefined)
    // A row that is there already is taken at once, so that no other call comes in between.
    const made = types.isPromise(given) ? await given : given
    this.#checkRunning()
    if (made === undefined) return changes.current() as RowOutput<K, C> | undefined
    if (changes.writeCount !== writeCount) {
      throw invalidArgument(
        `a row of '${table.table.name}' was written while its update ran; await one call of the ` +
          'transaction after the other',
      )
    }
    const { row, writes } = table.rows.writesOf(made)
    if (!row.equals(bytes)) {
      throw invalidArgument(
        'update must return the row of its key; use put and delete to move a row',
      )
    }
    changes.replace(writes)
    return changes.current() as RowOutput<K, C> | undefined
  }

  /**
   * Adds to a column of integers; a value that does not exist counts as 0. Resolves to the new
   * value. The commit checks the row, as after {@link get}. `ERR_INVALID_ARGUMENT` for a sum that
   * the column cannot hold; errors of {@link get}.
   */
  async increment<K extends KeyParts, C extends ColumnsOption, N extends CounterName<C>>(
    table: TypedHandle<K, C>,
    key: KeyOf<K>,
    name: N,
    amount: number | bigint = 1,
  ): Promise<ColumnOutput<C[N]>> {
    const column = counterColumn(table.rows, name)
    if (typeof amount !== 'bigint' && !Number.isSafeInteger(amount)) {
      throw invalidArgument(`increment needs an integer or a bigint, got ${shown(amount)}`)
    }
    const changes = this.#changesOf(table, rowsOf(table).row(key))
    await changes.read(this.#snapshot)
    this.#checkRunning()
    const before = (changes.valueOf(column) ?? 0) as number | bigint
    const value = countedValue<C, N>(column, BigInt(before) + BigInt(amount))
    changes.write([{ column, stored: column.encode(value) }], {})
    return value
  }

  /** Adds a check of any table. If it does not hold, the transaction fails at once. */
  check(check: AtomicCheck): void {
    this.#checkRunning()
    const form = "{ table: 't', row: 'r', column: 'f:q', equals: 'value' }"
    this.#ownChecks.push(
      readArguments(() => copyArguments(checkObject(check, 'a check', form)).value),
    )
  }

  /** Adds puts and deletes of any table, as of an atomic batch; gets do not see them. */
  mutate(mutation: AtomicMutation): void {
    this.#checkRunning()
    const form = "{ table: 't', row: 'r', put: { cells: { 'f:q': 'value' } } }"
    this.#ownMutations.push(
      readArguments(() => copyArguments(checkObject(mutation, 'a mutation', form)).value),
    )
  }

  #changesOf<K extends KeyParts, C extends ColumnsOption>(
    handle: TypedHandle<K, C>,
    row: Buffer,
  ): RowChanges {
    this.#checkRunning()
    const place = `${handle.table.name}/${row.toString('latin1')}`
    let changes = this.#rows.get(place)
    if (changes === undefined) {
      changes = new RowChanges(handle as unknown as TypedHandle<KeyParts, ColumnsOption>, row)
      this.#rows.set(place, changes)
    } else if ((changes.handle.rows as unknown) !== handle.rows) {
      throw invalidArgument(
        `the transaction uses a row of '${handle.table.name}' by two definitions; use one of them`,
      )
    }
    return changes
  }

  #checkRunning(): void {
    if (!this.#isOver) return
    throw new CellarError(ErrorCode.closed, 'the transaction is over; await all of its calls')
  }

  #take(): Omit<AtomicBatch, 'durability'> & { own: number } {
    this.#isOver = true
    const rows = [...this.#rows.values()]
    return {
      own: this.#ownChecks.length,
      checks: [...this.#ownChecks, ...rows.flatMap((changes) => changes.checks())],
      mutations: [...rows.flatMap((changes) => changes.mutations()), ...this.#ownMutations],
    }
  }
}

/**
 * Calls `work` with a transaction, and commits the writes in one atomic batch, if no other call has
 * changed what `work` read. Else `work` is called again, so it has no effects but the transaction.
 * Resolves to the result of `work`. Nothing is written if `work` throws.
 *
 * Errors: `ERR_CONFLICT` if each of `attemptsMax` attempts lost, or a check of `Transaction.check`
 * did not hold; `ERR_UNSUPPORTED` without the capability `atomicAcrossTables`; those of
 * `Database.atomic`.
 */
export async function transaction<T>(
  database: Database,
  work: (transaction: Transaction) => T | Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const { attemptsMax, durability } = transactionOptions.read(options)
  if (typeof work !== 'function') {
    throw invalidArgument(`a transaction needs a function: async (tx) => {}, got ${shown(work)}`)
  }
  const { capabilities } = checkDatabase(database, 'a transaction')
  checkObject(capabilities, 'the capabilities of a database')
  requireCapability(capabilities, 'atomicAcrossTables', 'a transaction')
  for (let attempt = 1; ; attempt++) {
    using snapshot = capabilities.snapshots ? database.snapshot() : undefined
    const current = new Transaction(snapshot)
    let result: T
    let batch
    try {
      result = await work(current)
    } finally {
      batch = readArguments(() => take(current))
    }
    if (batch.mutations.length === 0) return result
    const { own, ...rest } = batch
    const { success, failedCheck } = await database.atomic({ ...rest, durability })
    if (success) return result
    if (failedCheck! < own) {
      throw new CellarError(
        ErrorCode.conflict,
        `check ${failedCheck} of the transaction is not true`,
      )
    }
    if (attempt === attemptsMax) throw neverWon(attempt)
    await waitAfter(attempt)
  }
}

/** The form of the rows of a table that a call names first. */
function rowsOf<K extends KeyParts, C extends ColumnsOption>(
  table: TypedHandle<K, C>,
): RowForm<K, C> {
  const { rows, table: plain } = (table ?? {}) as Partial<TypedHandle<K, C>>
  if (rows instanceof RowForm && typeof plain?.name === 'string') return rows
  throw invalidArgument(
    `a transaction takes a typed table first, such as tx.get(users, key), got ${shown(table)}; ` +
      'for other tables it has check and mutate',
  )
}

function neverWon(attempts: number): CellarError {
  return new CellarError(
    ErrorCode.conflict,
    `the transaction lost against other writes in ${attempts} attempts; nothing was written. ` +
      'Raise attemptsMax, or let fewer callers write these rows at once',
  )
}

/** Waits a random time that grows with the attempts, so that the same callers do not meet again. */
async function waitAfter(attempt: number): Promise<void> {
  const most = Math.min(2 ** (attempt - 1) - 1, waitMillisecondsMax)
  if (most <= 0) return
  await new Promise((resolve) => setTimeout(resolve, random() * most))
}
