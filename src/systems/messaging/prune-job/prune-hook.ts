/**
 * The cell hook of messaging pruning. It runs inside the flushes and compactions of a message,
 * payload or producer table, and applies the cleanup matrix of systems/messaging/FORMAT.md. Its
 * options are `{ rows: 'message' }`, 'payload', 'producer' or 'consumer' (owner-hook.ts). Its
 * context comes from prune-observer.ts; without a context it keeps every cell.
 *
 * Invariants
 *
 * - A cell is dropped only if its row has the form of the table's rows and its topic is known.
 * - The decision about a topic never depends on the topic before it.
 * - All cells of a row get the same decision, from the row alone, with one exception. A negative
 *   pointer that has only expired stays until a major compaction. Its older, positive version may
 *   be in a file that this job does not read. That version would reappear as committed if the topic
 *   got a longer TTL. An ended generation never returns, so its pointers are dropped at once.
 * - No object and no string is allocated per cell.
 */
import type { CellView } from '../../../storage/cell/cell-view.js'
import {
  CellDecision,
  type CellHook,
  type CellHookSetup,
  type CellReplacement,
} from '../../../storage/coprocessor/cell-hook.js'
import { invalidArgument } from '../../../base/errors.js'
import {
  emptyPruneContext,
  NoTopic,
  TopicIndex,
  type PackedTopics,
  type PruneContext,
} from './prune-context.js'
import { PointerSet } from '../../transactions/prune-job/packed-pointers.js'
import { OwnerHook } from './owner-hook.js'
import { judgeRow, negatePointer, RowFate } from './prune-rules.js'
import { messageTailBytes, payloadTailBytes, pointerQualifier } from './row-layout.js'
import { StoredRow } from './stored-row.js'

/** The kind of the rows to prune. */
export type PrunedRows = 'message' | 'payload' | 'producer' | 'consumer'

/** Numbers of cells by outcome of a job. All other cells were kept unchanged. */
export interface PruneCounts {
  /** Dropped because of the topic's TTL. */
  readonly expired: number
  /** Dropped because their generation of the topic has ended. */
  readonly ended: number
  /** Kept with the write pointer negated, because its transaction is invalid. */
  readonly negated: number
  /** Kept because the topic is unknown. */
  readonly unknownTopic: number
  /** Kept because the row does not have the form of the table's rows. */
  readonly foreignRow: number
}

/** The report of the hook to the observer after the last cell. */
export interface PruneReport {
  readonly counts: PruneCounts
  /** As in the context of the job. */
  readonly pruneBound: bigint | undefined
  readonly epoch: number
  /**
   * The smallest invalid pointer that stayed positive because its row was foreign or of an unknown
   * topic. Its transaction must stay in the invalid list.
   */
  readonly pointerLeft: bigint | undefined
}

const kinds: readonly PrunedRows[] = ['message', 'payload', 'producer', 'consumer']
const pointerBytes = 8
const pointerQualifierByte = pointerQualifier.charCodeAt(0)
const none = 0xffff_ffff

class PruneHook implements CellHook {
  readonly #context: PruneContext
  readonly #topics: PackedTopics
  readonly #index: TopicIndex
  /** Earliest unexpired time, by position of the topic. */
  readonly #timesOldest: Float64Array
  readonly #invalid: PointerSet | undefined
  readonly #major: boolean
  readonly #hasPointers: boolean
  readonly #row: StoredRow
  #fate: RowFate = RowFate.keep
  readonly #negative = new Uint8Array(pointerBytes)
  #expired = 0
  #ended = 0
  #negated = 0
  #unknownTopic = 0
  #foreignRow = 0
  #leftHigh = none
  #leftLow = none

  constructor(rows: PrunedRows, context: PruneContext, now: number, major: boolean) {
    const { topics, invalid } = context
    this.#context = context
    this.#topics = topics
    this.#index = new TopicIndex(topics)
    this.#timesOldest = topics.ttlMilliseconds.map((ttl) => now - ttl)
    this.#invalid = invalid !== undefined && invalid.count > 0 ? new PointerSet(invalid) : undefined
    this.#major = major
    this.#hasPointers = rows === 'message'
    this.#row = this.#hasPointers
      ? new StoredRow(messageTailBytes, 4)
      : new StoredRow(payloadTailBytes, 12)
  }

  /** Decides about the row; later cells of the row are only counted. */
  startRow(cell: CellView): void {
    const { buffer, keyStart, rowEnd } = cell
    const topic = this.#index.find(buffer, keyStart, rowEnd)
    const row = this.#row
    if (topic === NoTopic.foreign || !row.parse(buffer, this.#index.prefixEnd, rowEnd)) {
      this.#fate = RowFate.foreign
    } else if (topic === NoTopic.unknown) {
      this.#fate = RowFate.unknownTopic
    } else {
      const currentGeneration = this.#topics.generations[topic]
      this.#fate = judgeRow(currentGeneration, this.#timesOldest[topic], row.generation, row.time)
    }
  }

  decide(cell: CellView, replacement: CellReplacement): CellDecision {
    const fate = this.#fate
    if (fate === RowFate.keep) return this.#keep(cell, replacement)
    if (fate === RowFate.ended) {
      this.#ended++
      return CellDecision.drop
    }
    if (fate === RowFate.expired) {
      if (!this.#major && this.#isRolledBack(cell)) return CellDecision.keep
      this.#expired++
      return CellDecision.drop
    }
    if (fate === RowFate.foreign) this.#foreignRow++
    else this.#unknownTopic++
    this.#notePointer(cell)
    return CellDecision.keep
  }

  finish(): PruneReport {
    const expired = this.#expired
    const ended = this.#ended
    const negated = this.#negated
    const unknownTopic = this.#unknownTopic
    const foreignRow = this.#foreignRow
    const leftHigh = this.#leftHigh
    const leftLow = this.#leftLow
    const pointerLeft = leftHigh === none ? undefined : (BigInt(leftHigh) << 32n) | BigInt(leftLow)
    const counts = { expired, ended, negated, unknownTopic, foreignRow }
    const { pruneBound, epoch } = this.#context
    return { counts, pruneBound, epoch, pointerLeft }
  }

  /** Decides about a cell of a kept row. */
  #keep(cell: CellView, replacement: CellReplacement): CellDecision {
    if (!this.#isInvalid(cell)) return CellDecision.keep
    negatePointer(cell.buffer, cell.contentStart, this.#negative)
    replacement.setValue(this.#negative)
    this.#negated++
    return CellDecision.replace
  }

  /** Records the pointer of an unchanged cell if its transaction is invalid. */
  #notePointer(cell: CellView): void {
    if (!this.#isInvalid(cell)) return
    const high = readUint32(cell.buffer, cell.contentStart)
    const low = readUint32(cell.buffer, cell.contentStart + 4)
    if (high > this.#leftHigh || (high === this.#leftHigh && low >= this.#leftLow)) return
    this.#leftHigh = high
    this.#leftLow = low
  }

  /** Whether the cell is the write pointer of a message. */
  #isPointer(cell: CellView): boolean {
    return (
      this.#hasPointers &&
      cell.qualifierEnd - cell.qualifierStart === 1 &&
      cell.buffer[cell.qualifierStart] === pointerQualifierByte &&
      cell.valueEnd - cell.contentStart === pointerBytes
    )
  }

  #isRolledBack(cell: CellView): boolean {
    return this.#isPointer(cell) && cell.buffer[cell.contentStart] >= 0x80
  }

  #isInvalid(cell: CellView): boolean {
    if (this.#invalid === undefined || !this.#isPointer(cell)) return false
    const at = cell.contentStart
    return this.#invalid.has(readUint32(cell.buffer, at), readUint32(cell.buffer, at + 4))
  }
}

/** Makes the hook of one job, or of one part of it. `ERR_INVALID_ARGUMENT` for other options. */
export function createCellHook(setup: CellHookSetup): CellHook {
  const { job, options } = setup
  const { rows } = options
  if (!isKind(rows)) {
    throw invalidArgument(`rows must be one of ${kinds.join(', ')}, got ${String(rows)}`)
  }
  const context = (setup.context ?? emptyPruneContext()) as PruneContext
  if (rows === 'producer') return new OwnerHook(context, job.now)
  if (rows === 'consumer') return new OwnerHook(context, undefined)
  return new PruneHook(rows, context, job.now, job.kind === 'major')
}

function isKind(rows: unknown): rows is PrunedRows {
  return kinds.includes(rows as PrunedRows)
}

function readUint32(source: Buffer, offset: number): number {
  return (
    ((source[offset] << 24) |
      (source[offset + 1] << 16) |
      (source[offset + 2] << 8) |
      source[offset + 3]) >>>
    0
  )
}
