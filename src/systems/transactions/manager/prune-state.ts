/**
 * Records up to which write pointer the data of invalid transactions is rewritten. The unit is a
 * store: a family of a table, because a job works on one store. The records show which invalid
 * transactions may be forgotten (Tephra: the state of InvalidListPruningDebug and
 * HBaseTransactionPruningPlugin).
 *
 * The reasoning. A major compaction at time T with a snapshot of the transactions rewrites all data
 * in files up to the snapshot's prune upper bound. Only memtables and concurrent flushes remain. A
 * transaction that exceeded its maximum lifetime at T - grace has written nothing since, and every
 * later flush had it on the invalid list. After a flush that started later than T - grace / 2,
 * memory has no data of the transaction, and it may be forgotten. The other half of the grace is
 * for flushes that were queued or slow. The bound of a store is therefore
 *
 *   min(prune upper bound at T, inactive bound at T - grace)   of its last *confirmed* rewrite.
 *
 * A flush may leave pointers positive: without a snapshot, with an unknown topic, or with cells
 * that an open snapshot protects. Such a flush revokes the unconfirmed rewrites.
 *
 * Invariants: the bound of a store never falls. Lost state only lowers bounds: it is written
 * asynchronously to the job. REQUIRES that the pruning of the table is registered whenever its
 * database is open, and that no bulk load brings pointers of older transactions.
 *
 * Failure behaviour: a state table that cannot be written never fails a job: `onError` receives the
 * error.
 */
import {
  invalidArgument,
  callback,
  checkMethods,
  checkObject,
  declareOptions,
  implementation,
  integer,
  readArguments,
  assert,
} from '../../../api/index.js'
import type { OptionsOf, SettingsOf, StoreJob, Table } from '../../../api/index.js'
import { tell } from '../../../comfort/told.js'
import { checkPointer } from '../checks.js'
import { checkMilliseconds } from '../options.js'
import { inactiveBound } from '../transaction-snapshot.js'

/** A family of a table. */
export type StoreName = Pick<StoreJob, 'table' | 'family'>

/** The record of one store. */
export interface PruneRecord {
  /** Time and bound of the last major compaction with a snapshot of the transactions. */
  readonly rewritten:
    | {
        /** When the compaction started, in milliseconds since the Unix epoch. */
        readonly time: number
        /** Pointers up to this bound were negated or dropped in all files. */
        readonly bound: bigint
      }
    | undefined
  /** Start of the last flush that left no positive invalid pointer, or found no data in memory. */
  readonly flushedTime: number | undefined
  /** Invalid transactions up to the bound may be forgotten for this store; -1 = none. */
  readonly bound: bigint
}

const hour = 3_600_000

const pruneStateOptions = declareOptions('a prune state', {
  /**
   * A table with the family `d`, which survives a restart; absent: in memory only. The row of a
   * pruned table has its name, and a column for each family.
   */
  table: implementation<Table>(['scan', 'put']),
  /** Milliseconds after which a transaction can no longer write, in any state. Default 25 hours. */
  lifetimeMilliseconds: integer({ min: 0, default: 25 * hour }),
  /** See the file header; milliseconds, default 24 hours. */
  graceMilliseconds: integer({ min: 0, default: 24 * hour }),
  /** Receives the error of a write to the table. What it throws is ignored. */
  onError: callback<(error: unknown) => void>(),
})

/** Options of {@link PruneState}. */
export interface PruneStateOptions extends OptionsOf<typeof pruneStateOptions> {}

const stateFamily = 'd'
const emptyRecord: PruneRecord = { rewritten: undefined, flushedTime: undefined, bound: -1n }
/** The bound of an empty store. */
const pointerMax = 2n ** 63n - 1n

/** The bounds of all pruned stores; see the file header. */
export class PruneState {
  readonly #settings: SettingsOf<typeof pruneStateOptions>
  /** By the name of the store, `table/family`: neither name contains a slash. */
  readonly #records = new Map<string, PruneRecord>()
  readonly #epochs = new Map<string, number>()
  #writes: Promise<void> = Promise.resolve()

  private constructor(options: PruneStateOptions) {
    this.#settings = pruneStateOptions.read(options)
  }

  /**
   * Reads the state table. `ERR_INVALID_ARGUMENT` for times that are not milliseconds; rejects if
   * the table cannot be read. Malformed columns count as absent.
   */
  static async open(options: PruneStateOptions = {}): Promise<PruneState> {
    const state = new PruneState(options)
    const { table } = state.#settings
    if (table === undefined) return state
    for await (const result of table.scan({ columns: [stateFamily] })) {
      const name = result.row!.toString('utf8')
      for (const { qualifier, value } of result.cells()) {
        const record = decodeRecord(value)
        const store = { table: name, family: qualifier.toString('utf8') }
        if (record !== undefined) state.#records.set(keyOf(store), record)
      }
    }
    return state
  }

  /** The record of a store. */
  read(store: StoreName): PruneRecord {
    return this.#records.get(keyOf(store)) ?? emptyRecord
  }

  /**
   * The largest pointer up to which invalid transactions may be forgotten; -1 if a store has no
   * bound yet. The caller must name all existing stores with transactional data, and no dropped
   * ones; `storesOf` returns the stores of a table.
   */
  bound(stores: Iterable<StoreName>): bigint {
    let bound = pointerMax
    for (const store of readArguments(() => [...stores])) {
      const own = this.read(store).bound
      if (own < bound) bound = own
    }
    return bound === pointerMax ? -1n : bound
  }

  /**
   * Must be called when a store is created or known to be empty. No data in the store is older than
   * `time` (milliseconds), so the store needs no compaction first.
   */
  noteEmpty(store: StoreName, time: number): void {
    checkMilliseconds(time, 'the time', 0)
    this.#update(store, { rewritten: { time, bound: pointerMax }, flushedTime: time })
  }

  /** A flush that started at `time` left no pointer of an invalid transaction positive. */
  noteFlush(store: StoreName, time: number): void {
    checkMilliseconds(time, 'the time', 0)
    this.#update(store, { ...this.read(store), flushedTime: time })
  }

  /** A flush may have left such a pointer: unconfirmed rewrites are revoked. */
  noteUncleanFlush(store: StoreName): void {
    this.#epochs.set(keyOf(store), this.epoch(store) + 1)
    this.#update(store, { ...this.read(store), rewritten: undefined })
  }

  /** Changes with {@link noteUncleanFlush}; the caller reads it at the start of a compaction. */
  epoch(store: StoreName): number {
    return this.#epochs.get(keyOf(store)) ?? 0
  }

  /**
   * A major compaction that started at `time` and `epoch` has rewritten all files up to `bound`.
   */
  noteRewrite(store: StoreName, time: number, bound: bigint, epoch: number): void {
    checkMilliseconds(time, 'the time', 0)
    checkPointer(bound, 'the bound')
    if (epoch !== this.epoch(store)) return
    this.#update(store, { ...this.read(store), rewritten: { time, bound } })
  }

  /** Resolves when all notes so far are in the state table, or their write has failed. */
  async settled(): Promise<void> {
    await this.#writes
  }

  #update(store: StoreName, changed: Omit<PruneRecord, 'bound'>): void {
    const { rewritten, flushedTime } = changed
    const { table, lifetimeMilliseconds, graceMilliseconds, onError } = this.#settings
    let { bound } = this.read(store)
    if (
      rewritten !== undefined &&
      flushedTime !== undefined &&
      flushedTime >= rewritten.time - graceMilliseconds / 2
    ) {
      const inactive = inactiveBound(rewritten.time, lifetimeMilliseconds + graceMilliseconds)
      const confirmed = rewritten.bound < inactive ? rewritten.bound : inactive
      if (confirmed > bound) bound = confirmed
    }
    assert(bound >= this.read(store).bound, 'the bound of a store never falls')
    const record: PruneRecord = { rewritten, flushedTime, bound }
    this.#records.set(keyOf(store), record)
    if (table === undefined) return
    const cells = { [`${stateFamily}:${store.family}`]: encodeRecord(record) }
    const write = table.put({ row: store.table, cells })
    const told = write.catch((error: unknown) => tell(onError, error))
    this.#writes = Promise.all([this.#writes, told]).then(() => undefined)
  }
}

/** The stores of a table: its current families. */
export function storesOf(table: Table): StoreName[] {
  checkMethods(table, 'a table', ['describe'])
  return Object.keys(table.describe().families).map((family) => ({ table: table.name, family }))
}

function keyOf(store: StoreName): string {
  const { table, family } = checkObject(store, 'a store')
  if (typeof table !== 'string' || typeof family !== 'string') {
    throw invalidArgument('a store has the names of its table and its family')
  }
  return `${table}/${family}`
}

function encodeRecord({ rewritten, flushedTime, bound }: PruneRecord): string {
  const { time, bound: rewrittenBound } = rewritten ?? {}
  return JSON.stringify({
    rewrittenTime: time,
    rewrittenBound: rewrittenBound?.toString(),
    flushedTime,
    bound: bound.toString(),
  })
}

function decodeRecord(value: Uint8Array | undefined): PruneRecord | undefined {
  try {
    const parsed = JSON.parse(Buffer.from(value ?? []).toString('utf8')) as Record<string, unknown>
    const { rewrittenTime: time, rewrittenBound, flushedTime, bound } = parsed
    const isRewritten = typeof time === 'number' && typeof rewrittenBound === 'string'
    return {
      rewritten: isRewritten ? { time, bound: BigInt(rewrittenBound) } : undefined,
      flushedTime: typeof flushedTime === 'number' ? flushedTime : undefined,
      bound: BigInt(bound as string),
    }
  } catch {
    return undefined
  }
}
