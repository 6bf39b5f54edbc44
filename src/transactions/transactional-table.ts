/**
 * A table whose reads see the snapshot of one transaction, and whose writes carry its write pointer
 * as their timestamp (Tephra: TransactionAwareHTable). A participant of `TransactionContext`.
 *
 * Writes are kept in memory and become part of the frame of the commit. They reach the table
 * earlier in two cases: a read of the same transaction, which must see them, or more than
 * `bufferBytesMax` of them. Such writes are deleted again by a rollback.
 *
 * An empty value counts as the deletion of its column, as in Tephra: a deletion is a put of an
 * empty value, so that it can be undone. The families must keep all versions
 * (`transactionalFamily`).
 */
import {
  ErrorCode,
  CellarError,
  type AtomicMutation,
  type BytesLike,
  type Database,
  type Delete,
  type FamilyOptions,
  type Get,
  type Result,
  type ResultScanner,
  type RowPrefix,
  type RowSpan,
  type ScanOptions,
  type Table,
  OptionNames,
} from '../api/index.js'
import { invalidArgument, TransactionError, TransactionErrorCode } from './errors.js'
import type { TransactionParticipant } from './participant.js'
import { conflictKey, targetsOf, type WrittenColumn } from './table-writes.js'
import type { Transaction } from './transaction.js'
import { TransactionVisibilityFilter } from './visibility-filter.js'

/** What makes two transactions conflict: a row, a column, or nothing. */
export type ConflictLevel = 'ROW' | 'COLUMN' | 'NONE'

/** Reads within a transaction, which chooses versions and times itself. */
export type TransactionalGet = Omit<
  Get,
  'versions' | 'timeRange' | 'timestamp' | 'familyTimeRanges' | 'isolation' | 'snapshot'
>
/** As {@link TransactionalGet}. */
export type TransactionalScan = Omit<
  ScanOptions,
  'versions' | 'timeRange' | 'timestamp' | 'familyTimeRanges' | 'isolation' | 'snapshot' | 'raw'
> &
  (RowSpan | RowPrefix)
/** Writes within a transaction, which gives the timestamps. */
export interface TransactionalPut {
  /** Row that is written; text is UTF-8. */
  readonly row: BytesLike
  /** Values by column, `'family:qualifier'`. */
  readonly cells: Readonly<Record<string, BytesLike>>
}
/** Deletes columns or families; without both, the row. */
export type TransactionalDelete = Pick<Delete, 'row' | 'columns' | 'families'>

/** Options of a {@link TransactionalTable}. */
export interface TransactionalTableOptions {
  /** Default 'ROW'. */
  readonly conflictLevel?: ConflictLevel | undefined
  /** Bytes of writes above which they go to the table before the commit. Default 1 MiB. */
  readonly bufferBytesMax?: number | undefined
  /** Refuses writes of transactions that are too old, as `TransactionManager.checkLifetime`. */
  readonly checkLifetime?: ((pointer: bigint) => void) | undefined
}

const names = new OptionNames<TransactionalTableOptions>('a transactional table', {
  conflictLevel: true,
  bufferBytesMax: true,
  checkLifetime: true,
})

/** Key of the TTL, in milliseconds, in the metadata of a transactional family. */
export const ttlMetadata = 'transaction.ttl.milliseconds'

/** Options of a family that keeps what transactions need; `ttlMilliseconds` 0 = forever. */
export function transactionalFamily(
  options: FamilyOptions = {},
  ttlMilliseconds = 0,
): FamilyOptions {
  const metadata = { ...options.metadata, [ttlMetadata]: String(ttlMilliseconds) }
  return { ...options, versions: 0x7fff_ffff, metadata }
}

/** The TTL of each family that has one, in milliseconds. */
export function transactionalTtl(table: Table): Record<string, number> {
  const ttl: Record<string, number> = {}
  for (const [name, { metadata }] of Object.entries(table.describe().families)) {
    const milliseconds = Number(metadata[ttlMetadata] ?? 0)
    if (milliseconds > 0) ttl[name] = milliseconds
  }
  return ttl
}

/** See the file header. Not for concurrent transactions: make one for each context. */
export class TransactionalTable implements TransactionParticipant {
  readonly name: string
  readonly #database: Database
  readonly #table: Table
  readonly #options: Required<Omit<TransactionalTableOptions, 'checkLifetime'>>
  readonly #checkLifetime: ((pointer: bigint) => void) | undefined
  readonly #ttl: Readonly<Record<string, number>>
  #transaction: Transaction | undefined
  #changes = new Set<string>()
  #buffer: AtomicMutation[] = []
  #bufferBytes = 0
  /** Columns whose writes are in the buffer, and in the table. */
  #buffered: WrittenColumn[] = []
  #flushed: WrittenColumn[] = []

  /** `ERR_TABLE_NOT_FOUND`. */
  constructor(database: Database, tableName: string, options: TransactionalTableOptions = {}) {
    const { conflictLevel = 'ROW', bufferBytesMax = 1 << 20 } = names.check(options)
    if (!['ROW', 'COLUMN', 'NONE'].includes(conflictLevel)) {
      throw invalidArgument(`conflictLevel must be ROW, COLUMN or NONE, got ${conflictLevel}`)
    }
    this.name = tableName
    this.#database = database
    this.#table = database.table(tableName)
    this.#options = { conflictLevel, bufferBytesMax }
    this.#checkLifetime = options.checkLifetime
    this.#ttl = transactionalTtl(this.#table)
  }

  /** Reads one row. `ERR_TRANSACTION_STATE` outside of a transaction, here and below. */
  async get(get: TransactionalGet): Promise<Result> {
    await this.#flush()
    return this.#table.get({ ...get, ...this.#reading(get) })
  }

  /** Reads rows; results in the order of the gets. */
  async getList(gets: readonly TransactionalGet[]): Promise<Result[]> {
    await this.#flush()
    return this.#table.getList(gets.map((get) => ({ ...get, ...this.#reading(get) })))
  }

  /** Whether the transaction sees a cell of the row. */
  async exists(get: TransactionalGet): Promise<boolean> {
    return (await this.get(get)).size > 0
  }

  /** Reads rows in order. */
  async scan(scan: TransactionalScan = {}): Promise<ResultScanner> {
    await this.#flush()
    return this.#table.scan({ ...scan, ...this.#reading(scan) })
  }

  /** Writes cells of one row. */
  async put({ row, cells }: TransactionalPut): Promise<void> {
    const transaction = this.#writing()
    const columns = Object.keys(cells)
    if (columns.length === 0) throw invalidArgument('a put needs at least one cell')
    const timestamp = transaction.writePointer
    let bytes = 0
    for (const value of Object.values(cells)) bytes += value.length
    const mutation = {
      table: this.name,
      row,
      mutations: [{ put: { cells, timestamp } }],
    }
    await this.#write(mutation, row, columns, bytes)
  }

  /** Writes cells of several rows. */
  async putList(puts: readonly TransactionalPut[]): Promise<void> {
    for (const put of puts) await this.put(put)
  }

  /** Deletes columns, families or a row. */
  async delete(deletion: TransactionalDelete): Promise<void> {
    const transaction = this.#writing()
    const { row } = deletion
    const columns = targetsOf(deletion, Object.keys(this.#table.describe().families))
    const cells = Object.fromEntries(columns.map((column) => [column, '']))
    const timestamp = transaction.writePointer
    const mutation = { table: this.name, row, mutations: [{ put: { cells, timestamp } }] }
    await this.#write(mutation, row, columns, 0)
  }

  startTx(transaction: Transaction): void {
    this.#clear()
    this.#transaction = transaction
  }

  /** What was written so far goes to the table, with the old write pointer. */
  async updateTx(transaction: Transaction): Promise<void> {
    await this.#flush()
    this.#transaction = transaction
  }

  getTxChanges(): Iterable<string> {
    return this.#changes
  }

  commitTx(): boolean {
    return true
  }

  commitWrites(): readonly AtomicMutation[] {
    return this.#buffer
  }

  postTxCommit(): void {
    this.#clear()
  }

  async rollbackTx(): Promise<boolean> {
    const flushed = this.#flushed
    this.#clear()
    if (flushed.length === 0) return true
    const mutations = flushed.map(({ row, column, timestamp }) => ({
      table: this.name,
      row,
      mutations: [{ delete: { columnVersions: [{ ...splitColumn(column), timestamp }] } }],
    }))
    await this.#database.atomic({ mutations })
    return true
  }

  #required(): Transaction {
    if (this.#transaction !== undefined) return this.#transaction
    throw new TransactionError(
      TransactionErrorCode.state,
      `the table '${this.name}' is used outside of a transaction`,
    )
  }

  #writing(): Transaction {
    const transaction = this.#required()
    this.#checkLifetime?.(transaction.transactionId)
    return transaction
  }

  /** Versions and times of a read, and the filter that chooses among them. */
  #reading({ filter }: Pick<Get, 'filter'>): Pick<Get, 'versions' | 'timeRange' | 'filter'> {
    const transaction = this.#required()
    const ttlMilliseconds = this.#ttl
    const newest =
      transaction.writePointer > transaction.readPointer
        ? transaction.writePointer
        : transaction.readPointer
    return {
      versions: 'all',
      timeRange: [0n, newest + 1n],
      filter: new TransactionVisibilityFilter(transaction, { ttlMilliseconds, filter }),
    }
  }

  async #write(
    mutation: AtomicMutation,
    row: BytesLike,
    columns: readonly string[],
    bytes: number,
  ): Promise<void> {
    const timestamp = this.#required().writePointer
    const { conflictLevel, bufferBytesMax } = this.#options
    for (const column of columns) {
      this.#buffered.push({ row, column, timestamp })
      if (conflictLevel === 'COLUMN') this.#changes.add(conflictKey(this.name, row, column))
    }
    if (conflictLevel === 'ROW') this.#changes.add(conflictKey(this.name, row))
    this.#buffer.push(mutation)
    this.#bufferBytes += bytes + row.length + 32 * columns.length
    if (this.#bufferBytes > bufferBytesMax) await this.#flush()
  }

  /** Moves what is buffered to the table. The commit's frame lies behind it in the log. */
  async #flush(): Promise<void> {
    this.#required()
    if (this.#buffer.length === 0) return
    const mutations = this.#buffer
    this.#flushed.push(...this.#buffered)
    this.#buffer = []
    this.#buffered = []
    this.#bufferBytes = 0
    await this.#database.atomic({ mutations, durability: 'ASYNC_WAL' })
  }

  #clear(): void {
    this.#transaction = undefined
    this.#changes = new Set()
    this.#buffer = []
    this.#buffered = []
    this.#flushed = []
    this.#bufferBytes = 0
  }
}

function splitColumn(column: string): { family: string; qualifier: string } {
  const colon = column.indexOf(':')
  if (colon < 0) throw new CellarError(ErrorCode.invalidArgument, `'${column}' is no column`)
  return { family: column.slice(0, colon), qualifier: column.slice(colon + 1) }
}
