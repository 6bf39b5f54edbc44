/**
 * Measures how long operations take: histograms by kind, and reports of slow operations.
 *
 * Reading the clock twice costs a tenth of a get. So only one operation in 64 on average is timed,
 * at varying distances, because equal distances could follow a rhythm of the caller. All operations
 * are counted. With `slowOperationMilliseconds` all are timed, so that no slow one is missed.
 */
import { LatencyHistogram } from '../../../base/latency-histogram.js'
import { publishDiagnostic } from '../diagnostics.js'

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
  /** Number of operations that have begun, timed or not. */
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
  /** Name of the table; undefined for the log. */
  readonly table: string
  /** The row that the operation names; undefined if it names none. */
  readonly row: Buffer | undefined
  /** Which operation. */
  readonly kind: TimedOperationName
  /** How long the operation took. */
  readonly milliseconds: number
}

/** Of the number of operations from one timed to the next: one in 64 is timed on average. */
const distanceMask = 127

/** Times operations; see the file header. */
export class OperationTimes {
  /** Operations that are not timed before the next one that is. */
  private left = 1
  private random = 0x2545f491
  private readonly counts = new Float64Array(names.length)
  private readonly histograms = names.map(() => new LatencyHistogram())
  private readonly slowMilliseconds: number
  private readonly directory: string
  private readonly onSlow: (operation: SlowOperation) => void
  private readonly clock: () => number

  /** With `slowMilliseconds` Infinity no operation is slow. */
  constructor(
    slowMilliseconds: number,
    directory: string,
    onSlow: (operation: SlowOperation) => void,
    clock: () => number = () => performance.now(),
  ) {
    this.slowMilliseconds = slowMilliseconds
    this.directory = directory
    this.onSlow = onSlow
    this.clock = clock
  }

  /** Counts an operation that begins. Returns the time if the operation is timed, else 0. */
  begin(kind: TimedOperation): number {
    this.counts[kind]++
    return --this.left > 0 ? 0 : this.beginTimed()
  }

  /** Counts an operation that is always timed, because it is rare and long. Returns the time. */
  beginLong(kind: TimedOperation): number {
    this.counts[kind]++
    return this.clock()
  }

  private beginTimed(): number {
    if (this.slowMilliseconds === Infinity) {
      // Marsaglia's xorshift: fast, and the same sequence in every run.
      let next = this.random
      next ^= next << 13
      next ^= next >>> 17
      next ^= next << 5
      this.random = next
      this.left = 1 + (next & distanceMask)
    }
    return this.clock()
  }

  /** Ends an operation on rows of a table. REQUIRES a time from {@link begin} that is not 0. */
  end(kind: TimedOperation, startedAt: number, table: string, operation: unknown): void {
    const milliseconds = this.endLong(kind, startedAt)
    if (milliseconds < this.slowMilliseconds) return
    const slow = { table, row: rowOf(operation), kind: names[kind], milliseconds }
    publishDiagnostic('operationSlow', { directory: this.directory, ...slow })
    this.onSlow(slow)
  }

  /** As {@link end}, when the promise is fulfilled. Returns the promise. */
  endLater<T>(
    kind: TimedOperation,
    startedAt: number,
    promise: Promise<T>,
    table: string,
    operation: unknown,
  ): Promise<T> {
    promise.then(() => this.end(kind, startedAt, table, operation), ignore)
    return promise
  }

  /** Ends an operation of {@link beginLong}. Returns its duration in milliseconds. */
  endLong(kind: TimedOperation, startedAt: number): number {
    const milliseconds = this.clock() - startedAt
    this.histograms[kind].record(milliseconds * 1e6)
    return milliseconds
  }

  /** The figures of all kinds. */
  statistics(): Readonly<Record<TimedOperationName, LatencyStatistics>> {
    const entries = names.map((name, kind) => [name, this.statisticsOf(kind)] as const)
    return Object.fromEntries(entries) as Record<TimedOperationName, LatencyStatistics>
  }

  private statisticsOf(kind: number): LatencyStatistics {
    const histogram = this.histograms[kind]
    const { count: timedCount, sumNanoseconds, maxNanoseconds } = histogram
    return {
      count: this.counts[kind],
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
}

/** The caller gets the rejection of the promise, so it is ignored here. */
function ignore(): void {}

/** A copy of the row that an operation names, because callers may change theirs. */
function rowOf(operation: unknown): Buffer | undefined {
  const { row, check } = operation as { readonly row?: unknown; readonly check?: unknown }
  const named = row ?? (check as { readonly row?: unknown } | undefined)?.row
  if (typeof named === 'string') return Buffer.from(named)
  return named instanceof Uint8Array ? Buffer.from(named) : undefined
}
