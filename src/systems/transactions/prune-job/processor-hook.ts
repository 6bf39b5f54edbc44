/**
 * The cell hook of transactional tables (Tephra: the data janitor of TransactionProcessor). It runs
 * in flushes and compactions, and drops cells that no transaction will ever see.
 *
 * - Cells of invalid transactions, and cells older than the TTL of the family, are dropped.
 * - Above the *visibility upper bound* all other cells are kept: their transactions may be running.
 * - Up to the bound every transaction sees the same. Of each column the newest cell is kept. Older
 *   ones are dropped, as are the cells that a deletion of the family covers: all cells with smaller
 *   pointers. A deletion itself (an empty value) is kept until a major compaction, because a cell
 *   that it covers may be in a file that this job does not read. A deletion newer than an open
 *   snapshot of the database is also kept: the snapshot may protect a covered cell, which no hook
 *   sees.
 *
 * The empty column of a family holds the deletions of the family. A value there hides no deletion.
 *
 * A decision from one file is safe: the kept version covers an older version in another file. No
 * object is allocated per cell. Without a context every cell is kept.
 */
import type { CellView } from '../../../storage/cell/cell-view.js'
import {
  CellDecision,
  type CellHook,
  type CellHookSetup,
  type StoreJob,
} from '../../../storage/coprocessor/cell-hook.js'
import { PointerSet, type PruneBounds, type PruneJobReport } from './job-data.js'

/** The context of a job. Structured-cloneable. */
export interface ProcessorContext extends PruneBounds {
  /** Ascending. */
  readonly invalid: BigInt64Array
  /** The visibility upper bound, in 32-bit halves. */
  readonly visibleHigh: number
  readonly visibleLow: number
  /** Milliseconds since the epoch of the oldest live cell; 0 = all cells live. */
  readonly oldestMilliseconds: number
}

/** Cells that a job dropped, by reason. */
export interface DroppedCells {
  /** Of invalid transactions. */
  invalid: number
  /** Older than the TTL of their family. */
  expired: number
  /** Hidden by a newer cell or a deletion. */
  covered: number
}

/** Smaller timestamps are plain milliseconds, from before the table became transactional. */
const plainMillisecondsMax = 10_000_000_000_000
const idsPerMillisecond = 1_000_000

class ProcessorHook implements CellHook {
  readonly #context: ProcessorContext
  /** Deletions up to this sequence may be dropped. */
  readonly #deletionsUpTo: number
  readonly #invalid: PointerSet | undefined
  #qualifier = new Uint8Array(64)
  #qualifierBytes = -1
  #columnDone = false
  #deleteHigh = -1
  #deleteLow = 0
  readonly #counts: DroppedCells = { invalid: 0, expired: 0, covered: 0 }

  constructor(context: ProcessorContext, { kind, readPointOldest }: StoreJob) {
    this.#context = context
    this.#deletionsUpTo = kind === 'major' ? readPointOldest : -1
    this.#invalid = context.invalid.length > 0 ? new PointerSet(context.invalid) : undefined
  }

  startRow(): void {
    this.#qualifierBytes = -1
    this.#deleteHigh = -1
  }

  decide(cell: CellView): CellDecision {
    const { timestampHigh: high, timestampLow: low } = cell
    if (!this.#isSameColumn(cell)) this.#columnDone = false
    if (this.#invalid?.has(high, low) === true) {
      this.#counts.invalid++
      return CellDecision.drop
    }
    if (this.#isExpired(cell)) {
      this.#counts.expired++
      return CellDecision.drop
    }
    const { visibleHigh, visibleLow } = this.#context
    if (high > visibleHigh || (high === visibleHigh && low > visibleLow)) return CellDecision.keep
    const isDeletion = cell.contentBytes === 0
    if (isDeletion && cell.qualifierStart === cell.qualifierEnd) return this.#familyDeletion(cell)
    if (this.#columnDone || this.#isDeleted(high, low)) {
      this.#counts.covered++
      this.#columnDone = true
      return CellDecision.drop
    }
    this.#columnDone = true
    return isDeletion ? this.#deletion(cell) : CellDecision.keep
  }

  finish(): PruneJobReport<DroppedCells> {
    const { pruneBound, epoch } = this.#context
    return { counts: this.#counts, pruneBound, epoch, pointerLeft: undefined }
  }

  /** The newest deletion of the family also covers older ones. */
  #familyDeletion(cell: CellView): CellDecision {
    if (this.#deleteHigh >= 0) {
      this.#counts.covered++
      return CellDecision.drop
    }
    this.#deleteHigh = cell.timestampHigh
    this.#deleteLow = cell.timestampLow
    this.#columnDone = true
    return this.#deletion(cell)
  }

  #deletion(cell: CellView): CellDecision {
    if (cell.sequence > this.#deletionsUpTo) return CellDecision.keep
    this.#counts.covered++
    return CellDecision.drop
  }

  #isExpired(cell: CellView): boolean {
    const { oldestMilliseconds } = this.#context
    if (oldestMilliseconds <= 0) return false
    const { timestamp } = cell
    const milliseconds =
      timestamp < plainMillisecondsMax ? timestamp : timestamp / idsPerMillisecond
    return milliseconds < oldestMilliseconds
  }

  /** Whether a deletion of the family covers the cell. */
  #isDeleted(high: number, low: number): boolean {
    return high < this.#deleteHigh || (high === this.#deleteHigh && low < this.#deleteLow)
  }

  #isSameColumn({ buffer, qualifierStart, qualifierEnd }: CellView): boolean {
    const bytes = qualifierEnd - qualifierStart
    let isSame = bytes === this.#qualifierBytes
    for (let i = 0; isSame && i < bytes; i++) {
      isSame = buffer[qualifierStart + i] === this.#qualifier[i]
    }
    if (isSame) return true
    if (this.#qualifier.length < bytes) this.#qualifier = new Uint8Array(2 * bytes)
    for (let i = 0; i < bytes; i++) this.#qualifier[i] = buffer[qualifierStart + i]
    this.#qualifierBytes = bytes
    return false
  }
}

/** Keeps every cell: the transactions are unknown. */
const idleHook: CellHook = {
  decide: () => CellDecision.keep,
  finish: (): PruneJobReport<DroppedCells> => {
    const counts = { invalid: 0, expired: 0, covered: 0 }
    return { counts, pruneBound: undefined, epoch: 0, pointerLeft: undefined }
  },
}

/** Makes the hook of one job, or of one part of it. */
export function createCellHook({ job, context }: CellHookSetup): CellHook {
  return context === undefined ? idleHook : new ProcessorHook(context as ProcessorContext, job)
}
