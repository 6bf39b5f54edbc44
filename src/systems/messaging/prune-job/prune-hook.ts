/**
 * The cell hook of messaging pruning. It runs inside the flushes and compactions of the tables of
 * messaging, and applies the cleanup matrix of systems/messaging/FORMAT.md. Its options are
 * `{ rows: 'message' }`, 'payload', 'producer' or 'consumer'. Its context comes from
 * prune-observer.ts; without a context it keeps every cell.
 *
 * Rows are in the form of keys, with each byte 00 escaped (storage/cell/FORMAT.md). The row of a
 * producer or a consumer ends with its generation. A producer's row is also dropped after its last
 * message has expired; that time is in the value.
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
import { unescapeInto } from '../../../storage/cell/cell-key.js'
import {
  CellDecision,
  type CellHook,
  type CellHookSetup,
  type CellReplacement,
} from '../../../storage/coprocessor/cell-hook.js'
import { invalidArgument } from '../../../base/errors.js'
import { PointerSet, type PruneJobReport } from '../../transactions/prune-job/job-data.js'
import { emptyPruneContext, NoTopic, TopicIndex, type PruneContext } from './prune-context.js'
import {
  messageTailBytes,
  payloadTailBytes,
  pointerQualifier,
  producerOutcomeBytes,
  producerTimeOffset,
} from './row-layout.js'

/** Where the rows of each kind have their time: in the row, in the last outcome, or nowhere. */
const layouts = {
  message: { time: 'row', tailBytes: messageTailBytes, timeOffset: 4 },
  payload: { time: 'row', tailBytes: payloadTailBytes, timeOffset: 12 },
  producer: { time: 'value', tailBytes: 512, timeOffset: 0 },
  consumer: { time: 'none', tailBytes: 512, timeOffset: 0 },
} as const

/** The kind of the rows to prune. */
export type PrunedRows = keyof typeof layouts

/** All kinds of rows. */
export const prunedRows = Object.keys(layouts) as PrunedRows[]

/** Numbers of cells by outcome of a job. All other cells were kept unchanged. */
export interface PruneCounts {
  /** Dropped because of the topic's TTL. */
  expired: number
  /** Dropped because their generation of the topic has ended. */
  ended: number
  /** Kept with the write pointer negated, because its transaction is invalid. */
  negated: number
  /** Kept because the topic is unknown. */
  unknownTopic: number
  /** Kept because the row does not have the form of the table's rows. */
  foreignRow: number
}

/** The report of the hook to the observer after the last cell. */
export type PruneReport = PruneJobReport<Readonly<PruneCounts>>

const generationBytes = 4
const pointerBytes = 8
const pointerQualifierByte = pointerQualifier.charCodeAt(0)
const none = 0xffff_ffff
/** High half of 2^53-1. */
const safeHighMax = 0x1f_ffff

/** The outcomes of the decision about a row. */
const RowFate = {
  keep: 0,
  /** The TTL of its topic has passed. */
  expired: 1,
  /** The generation of the row has ended. */
  ended: 2,
  /** Its topic is unknown: the row is kept unchanged. */
  unknownTopic: 3,
  /** It does not have the form of the table's rows: the row is kept unchanged. */
  foreign: 4,
} as const
type RowFate = (typeof RowFate)[keyof typeof RowFate]

class PruneHook implements CellHook {
  readonly #context: PruneContext
  readonly #index: TopicIndex
  /** Earliest unexpired time, by position of the topic. */
  readonly #timesOldest: Float64Array
  readonly #invalid: PointerSet | undefined
  readonly #major: boolean
  readonly #hasPointers: boolean
  readonly #layout: (typeof layouts)[PrunedRows]
  /** The unescaped bytes after the topic, and the numbers that they hold. */
  readonly #tail: Buffer
  #generation = 0
  #time = 0
  #topic: number = NoTopic.foreign
  #fate: RowFate = RowFate.keep
  readonly #negative = new Uint8Array(pointerBytes)
  readonly #counts = { expired: 0, ended: 0, negated: 0, unknownTopic: 0, foreignRow: 0 }
  #leftHigh = none
  #leftLow = none

  constructor(rows: PrunedRows, context: PruneContext, now: number, major: boolean) {
    const { topics, invalid } = context
    this.#context = context
    this.#index = new TopicIndex(topics)
    this.#timesOldest = topics.ttlMilliseconds.map((ttl) => now - ttl)
    this.#invalid =
      invalid !== undefined && invalid.length > 0 ? new PointerSet(invalid) : undefined
    this.#major = major
    this.#hasPointers = rows === 'message'
    this.#layout = layouts[rows]
    this.#tail = Buffer.alloc(this.#layout.tailBytes)
  }

  /** Decides about the row; later cells of the row are only counted. */
  startRow({ buffer, keyStart, rowEnd }: CellView): void {
    const topic = this.#index.find(buffer, keyStart, rowEnd)
    this.#topic = topic
    if (topic === NoTopic.foreign || !this.#parse(buffer, this.#index.prefixEnd, rowEnd)) {
      this.#fate = RowFate.foreign
    } else {
      this.#fate = topic === NoTopic.unknown ? RowFate.unknownTopic : this.#judge(this.#time)
    }
  }

  decide(cell: CellView, replacement: CellReplacement): CellDecision {
    const fate = this.#layout.time === 'value' ? this.#fateByValue(cell) : this.#fate
    if (fate === RowFate.keep) return this.#keep(cell, replacement)
    if (fate === RowFate.ended) {
      this.#counts.ended++
      return CellDecision.drop
    }
    if (fate === RowFate.expired) {
      if (!this.#major && this.#isRolledBack(cell)) return CellDecision.keep
      this.#counts.expired++
      return CellDecision.drop
    }
    if (fate === RowFate.foreign) this.#counts.foreignRow++
    else this.#counts.unknownTopic++
    this.#notePointer(cell)
    return CellDecision.keep
  }

  finish(): PruneReport {
    const [high, low] = [this.#leftHigh, this.#leftLow]
    const pointerLeft = high === none ? undefined : (BigInt(high) << 32n) | BigInt(low)
    const { pruneBound, epoch } = this.#context
    return { counts: this.#counts, pruneBound, epoch, pointerLeft }
  }

  /**
   * Parses the escaped bytes after the topic. False if the length or a number is impossible for
   * such a row.
   */
  #parse(source: Buffer, start: number, end: number): boolean {
    const tail = this.#tail
    const { time, timeOffset } = this.#layout
    const length = unescapeInto(source, start, end, tail)
    if (time !== 'row') {
      this.#generation = length > generationBytes ? tail.readInt32BE(0) : 0
      this.#time = Infinity
      return this.#generation > 0
    }
    if (length !== tail.length) return false
    this.#generation = tail.readInt32BE(0)
    const timeHigh = tail.readInt32BE(timeOffset)
    this.#time = timeHigh * 0x1_0000_0000 + tail.readUInt32BE(timeOffset + 4)
    if (this.#generation <= 0 || timeHigh < 0 || timeHigh > safeHighMax) return false
    if (timeOffset === generationBytes) return true
    // The number between generation and time is a write pointer, which is positive.
    const pointerHigh = tail.readInt32BE(generationBytes)
    return pointerHigh > 0 || (pointerHigh === 0 && tail.readInt32BE(generationBytes + 4) !== 0)
  }

  /** The decision about a row of a known topic. */
  #judge(time: number): RowFate {
    const topic = this.#topic
    const { generations } = this.#context.topics
    return judgeRow(generations[topic], this.#timesOldest[topic], this.#generation, time)
  }

  /** The decision about a cell with the outcomes of a producer. */
  #fateByValue({ buffer, contentStart, valueEnd }: CellView): RowFate {
    if (this.#fate === RowFate.foreign || this.#fate === RowFate.unknownTopic) return this.#fate
    const bytes = valueEnd - contentStart
    if (bytes === 0 || bytes % producerOutcomeBytes !== 0) return RowFate.foreign
    const at = valueEnd - producerOutcomeBytes + producerTimeOffset
    return this.#judge(Number(buffer.readBigInt64BE(at)))
  }

  /** Decides about a cell of a kept row. */
  #keep(cell: CellView, replacement: CellReplacement): CellDecision {
    if (!this.#isInvalid(cell)) return CellDecision.keep
    negatePointer(cell.buffer, cell.contentStart, this.#negative)
    replacement.setValue(this.#negative)
    this.#counts.negated++
    return CellDecision.replace
  }

  /** Records the pointer of an unchanged cell if its transaction is invalid. */
  #notePointer(cell: CellView): void {
    if (!this.#isInvalid(cell)) return
    const high = cell.buffer.readUInt32BE(cell.contentStart)
    const low = cell.buffer.readUInt32BE(cell.contentStart + 4)
    if (high > this.#leftHigh || (high === this.#leftHigh && low >= this.#leftLow)) return
    this.#leftHigh = high
    this.#leftLow = low
  }

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
    const { buffer, contentStart: at } = cell
    return this.#invalid.has(buffer.readUInt32BE(at), buffer.readUInt32BE(at + 4))
  }
}

/** Makes the hook of one job, or of one part of it. `ERR_INVALID_ARGUMENT` for other options. */
export function createCellHook({ job, options, context }: CellHookSetup): CellHook {
  const { rows } = options
  if (!prunedRows.includes(rows as PrunedRows)) {
    throw invalidArgument(`rows must be one of ${prunedRows.join(', ')}, got ${String(rows)}`)
  }
  const given = (context ?? emptyPruneContext()) as PruneContext
  return new PruneHook(rows as PrunedRows, given, job.now, job.kind === 'major')
}

/**
 * Whether rows of `dataGeneration` belong to an ended generation: below the current one, or the
 * last one of a deleted topic. A generation above the current one has not ended: the metadata of
 * the caller is stale.
 */
export function isOlderGeneration(dataGeneration: number, currentGeneration: number): boolean {
  if (currentGeneration < 0) return dataGeneration <= -currentGeneration
  return dataGeneration < currentGeneration
}

/**
 * The decision about a row of a known topic, by generation and time. `timeOldest` is the earliest
 * unexpired time: now minus the TTL; a row of exactly that time is kept. Times are milliseconds.
 * The TTL applies to the current generation of an existing topic only. Any other generation has
 * ended, or is newer than the metadata.
 */
function judgeRow(
  currentGeneration: number,
  timeOldest: number,
  dataGeneration: number,
  time: number,
): RowFate {
  if (isOlderGeneration(dataGeneration, currentGeneration)) return RowFate.ended
  return dataGeneration === currentGeneration && time < timeOldest ? RowFate.expired : RowFate.keep
}

/**
 * Writes the negative (two's complement) of the eight bytes at `start` into `target`. The most
 * negative number is its own negative.
 */
function negatePointer(source: Uint8Array, start: number, target: Uint8Array): void {
  let carry = 1
  for (let i = 7; i >= 0; i--) {
    const sum = (~source[start + i] & 0xff) + carry
    target[i] = sum & 0xff
    carry = sum >>> 8
  }
}
