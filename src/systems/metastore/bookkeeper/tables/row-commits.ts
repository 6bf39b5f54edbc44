/**
 * The operations on the tables of one database, in the order of their calls.
 *
 * Writes are group commits (`kernel/group-commit.ts`); the sequence of a write is the new version
 * of its row, so versions grow over all tables and are never reused. A group is either reads, or
 * writes with the reads that were called after them. It ends before a write to a row that it reads.
 * So a read sees every write that was called before it, no later one, and none that is not durable.
 * Promises settle in the order of the calls.
 */
import {
  assert,
  isRefusal,
  requireCapability,
  type CellarError,
  type AtomicMutation,
  type Database,
  type Snapshot,
  type SyncTable,
  type Table,
  type TableOptions,
} from '../../../../api/index.js'
import {
  checkLayout,
  GroupCommit,
  storedSequence,
  type SequenceCell,
} from '../../kernel/group-commit.js'
import { Generations } from '../../kernel/generations.js'
import { uint64 } from '../../kernel/uint64.js'
import { MetastoreErrorCode, failed, asMetastoreError } from '../../errors.js'
import { rowOfKey } from '../keys.js'
import type { RowGuard } from '../types.js'
import type { FieldChange } from '../value.js'
import { putMutations, removal, RowDecoder, versionColumn, versionOf } from './row-format.js'
import { LongVersion, Version } from './version.js'
import { Watchers } from './watchers.js'

/** Durability of a write before its acknowledgement. */
export type MetastoreDurability = NonNullable<TableOptions['durability']>

/** A table, as used by the metastore. Not every backend has synchronous scans. */
export type ViewedTable = Table & Partial<Pick<SyncTable, 'scanSync'>>

/** The rows of one table, shared by all its handles. */
export class TableRows {
  readonly name: string
  readonly table: ViewedTable
  durability: MetastoreDurability
  readonly watchers = new Watchers()
  readonly decoder = new RowDecoder()

  constructor(name: string, table: ViewedTable) {
    this.name = name
    this.table = table
    this.durability = table.describe().durability
  }
}

/** A conditional write of a row. */
export interface RowWrite {
  /** The changes of a put; undefined for a remove. */
  readonly changes: readonly FieldChange[] | undefined
  readonly expected: Version
  readonly guard?: RowGuard | undefined
}

/** Reads rows in a snapshot; undefined = the newest state. */
type Read = (snapshot: Snapshot | undefined) => Promise<unknown>

/** One call; the operations of a group are settled together, in the order of the calls. */
class Operation {
  readonly rows: TableRows
  /** Undefined = all keys. */
  readonly key: string | undefined
  readonly work: RowWrite | Read
  readonly promise: Promise<unknown>
  outcome: unknown = undefined
  failure: unknown = undefined
  readonly #settled: ((error: unknown) => void) | undefined
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void

  constructor(
    rows: TableRows,
    key: string | undefined,
    work: RowWrite | Read,
    settled?: (error: unknown) => void,
  ) {
    this.rows = rows
    this.key = key
    this.work = work
    this.#settled = settled
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** Settles the promise; then arms or notifies watchers, before the reactions of the promise. */
  settle(): void {
    const { failure, work } = this
    if (failure === undefined) this.#resolve(this.outcome)
    else this.#reject(failure)
    this.#settled?.(failure)
    if (typeof work === 'function' || failure !== undefined) return
    this.rows.watchers.notify(this.key!, work.changes === undefined ? 'REMOVED' : 'CHANGED')
  }
}

const layoutVersion = '1'
const controlColumn = 'r:version'
const writesMax = 20_000
const bytesMax = 32 * 1024 * 1024
/** Versions that one durable write reserves for tables with a weaker durability. */
const blockVersions = 65_536
const durabilities = ['SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const

/** The operations of one database; see the file header. */
export class RowCommits {
  readonly #database: Database
  readonly #control: Table
  readonly #commits: GroupCommit<Operation, undefined>
  /** The versions of recently written rows; 0 = absent. */
  readonly #versions = new Generations<number>(4 * 1024 * 1024)
  /** All versions up to this one are reserved: a crash cannot make them available again. */
  #reserved: number
  /** The last version that an earlier process may have given out. */
  readonly #first: number

  private constructor(database: Database, control: Table, sequence: number, reserved: number) {
    this.#database = database
    this.#control = control
    this.#first = reserved
    this.#reserved = reserved
    this.#commits = new GroupCommit(database, sequenceCell(control), sequence, {
      take: groupSize,
      write: (group) => this.#run(group),
      recovered: () => Promise.resolve(),
    })
  }

  /** `control` is the table of internal rows, with the family `r`. */
  static async open(database: Database, control: Table): Promise<RowCommits> {
    requireCapability(database.capabilities, 'atomicAcrossTables', 'a metastore')
    requireCapability(database.capabilities, 'snapshots', 'a metastore')
    await checkLayout(control, controlColumn, layoutVersion)
    const cell = sequenceCell(control)
    const reserved = await storedSequence(reservedCell(control))
    return new RowCommits(database, control, await storedSequence(cell), reserved)
  }

  /** Writes a row; returns the new version of a put. Rejects if a condition does not hold. */
  write(rows: TableRows, key: string, write: RowWrite): Promise<unknown> {
    return this.#submit(new Operation(rows, key, write))
  }

  /**
   * Reads a row; an undefined key means all rows. `settled` is called when the promise is settled,
   * before its reactions.
   */
  read<T>(
    rows: TableRows,
    key: string | undefined,
    read: (snapshot: Snapshot | undefined) => Promise<T>,
    settled?: (error: unknown) => void,
  ): Promise<T> {
    return this.#submit(new Operation(rows, key, read, settled)) as Promise<T>
  }

  /** A snapshot of durable rows, for the caller to close. */
  async snapshot(): Promise<Snapshot> {
    await this.#commits.recover()
    return this.#database.snapshot()
  }

  /** Resolves when all operations have ended. */
  drain(): Promise<void> {
    return this.#commits.drain()
  }

  #submit(operation: Operation): Promise<unknown> {
    this.#commits.submit(operation)
    return operation.promise
  }

  async #run(group: readonly Operation[]): Promise<void> {
    const writes = group.filter(isWrite)
    if (writes.length > 0) await this.#writeAll(writes)
    const reads = writes.length === 0 ? group : group.filter((each) => !isWrite(each))
    if (reads.length > 0) await this.#readAll(reads)
    for (const operation of group) operation.settle()
  }

  /** Resolves when all reads have ended. Without a promise of its own for each: a hot path. */
  #readAll(reads: readonly Operation[]): Promise<void> {
    let left = reads.length
    return new Promise((resolve) => {
      const ended = (): void => {
        if (--left === 0) resolve()
      }
      for (const read of reads) {
        const work = read.work as Read
        start(() => (this.#commits.isInDoubt ? this.#commits.read(work) : work(undefined))).then(
          (outcome) => {
            read.outcome = outcome
            ended()
          },
          (error: unknown) => {
            read.failure = asMetastoreError(error)
            ended()
          },
        )
      }
    })
  }

  async #writeAll(writes: readonly Operation[]): Promise<void> {
    try {
      if (this.#commits.isInDoubt) {
        this.#versions.clear()
        await this.#commits.recover()
      }
      const versions = await this.#load(writes)
      const mutations: AtomicMutation[] = []
      const before = Math.max(this.#commits.sequence, this.#first)
      for (const write of writes) {
        const mutation = plan(write, versions, before + mutations.length + 1)
        if (mutation !== undefined) mutations.push(mutation)
      }
      if (mutations.length > 0) await this.#apply(writes, mutations, before, versions)
    } catch (error) {
      if (isRefusal(error) && writes.length > 1) {
        // Nothing was applied. One of the writes has content that the database refuses.
        for (const write of writes) await this.#writeAll([write])
        return
      }
      // A refusal may depend on writes of the same group, so the failure replaces it.
      for (const write of writes) write.failure = asMetastoreError(error)
    }
  }

  async #apply(
    writes: readonly Operation[],
    mutations: AtomicMutation[],
    before: number,
    versions: ReadonlyMap<string, number>,
  ): Promise<void> {
    const last = before + mutations.length
    const durability = strongest(writes)
    if (durability !== 'FSYNC_WAL') await this.#reserve(last)
    const keep = (): void => {
      for (const [id, version] of versions) this.#versions.set(id, version, 0)
    }
    await this.#commits.write(mutations, last, undefined, keep, durability)
  }

  /** Makes sure that a crash that loses rows loses no version. */
  async #reserve(last: number): Promise<void> {
    if (last <= this.#reserved) return
    const reserved = last + blockVersions
    const { row, column } = reservedCell(this.#control)
    const cells = { [column]: uint64(reserved) }
    await this.#control.put({ row, cells, durability: 'FSYNC_WAL' })
    this.#reserved = reserved
  }

  /** The stored versions of the rows that writes depend on. */
  async #load(writes: readonly Operation[]): Promise<Map<string, number>> {
    const versions = new Map<string, number>()
    const missing = new Map<TableRows, string[]>()
    const find = (rows: TableRows, key: string): void => {
      const id = idOf(rows, key)
      if (versions.has(id)) return
      const known = this.#versions.get(id, () => 0)
      versions.set(id, known ?? 0)
      if (known !== undefined) return
      const keys = missing.get(rows)
      if (keys === undefined) missing.set(rows, [key])
      else keys.push(key)
    }
    for (const { rows, key, work } of writes) {
      find(rows, key!)
      const { guard } = work as RowWrite
      if (guard !== undefined) find(rows, guard.key)
    }
    for (const [rows, keys] of missing) {
      const gets = keys.map((key) => ({ row: rowOfKey(key), columns: versionColumns }))
      const results = await rows.table.getList(gets)
      for (let i = 0; i < keys.length; i++) versions.set(idOf(rows, keys[i]), versionOf(results[i]))
    }
    return versions
  }
}

const versionColumns = [versionColumn]

/** Calls a function; an exception becomes a rejection. */
function start(read: () => Promise<unknown>): Promise<unknown> {
  try {
    return read()
  } catch (error) {
    return Promise.reject(error)
  }
}

function isWrite({ work }: Operation): boolean {
  return typeof work !== 'function'
}

function sequenceCell(control: Table): SequenceCell {
  return { table: control, row: 'sequence', column: controlColumn }
}

function reservedCell(control: Table): SequenceCell {
  return { table: control, row: 'versions', column: 'r:versions' }
}

function idOf({ name }: TableRows, key: string): string {
  return `${name}\0${key}`
}

/** Number of the waiting operations that form the next group; see the file header. */
function groupSize(waiting: readonly Operation[]): number {
  if (!isWrite(waiting[0])) {
    const firstWrite = waiting.findIndex(isWrite)
    return firstWrite < 0 ? waiting.length : firstWrite
  }
  const read = new Set<string | TableRows>()
  let bytes = 0
  for (let count = 0; count < waiting.length; count++) {
    const { rows, key, work } = waiting[count]
    if (typeof work === 'function') {
      read.add(key === undefined ? rows : idOf(rows, key))
      continue
    }
    const isFull = count >= writesMax || bytes > bytesMax
    const isRead = read.size > 0 && (read.has(rows) || read.has(idOf(rows, key!)))
    if (isFull || isRead) return count
    for (const { data } of work.changes ?? []) bytes += data?.length ?? 0
  }
  return waiting.length
}

/** The strongest durability of the tables of some writes. */
function strongest(writes: readonly Operation[]): MetastoreDurability {
  let highest = 0
  for (const { rows } of writes) highest = Math.max(highest, durabilities.indexOf(rows.durability))
  return durabilities[highest]
}

/**
 * Checks a write against the versions before it, and returns its mutation. Sets the outcome of the
 * write; a write that is refused gets a failure and has no mutation.
 */
function plan(
  operation: Operation,
  versions: Map<string, number>,
  next: number,
): AtomicMutation | undefined {
  const { rows } = operation
  const key = operation.key!
  const write = operation.work as RowWrite
  const id = idOf(rows, key)
  const stored = versions.get(id)!
  const { guard } = write
  operation.failure =
    (guard && guardRefusal(guard, versions.get(idOf(rows, guard.key))!)) ?? refusal(write, stored)
  if (operation.failure !== undefined) return undefined
  assert(next > stored, 'the version of a row grows')
  const row = rowOfKey(key)
  if (write.changes === undefined) {
    versions.set(id, 0)
    return { table: rows.table, row, mutations: removal }
  }
  versions.set(id, next)
  operation.outcome = new LongVersion(next)
  return { table: rows.table, row, mutations: putMutations(write.changes, next) }
}

/** The error of a write on a row with a version, 0 if the row is absent. */
function refusal({ changes, expected }: RowWrite, stored: number): CellarError | undefined {
  if (changes !== undefined && expected === Version.NEW) {
    if (stored === 0) return undefined
    return failed(MetastoreErrorCode.keyExists, 'the row exists already')
  }
  if (stored === 0) return failed(MetastoreErrorCode.noKey, 'the row does not exist')
  if (new LongVersion(stored).compare(expected) === 'CONCURRENTLY') return undefined
  const message = `the row has version ${stored}, not ${expected.toString()}`
  return failed(MetastoreErrorCode.badVersion, message)
}

function guardRefusal({ version }: RowGuard, stored: number): CellarError | undefined {
  if (stored !== 0 && new LongVersion(stored).compare(version) === 'CONCURRENTLY') return undefined
  const found = stored === 0 ? 'is absent' : `has version ${stored}`
  const message = `the guarding row ${found}, not version ${version.toString()}`
  return failed(MetastoreErrorCode.guardFailed, message)
}
