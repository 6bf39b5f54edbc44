/**
 * Measures how long operations take: histograms by kind for the database, each table and each
 * family, and reports of slow operations.
 *
 * Reading the clock twice costs a tenth of a get. So only one operation of a table in 64 on average
 * is timed, at varying distances, because equal distances could follow a rhythm of the caller. All
 * operations are counted. With `slowOperationMilliseconds` all are timed, so that no slow one is
 * missed. Where a duration counts is looked up for timed operations only.
 */
import { LatencyHistogram } from '../../../base/latency-histogram.js'
import { publishDiagnostic, traceOperation, traceOperationSync } from '../diagnostics.js'
import { familyOf } from './operation-family.js'

/** Kinds of timed operations, with the index of their figures. */
export const TimedOperation = {
  get: 0,
  scan: 1,
  put: 2,
  delete: 3,
  update: 4,
  checkAndMutate: 5,
  batch: 6,
  sync: 7,
  flush: 8,
  compaction: 9,
} as const

/** The name of a kind of operations. */
export type TimedOperationName = keyof typeof TimedOperation
/** Index of a kind of operations. */
export type TimedOperation = (typeof TimedOperation)[TimedOperationName]

const names = Object.keys(TimedOperation) as readonly TimedOperationName[]

/**
 * Figures of one kind of operations since the open. Durations are those of the timed operations
 * only.
 */
export interface LatencyStatistics {
  /** Number of operations that have begun, timed or not; of a family those that were timed. */
  readonly count: number
  /** Number of operations that were timed and ended without an error. */
  readonly timedCount: number
  /** The mean. */
  readonly meanMicroseconds: number
  /** The sum of the timed durations. */
  readonly sumMicroseconds: number
  /** How many took at most 10, 25, 50, 100, 250 µs, and so on to 10 s. */
  readonly buckets: readonly number[]
  /** Half of the operations took at most so long. */
  readonly p50Microseconds: number
  /** 99 % of the operations took at most so long. */
  readonly p99Microseconds: number
  /** 99.9 % of the operations took at most so long. */
  readonly p999Microseconds: number
  /** The longest. */
  readonly maxMicroseconds: number
}

/** An operation that took at least `slowOperationMilliseconds`. */
export interface SlowOperation {
  /** Name of the table; empty for a batch of several tables. */
  readonly table: string
  /** The only family that the operation concerns; undefined if there are several. */
  readonly family: string | undefined
  /** The row that the operation names; undefined if it names none. */
  readonly row: Buffer | undefined
  /** Which operation. */
  readonly kind: TimedOperationName
  /** How long the operation took. */
  readonly milliseconds: number
}

/** Of the number of operations from one timed to the next: one in 64 is timed on average. */
const distanceMask = 127

/** The figures of the kinds of operations that have occurred. */
export type LatenciesByKind = Readonly<Partial<Record<TimedOperationName, LatencyStatistics>>>

/** Histograms by kind, made when a kind is first timed. */
class Histograms {
  private readonly byKind: (LatencyHistogram | undefined)[] = names.map(() => undefined)

  record(kind: TimedOperation, nanoseconds: number): void {
    const histogram = (this.byKind[kind] ??= new LatencyHistogram())
    histogram.record(nanoseconds)
  }

  statistics(kind: number, operations?: number): LatencyStatistics {
    const histogram = this.byKind[kind] ?? noDurations
    const { count: timedCount, sumNanoseconds, maxNanoseconds } = histogram
    return {
      count: operations ?? timedCount,
      timedCount,
      meanMicroseconds: timedCount === 0 ? 0 : sumNanoseconds / timedCount / 1000,
      sumMicroseconds: sumNanoseconds / 1000,
      buckets: histogram.buckets(),
      p50Microseconds: histogram.quantile(0.5) / 1000,
      p99Microseconds: histogram.quantile(0.99) / 1000,
      p999Microseconds: histogram.quantile(0.999) / 1000,
      maxMicroseconds: maxNanoseconds / 1000,
    }
  }

  /** The figures of the kinds whose number in `counts`, or of durations, is not 0. */
  occurred(counts?: Float64Array): LatenciesByKind {
    const entries = names.flatMap((name, kind) => {
      const count = counts?.[kind] ?? this.byKind[kind]?.count ?? 0
      return count === 0 ? [] : [[name, this.statistics(kind, counts?.[kind])] as const]
    })
    return Object.fromEntries(entries)
  }
}

const noDurations = new LatencyHistogram()

/** Told of the durations of the timed operations. */
export interface TimesWatcher {
  /** Names of the families of a table. */
  readonly familiesOf: (table: string) => readonly string[]
  readonly onSlow: (operation: SlowOperation) => void
}

/** Times the operations of one database; see the file header. */
export class OperationTimes {
  readonly directory: string
  /** Infinity: no operation is slow. */
  readonly slowMilliseconds: number
  readonly clock: () => number
  private readonly watcher: TimesWatcher
  private readonly all = new Histograms()
  private readonly tables = new Map<string, TableTimes>()

  constructor(
    slowMilliseconds: number,
    directory: string,
    watcher: TimesWatcher,
    clock: () => number = () => performance.now(),
  ) {
    this.slowMilliseconds = slowMilliseconds
    this.directory = directory
    this.watcher = watcher
    this.clock = clock
  }

  /** The times of a table, also of one that is dropped and created again. */
  ofTable(name: string): TableTimes {
    let times = this.tables.get(name)
    if (times === undefined) this.tables.set(name, (times = new TableTimes(this, name)))
    return times
  }

  /** Forgets the durations of a table that is dropped; those of the database stay. */
  dropTable(name: string): void {
    this.tables.get(name)?.clear()
  }

  /**
   * Takes the duration of an operation. `family`: the only one that it concerns, if the operation
   * does not say that.
   */
  record(
    of: TableTimes,
    kind: TimedOperation,
    milliseconds: number,
    operation: unknown,
    family = familyOf(operation, this.watcher.familiesOf(of.table)),
  ): void {
    this.recordLong(of, kind, milliseconds, family)
    if (milliseconds < this.slowMilliseconds) return
    const { directory } = this
    const { table } = of
    const slow = { table, family, row: rowOf(operation), kind: names[kind], milliseconds }
    publishDiagnostic('operationSlow', { directory, ...slow })
    this.watcher.onSlow(slow)
  }

  /** Takes the duration of a job or a sync. */
  recordLong(of: TableTimes, kind: TimedOperation, milliseconds: number, family?: string): void {
    this.all.record(kind, milliseconds * 1e6)
    of.record(kind, milliseconds * 1e6, family)
    const { directory } = this
    const { table } = of
    publishDiagnostic('operationTimed', {
      directory,
      table,
      family,
      kind: names[kind],
      milliseconds,
    })
  }

  /** The figures of all kinds. */
  statistics(): Readonly<Record<TimedOperationName, LatencyStatistics>> {
    const entries = names.map((name, kind) => {
      let count = 0
      for (const { counts } of this.tables.values()) count += counts[kind]
      return [name, this.all.statistics(kind, count)] as const
    })
    return Object.fromEntries(entries) as Record<TimedOperationName, LatencyStatistics>
  }
}

/** Times the operations and jobs of one table. */
export class TableTimes {
  /** Name of the table; empty for what concerns no single table. */
  readonly table: string
  /** Operations by kind, timed or not. */
  readonly counts = new Float64Array(names.length)
  /** Operations that are not timed before the next one that is. */
  private left = 1
  private random = 0x2545f491
  private readonly all: OperationTimes
  private histograms = new Histograms()
  private families = new Map<string, Histograms>()

  constructor(all: OperationTimes, table: string) {
    this.all = all
    this.table = table
  }

  /** Counts an operation that begins. Returns the time if the operation is timed, else 0. */
  begin(kind: TimedOperation): number {
    this.counts[kind]++
    return --this.left > 0 ? 0 : this.beginTimed()
  }

  /** Counts an operation that is always timed, because it is rare and long. Returns the time. */
  beginLong(kind: TimedOperation): number {
    this.counts[kind]++
    return this.all.clock()
  }

  private beginTimed(): number {
    if (this.all.slowMilliseconds === Infinity) {
      // Marsaglia's xorshift: fast, and the same sequence in every run.
      let next = this.random
      next ^= next << 13
      next ^= next >>> 17
      next ^= next << 5
      this.random = next
      this.left = 1 + (next & distanceMask)
    }
    return this.all.clock()
  }

  /**
   * Ends an operation. `family`: the only one that it concerns, if the operation does not say that.
   * REQUIRES a time from {@link begin} that is not 0.
   */
  end(kind: TimedOperation, startedAt: number, operation: unknown, family?: string): void {
    this.all.record(this, kind, this.all.clock() - startedAt, operation, family)
  }

  /** Ends what {@link beginLong} began; nothing of it is a slow operation. */
  endLong(kind: TimedOperation, startedAt: number, family?: string): void {
    this.all.recordLong(this, kind, this.all.clock() - startedAt, family)
  }

  /** As {@link end}, when the promise is fulfilled. Returns the promise. */
  endLater<T>(
    kind: TimedOperation,
    startedAt: number,
    promise: Promise<T>,
    operation: unknown,
  ): Promise<T> {
    promise.then(() => this.end(kind, startedAt, operation), ignore)
    return promise
  }

  /** Runs an operation between the messages of the channel `cellardb:operation`. */
  trace<T>(kind: TimedOperation, operation: unknown, run: () => Promise<T>): Promise<T> {
    return traceOperation(this.messageOf(kind, operation), run)
  }

  /** As {@link trace}, of an operation without a promise. */
  traceSync<T>(kind: TimedOperation, operation: unknown, run: () => T): T {
    return traceOperationSync(this.messageOf(kind, operation), run)
  }

  private messageOf(kind: TimedOperation, operation: unknown): object {
    const { all, table } = this
    return { directory: all.directory, table, row: rowOf(operation), kind: names[kind] }
  }

  /** Takes a duration in nanoseconds. */
  record(kind: TimedOperation, nanoseconds: number, family: string | undefined): void {
    this.histograms.record(kind, nanoseconds)
    if (family === undefined) return
    let own = this.families.get(family)
    if (own === undefined) this.families.set(family, (own = new Histograms()))
    own.record(kind, nanoseconds)
  }

  /** The figures of the kinds that have occurred. */
  statistics(): LatenciesByKind {
    return this.histograms.occurred(this.counts)
  }

  /** The figures of the timed operations that concern this family alone, and of its jobs. */
  familyStatistics(family: string): LatenciesByKind {
    return this.families.get(family)?.occurred() ?? {}
  }

  clear(): void {
    this.histograms = new Histograms()
    this.families = new Map()
  }
}

/** The caller gets the rejection of the promise, so it is ignored here. */
function ignore(): void {}

/**
 * A copy of the row that an operation names, because callers may change theirs. Of arguments that
 * cannot be read, undefined: the operation itself rejects them.
 */
function rowOf(operation: unknown): Buffer | undefined {
  try {
    const { row, check } = operation as { readonly row?: unknown; readonly check?: unknown }
    const named = row ?? (check as { readonly row?: unknown } | null | undefined)?.row
    if (typeof named === 'string') return Buffer.from(named)
    return named instanceof Uint8Array ? Buffer.from(named) : undefined
  } catch {
    return undefined
  }
}
