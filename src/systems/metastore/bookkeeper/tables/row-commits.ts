/**
 * The operations on the tables of one database, in the order of their calls.
 *
 * A group of writes is one atomic batch. Versions grow over all tables and are never reused: a
 * writer reserves them in blocks, and a batch checks that no other writer has reserved any since.
 * A group is either reads, or writes with the reads that were called after them. It ends before a
 * write to a row that it reads. So a read sees every write that was called before it, no later one,
 * and none that is not durable. Promises settle in the order of the calls.
 *
 * After a failed batch its rows may show changes that a restart would lose. They are read again
 * when a later write, the next reservation, is durable: a sync of the log makes all earlier
 * entries durable.
 */
import {
  assert,
  isRefusal,
  type AtomicMutation,
  type CellarError,
  type Database,
  type Snapshot,
  type Table,
} from '../../../../api/index.js'
import { Generations } from '../../kernel/generations.js'
import { BatchWriter, callQueue, checkBackend, commitCalls } from '../../kernel/group-commit.js'
import { MetastoreErrorCode, failed, asMetastoreError } from '../../errors.js'
import { rowOfKey } from '../keys.js'
import type { RowGuard } from '../types.js'
import { putMutations, removal, versionColumn, versionOf } from './row-format.js'
import {
  idOf,
  isWrite,
  nextGroup,
  Operation,
  strongest,
  type Read,
  type RowWrite,
  type TableRows,
} from './row-operations.js'
import { LongVersion, Version } from './version.js'

const layoutColumn = 'r:version'
/** The cell of the newest reserved version. */
const reservedCell = { row: 'versions', column: 'r:versions' }
/** Versions that one durable write reserves. */
const blockVersions = 65_536

/** The operations of one database; see the file header. */
export class RowCommits {
  readonly #database: Database
  /** Its number is the newest version that is reserved, by any writer. */
  readonly #writer: BatchWriter
  readonly #queue = callQueue<Operation>(nextGroup, (group) => this.#run(group))
  /** The versions of recently written rows; 0 = absent. */
  readonly #versions = new Generations<number>(4 * 1024 * 1024)
  /** The newest version that was given out; later ones up to the reserved one are free. */
  #newest: number
  /** Rows whose write failed but may be applied: they may show what is not durable. */
  readonly #doubtful = new Map<string, DoubtfulRow>()
  #reserving: Promise<void> | undefined = undefined

  private constructor(database: Database, writer: BatchWriter) {
    this.#database = database
    this.#writer = writer
    this.#newest = writer.number
  }

  /** `control` is the table of internal rows, with the family `r`. */
  static async open(database: Database, control: Table): Promise<RowCommits> {
    checkBackend(database, 'a metastore')
    const writer = await BatchWriter.open(database, control, reservedCell, layoutColumn)
    return new RowCommits(database, writer)
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
    read: () => Promise<T>,
    settled?: (error: unknown) => void,
  ): Promise<T> {
    return this.#submit(new Operation(rows, key, read, settled)) as Promise<T>
  }

  /** A snapshot for the caller to close. REQUIRES a read of all rows, so that they are durable. */
  snapshot(): Snapshot {
    return this.#database.snapshot()
  }

  /** Resolves when all operations have ended. */
  drain(): Promise<void> {
    return this.#queue.settled()
  }

  #submit(operation: Operation): Promise<unknown> {
    this.#queue.add(operation)
    return operation.promise
  }

  async #run(group: readonly Operation[]): Promise<void> {
    if (!isWrite(group[0])) return this.#readAll(group)
    const writes = group.filter(isWrite)
    await commitCalls(writes, (calls) => this.#writeAll(calls), asMetastoreError)
    const reads = group.filter((each) => !isWrite(each))
    if (reads.length > 0) await this.#readAll(reads)
  }

  /** Resolves when all reads have ended. Few promises, because this is a hot path. */
  #readAll(reads: readonly Operation[]): Promise<void> {
    let left = reads.length
    return new Promise((resolve) => {
      const ended = (): void => {
        if (--left === 0) resolve()
      }
      for (const read of reads) {
        this.#read(read).then(
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

  /** Reads rows, which are durable first. */
  #read({ key, id, work }: Operation): Promise<unknown> {
    const read = work as Read
    try {
      if (this.#doubtful.size === 0) return read()
      if (key !== undefined && !this.#doubtful.has(id)) return read()
      this.#reserving ??= this.#reserve().finally(() => (this.#reserving = undefined))
      return this.#reserving.then(read)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #writeAll(writes: readonly Operation[]): Promise<void> {
    const mutations: AtomicMutation[] = []
    const versions = new Map<string, number>()
    const isLeft = this.#newest + writes.length <= this.#writer.number
    if (this.#writer.isInDoubt || this.#doubtful.size > 0 || !isLeft) await this.#reserve()
    const missing = this.#find(writes, versions)
    if (missing !== undefined) await load(missing, versions)
    for (const write of writes) {
      const mutation = plan(write, versions, this.#newest + mutations.length + 1)
      if (mutation !== undefined) mutations.push(mutation)
    }
    if (mutations.length > 0) {
      try {
        await this.#writer.write(mutations, strongest(writes))
      } catch (error) {
        if (!isRefusal(error)) this.#doubt(writes, versions)
        throw error
      }
      this.#newest += mutations.length
      assert(this.#newest <= this.#writer.number, 'a version is reserved before it is given out')
    }
    for (const [id, version] of versions) this.#versions.set(id, version, 0)
  }

  #doubt(writes: readonly Operation[], versions: ReadonlyMap<string, number>): void {
    for (const { rows, key, id, failure } of writes) {
      if (failure !== undefined) continue
      this.#doubtful.set(id, { rows, key: key!, version: versions.get(id)! })
    }
  }

  /** Reserves versions, durably: a crash cannot make them available again. Ends all doubt. */
  async #reserve(): Promise<void> {
    if (this.#writer.isInDoubt) this.#versions.clear()
    this.#newest = await this.#writer.advance(blockVersions)
    const watched = [...this.#doubtful].filter(([, { rows, key }]) => rows.watchers.has(key))
    const missing: MissingRows = new Map()
    for (const [, { rows, key }] of watched) addMissing(missing, rows, key)
    const stored = new Map<string, number>()
    await load(missing, stored)
    this.#doubtful.clear()
    // Notifies the watchers of rows whose writes failed, but were applied.
    for (const [id, { rows, key, version }] of watched) {
      if (stored.get(id) !== version) continue
      rows.watchers.notify(key, version === 0 ? 'REMOVED' : 'CHANGED')
    }
  }

  /** Looks up the versions of the rows that writes depend on. Returns the rows to load. */
  #find(writes: readonly Operation[], versions: Map<string, number>): MissingRows | undefined {
    let missing: MissingRows | undefined
    const find = (rows: TableRows, key: string, id: string): void => {
      if (versions.has(id)) return
      const known = this.#versions.get(id, () => 0)
      versions.set(id, known ?? 0)
      if (known !== undefined) return
      addMissing((missing ??= new Map()), rows, key)
    }
    for (const { rows, key, id, work } of writes) {
      find(rows, key!, id)
      const { guard } = work as RowWrite
      if (guard !== undefined) find(rows, guard.key, idOf(rows, guard.key))
    }
    return missing
  }
}

/** A row whose write is in doubt. */
interface DoubtfulRow {
  readonly rows: TableRows
  readonly key: string
  /** The version of the row if the write was applied; 0 = absent. */
  readonly version: number
}

/** Rows to load: keys by table. */
type MissingRows = Map<TableRows, string[]>

function addMissing(missing: MissingRows, rows: TableRows, key: string): void {
  const keys = missing.get(rows)
  if (keys === undefined) missing.set(rows, [key])
  else keys.push(key)
}

/** Loads the stored versions of rows. */
async function load(missing: MissingRows, versions: Map<string, number>): Promise<void> {
  for (const [rows, keys] of missing) {
    const gets = keys.map((key) => ({ row: rowOfKey(key), columns: versionColumns }))
    const results = await rows.table.getList(gets)
    for (let i = 0; i < keys.length; i++) versions.set(idOf(rows, keys[i]), versionOf(results[i]))
  }
}

const versionColumns = [versionColumn]

/**
 * Checks a write against the versions before it, and returns its mutation. Sets the outcome of the
 * write; a write that is refused gets a failure and has no mutation.
 */
function plan(
  operation: Operation,
  versions: Map<string, number>,
  next: number,
): AtomicMutation | undefined {
  const { rows, id } = operation
  const write = operation.work as RowWrite
  const stored = versions.get(id)!
  const { guard } = write
  operation.failure =
    (guard && guardRefusal(guard, versions.get(idOf(rows, guard.key))!)) ?? refusal(write, stored)
  if (operation.failure !== undefined) return undefined
  assert(next > stored, 'the version of a row grows')
  const row = rowOfKey(operation.key!)
  if (write.changes === undefined) {
    versions.set(id, 0)
    return { table: rows.table, row, mutations: removal }
  }
  versions.set(id, next)
  operation.outcome = new LongVersion(next)
  return { table: rows.table, row, mutations: putMutations(write.changes, next) }
}

function matches(stored: number, expected: Version): boolean {
  if (expected === Version.ANY) return true
  return expected instanceof LongVersion && expected.value === BigInt(stored)
}

/** The error of a write on a row with a version, 0 if the row is absent. */
function refusal({ changes, expected }: RowWrite, stored: number): CellarError | undefined {
  if (changes !== undefined && expected === Version.NEW) {
    if (stored === 0) return undefined
    return failed(MetastoreErrorCode.keyExists, 'the row exists already')
  }
  if (stored === 0) return failed(MetastoreErrorCode.noKey, 'the row does not exist')
  if (matches(stored, expected)) return undefined
  const message = `the row has version ${stored}, not ${expected.toString()}`
  return failed(MetastoreErrorCode.badVersion, message)
}

function guardRefusal({ version }: RowGuard, stored: number): CellarError | undefined {
  if (stored !== 0 && matches(stored, version)) return undefined
  const found = stored === 0 ? 'is absent' : `has version ${stored}`
  const message = `the guarding row ${found}, not version ${version.toString()}`
  return failed(MetastoreErrorCode.guardFailed, message)
}
