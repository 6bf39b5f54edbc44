/**
 * Projections: what a function makes of the changes of a table, each change exactly once.
 *
 * 1. The first run takes the rows of the table as they are, in the order of their keys, from a
 *    snapshot. A run that was interrupted there first applies the changes that its rows have had
 *    since, up to a new snapshot, and then reads the other rows from that snapshot.
 * 2. Then come the changes after the snapshot.
 *
 * Changes are applied in groups: one transaction writes what the function has written and the
 * position after the group. It checks the position too, so that no other run can come between.
 * Mutations of other tables move the position too, in steps of a thousand and at the end of a run.
 * So the log need not be kept for a table that nobody writes.
 *
 * The feed need not wait for the disk: the log has the writes of a projection after the changes
 * that led to them, and after a crash not without them.
 */
import { setImmediate } from 'node:timers/promises'
import { checkFunction, checkObject, checkSignal, checkText, shown } from '../../base/arguments.js'
import { CellarError, checkAborted, ErrorCode, invalidArgument } from '../../base/errors.js'
import {
  checked,
  declareOptions,
  integer,
  required,
  unchecked,
  type SettingsOf,
} from '../../base/options.js'
import { readEnd, readFamilies, type Change } from '../../api/changes.js'
import type { Database } from '../../api/database.js'
import { noSuchFamily, plainTableName } from '../../api/names.js'
import type { Table } from '../../api/table.js'
import type { KeyParts } from '../keys/row-key.js'
import { transaction, type Transaction } from '../transactions/transaction.js'
import type { ColumnsOption } from '../typed/columns.js'
import { RowForm, type TypedHandle } from '../typed/row-form.js'
import {
  checkProjectable,
  openPositions,
  readPosition,
  type PositionTable,
  type ProjectionPosition,
} from './positions.js'
import {
  firstRow,
  rowChanges,
  typedChange,
  type RowChange,
  type TypedRowChange,
} from './row-change.js'

/** Mutations of other tables after which the position is written. */
const quietMutationsMax = 1_000

type Apply = (transaction: Transaction, change: RowChange) => unknown

const projectionOptions = declareOptions('a projection', {
  name: required(checked(checkText)),
  table: required(unchecked<string | TypedHandle<KeyParts, ColumnsOption>>()),
  apply: required(checked<Apply>(checkFunction)),
  family: checked(readFamilies),
  from: checked(readFrom, 'rows' as const),
  toSequence: checked(readEnd),
  groupMax: integer({ min: 1, default: 100 }),
  signal: checked(checkSignal),
})

/** What {@link project} takes. */
export interface ProjectionOptions<T = string, R extends RowChange = RowChange> {
  /** The position has this name. */
  readonly name: string
  /** The table whose changes are applied: a typed table, or the name of any table. */
  readonly table: T
  /**
   * Called for each change of a row, in order. It reads and writes by the transaction alone: the
   * transaction may be tried again with all changes of its group.
   */
  readonly apply: (transaction: Transaction, change: R) => unknown
  /** Only cells of these families; changes without such cells are left out. Default all. */
  readonly family?: string | readonly string[] | undefined
  /**
   * Where the first run begins: 'rows' are the rows of the table at that time, and then all
   * changes; 'now' the changes after the call; a number the changes from that sequence on. Later
   * runs go on where the one before ended. Default 'rows'.
   */
  readonly from?: 'rows' | 'now' | number | undefined
  /** As of {@link ChangeOptions}: the run ends after that sequence. Default: it does not end. */
  readonly toSequence?: number | 'now' | undefined
  /** Most mutations, or first rows, of one transaction, from 1. Default 100. */
  readonly groupMax?: number | undefined
  /** Aborting it ends the run with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

type Settings = SettingsOf<typeof projectionOptions>

/**
 * Applies the changes of a table, each exactly once, also across crashes. Resolves behind
 * `toSequence` to the position. An error of `apply` ends the run, and nothing of its group is
 * written; the next run tries the same changes again.
 *
 * Errors: `ERR_CONFLICT` if another run of the projection is under way; `ERR_CHANGES_GONE` if the
 * log no longer reaches back to the position: empty the tables of the projection and call
 * {@link forgetProjection}; `ERR_UNSUPPORTED` without the capabilities `snapshots`, `changes` and
 * `atomicAcrossTables`; `ERR_NO_SUCH_COLUMN_FAMILY`; those of {@link transaction}, `Table.scan` and
 * `Database.changes`.
 */
export function project<K extends KeyParts, C extends ColumnsOption>(
  database: Database,
  options: ProjectionOptions<TypedHandle<K, C>, TypedRowChange<K, C>>,
): Promise<ProjectionPosition>
export function project(database: Database, options: ProjectionOptions): Promise<ProjectionPosition>
export async function project(database: Database, options: unknown): Promise<ProjectionPosition> {
  const form = '{ name, table, apply }'
  const given = checkObject(options as ProjectionOptions, 'a projection', form)
  const settings = projectionOptions.read(given)
  checkProjectable(database)
  const now = sequenceOf(database)
  return new Run(database, await openPositions(database), settings).run(now)
}

function sequenceOf(database: Database): number {
  using snapshot = database.snapshot()
  return snapshot.sequence
}

function readFrom(from: 'rows' | 'now' | number, what: string): 'rows' | 'now' | number {
  if (from === 'rows' || from === 'now' || (Number.isSafeInteger(from) && from >= 0)) return from
  throw invalidArgument(`${what} must be 'rows', 'now' or a sequence, got ${shown(from)}`)
}

class Run {
  readonly #database: Database
  readonly #positions: PositionTable
  readonly #settings: Settings
  readonly #table: Table
  readonly #shown: (change: RowChange) => RowChange
  readonly #ended = new AbortController()
  readonly #signal: AbortSignal
  /** As this run has read or written it last. */
  #at: ProjectionPosition | undefined
  /** Behind mutations of other tables; undefined if the position is written. */
  #quiet: ProjectionPosition | undefined = undefined

  constructor(database: Database, positions: PositionTable, settings: Settings) {
    const { table, signal } = settings
    this.#database = database
    this.#positions = positions
    this.#settings = settings
    if (typeof table === 'string') {
      this.#table = database.table(plainTableName(table))
      this.#shown = (change) => change
    } else {
      const { rows, table: given } = checkHandle(table)
      this.#table = database.table(given.name)
      this.#shown = (change) => typedChange(rows, change)
    }
    const { signal: end } = this.#ended
    this.#signal = signal === undefined ? end : AbortSignal.any([signal, end])
  }

  async run(now: number): Promise<ProjectionPosition> {
    const { name, from, family: families, toSequence = Infinity } = this.#settings
    if (families !== undefined) await this.#checkFamilies(families)
    const to = toSequence === 'now' ? now : toSequence
    try {
      this.#at = await readPosition((key) => this.#positions.get(key), name)
      if (this.#at === undefined) {
        const sequence = typeof from === 'number' ? Math.max(0, from - 1) : now
        await this.#commit([], { sequence, row: from === 'rows' ? Buffer.alloc(0) : undefined })
      }
      const { sequence, row } = this.#at!
      if (row !== undefined) await this.#readRows(sequence, row, to)
      else if (sequence < to) await this.#follow(this.#groups(sequence, to), rowChanges, undefined)
      // The changes of other tables lie behind too.
      if (this.#at!.sequence < to) await this.#commit([], { sequence: to, row: undefined })
      return this.#at!
    } catch (error) {
      if (this.#settings.signal?.aborted === true && this.#quiet !== undefined) {
        await this.#commit([], this.#quiet).catch(() => undefined)
      }
      throw error
    } finally {
      this.#ended.abort()
    }
  }

  async #checkFamilies(families: readonly string[]): Promise<void> {
    const { name } = this.#table
    const known = Object.keys((await this.#database.admin.getDescriptor(name)).families)
    for (const family of families) {
      if (!known.includes(family)) throw noSuchFamily(family, name, known)
    }
  }

  /**
   * Applies the rows that the table had before the changes, after the last one that is applied,
   * and then the changes.
   */
  async #readRows(sequence: number, last: Buffer, to: number): Promise<void> {
    using snapshot = this.#database.snapshot()
    // Open from now on, so that the database keeps its log.
    const later = this.#groups(snapshot.sequence, Math.max(to, snapshot.sequence))
    if (last.length > 0) {
      const ofReadRows = (change: Change): RowChange[] =>
        rowChanges(change).filter(({ row }) => row.compare(last) <= 0)
      await this.#follow(this.#groups(sequence, snapshot.sequence), ofReadRows, last)
    }
    const start = last.length > 0 ? { startRow: last, startInclusive: false } : {}
    const scanner = this.#table.scan({ ...start, columns: this.#settings.family, snapshot })
    try {
      for (;;) {
        const results = await scanner.nextBatch(this.#settings.groupMax)
        if (results.length === 0) break
        const rows = results.map((each) => firstRow(this.#table.name, snapshot.sequence, each))
        await this.#commit(rows, { sequence: snapshot.sequence, row: rows[rows.length - 1].row })
      }
    } finally {
      scanner.close()
    }
    await this.#commit([], { sequence: snapshot.sequence, row: undefined })
    await this.#follow(later, rowChanges, undefined)
  }

  /** The changes of the table behind a sequence. */
  #groups(behind: number, to: number): AsyncGenerator<Change[], void> {
    const feed = this.#database.changes({
      fromSequence: behind + 1,
      ...(to < Infinity && { toSequence: to }),
      table: this.#table.name,
      family: this.#settings.family,
      emptyChanges: true,
      durability: 'SYNC_WAL',
      signal: this.#signal,
    })
    return groupsOf(feed, this.#settings.groupMax)
  }

  async #follow(
    groups: AsyncGenerator<Change[], void>,
    changesOf: (change: Change) => RowChange[],
    row: Buffer | undefined,
  ): Promise<void> {
    for await (const group of groups) {
      const changes = group.flatMap(changesOf)
      const next = { sequence: group[group.length - 1].sequence, row }
      const isQuiet = changes.length === 0
      if (isQuiet && next.sequence - this.#at!.sequence < quietMutationsMax) this.#quiet = next
      else await this.#commit(changes, next)
    }
  }

  /** Applies changes and moves the position, all or nothing. */
  async #commit(changes: readonly RowChange[], next: ProjectionPosition): Promise<void> {
    const { name, apply, signal } = this.#settings
    if (changes.length > 0) checkAborted('the projection', signal)
    await transaction(this.#database, async (tx) => {
      const found = await readPosition((key) => tx.get(this.#positions, key), name)
      if (!areEqual(found, this.#at)) throw otherRun(name)
      for (const change of changes) await apply(tx, this.#shown(change))
      await tx.update(this.#positions, name, () => ({ name, ...next }))
    })
    this.#at = next
    this.#quiet = undefined
  }
}

function areEqual(some?: ProjectionPosition, other?: ProjectionPosition): boolean {
  if (some === undefined || other === undefined) return some === other
  if (some.row === undefined || other.row === undefined) {
    return some.sequence === other.sequence && some.row === other.row
  }
  return some.sequence === other.sequence && some.row.equals(other.row)
}

function otherRun(name: string): CellarError {
  const message = `another run of the projection '${name}' is under way; let one run at a time`
  return new CellarError(ErrorCode.conflict, message)
}

function checkHandle(
  table: TypedHandle<KeyParts, ColumnsOption>,
): TypedHandle<KeyParts, ColumnsOption> {
  const form = 'a typed table, or the name of a table'
  const { rows, table: plain } = checkObject(table, 'the table of a projection', form)
  if (rows instanceof RowForm && typeof plain?.name === 'string') return table
  throw invalidArgument(`the table of a projection is ${form}, got ${shown(table)}`)
}

/**
 * The elements of a feed, as many at once as are there, up to `countMax`. The first one is asked
 * for at once.
 */
function groupsOf<T>(feed: AsyncGenerator<T, void>, countMax: number): AsyncGenerator<T[], void> {
  const ask = (): Promise<IteratorResult<T, void>> => {
    const next = feed.next()
    // A failure is that of the call that waits for it.
    next.catch(() => undefined)
    return next
  }
  let next = ask()
  const groups = async function* (): AsyncGenerator<T[], void> {
    for (;;) {
      const first = await next
      if (first.done === true) return
      const group = [first.value]
      next = ask()
      while (group.length < countMax) {
        const more = await Promise.race([next, setImmediate()])
        if (more === undefined || more.done === true) break
        group.push(more.value)
        next = ask()
      }
      yield group
    }
  }
  return groups()
}
