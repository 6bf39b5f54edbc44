/**
 * A transaction as its client holds it (Tephra: Transaction): which versions it reads, and the
 * version that it writes. Ids and pointers are about 1.8e18, beyond exact doubles, hence bigints.
 */
import { checkArray, checkChoice, OptionNames, readArguments, shown } from '../../api/index.js'
import { checkPointer } from './checks.js'
import { invalidArgument } from './errors.js'
import { PointerList } from './manager/pointer-list.js'

/** The largest pointer. */
export const pointerMax = 2n ** 63n - 1n
/** Ids handed out for each millisecond: an id divided by it is the start of the transaction. */
export const idsPerMillisecond = 1_000_000n

/** SHORT: conflicts are detected, and it times out. LONG: no conflicts, cannot be rolled back. */
export type TransactionType = 'SHORT' | 'LONG'

/**
 * Which of its own writes a transaction sees: of each column the newest ('SNAPSHOT'), the newest of
 * those before its last checkpoint ('SNAPSHOT_EXCLUDE_CURRENT'), or each of them, deletions too,
 * and what it would see without them ('SNAPSHOT_ALL').
 */
export type VisibilityLevel = 'SNAPSHOT' | 'SNAPSHOT_EXCLUDE_CURRENT' | 'SNAPSHOT_ALL'

/** All levels. */
export const visibilityLevels: readonly VisibilityLevel[] = [
  'SNAPSHOT',
  'SNAPSHOT_EXCLUDE_CURRENT',
  'SNAPSHOT_ALL',
]

/** What a {@link Transaction} is made of; the lists may be in any order. */
export interface TransactionFields {
  /** The largest pointer that may be visible. */
  readonly readPointer: bigint
  /** Identity in all calls to the manager. */
  readonly transactionId: bigint
  /** Default: `transactionId`. */
  readonly writePointer?: bigint
  /** Transactions whose writes must not be seen. Default: none. */
  readonly invalids?: Iterable<bigint>
  /** Transactions that ran at the start, with their checkpoints. Default: none. */
  readonly inProgress?: Iterable<bigint>
  /** Default: the largest pointer. */
  readonly firstShortInProgress?: bigint
  /** Default SHORT. */
  readonly type?: TransactionType
  /** Ascending. Default: none. */
  readonly checkpointWritePointers?: readonly bigint[]
  /** Default SNAPSHOT. */
  readonly visibilityLevel?: VisibilityLevel
}

const fieldNames = new OptionNames<TransactionFields>('the fields of a transaction', {
  readPointer: true,
  transactionId: true,
  writePointer: true,
  invalids: true,
  inProgress: true,
  firstShortInProgress: true,
  type: true,
  checkpointWritePointers: true,
  visibilityLevel: true,
})

/** A running transaction; immutable. */
export class Transaction {
  /** The largest pointer that may be visible. */
  readonly readPointer: bigint
  /** Identity in all calls to the manager; the first write pointer. */
  readonly transactionId: bigint
  /** Version of its writes: the id, or the newest checkpoint. */
  readonly writePointer: bigint
  /** Transactions that may have left data behind that nobody undid. */
  readonly invalids: PointerList
  /** Transactions that ran at the start, with their checkpoints. */
  readonly inProgress: PointerList
  /** The first of them that is not LONG, or the largest pointer. */
  readonly firstShortInProgress: bigint
  /** SHORT detects conflicts and times out, LONG does neither. */
  readonly type: TransactionType
  /** Write pointers of the checkpoints, ascending; empty without checkpoints. */
  readonly checkpointWritePointers: readonly bigint[]
  /** Which of its own writes the transaction sees. */
  readonly visibilityLevel: VisibilityLevel

  /**
   * For clients that received the parts; `TransactionManager` starts transactions.
   * `ERR_INVALID_ARGUMENT` for pointers that are no bigints of 64 bits, an unknown type or level.
   */
  constructor(fields: TransactionFields) {
    const { readPointer, transactionId, writePointer = transactionId } = fieldNames.check(fields)
    const { firstShortInProgress = pointerMax, type = 'SHORT' } = fields
    const { checkpointWritePointers = [], visibilityLevel = 'SNAPSHOT' } = fields
    this.readPointer = checkPointer(readPointer, 'readPointer')
    this.transactionId = checkPointer(transactionId, 'transactionId')
    this.writePointer = checkPointer(writePointer, 'writePointer')
    this.invalids = PointerList.of(fields.invalids ?? PointerList.empty)
    this.inProgress = PointerList.of(fields.inProgress ?? PointerList.empty)
    this.firstShortInProgress = checkPointer(firstShortInProgress, 'firstShortInProgress')
    this.type = checkChoice(type, 'type', ['SHORT', 'LONG'])
    this.checkpointWritePointers = checkArray(checkpointWritePointers, 'checkpointWritePointers')
    for (const pointer of this.checkpointWritePointers) checkPointer(pointer, 'a checkpoint')
    this.visibilityLevel = checkChoice(visibilityLevel, 'visibilityLevel', visibilityLevels)
  }

  /** A transaction that sees everything, and the newest version of it. */
  static readonly allVisibleLatest = new Transaction({
    readPointer: pointerMax,
    transactionId: pointerMax,
  })

  /** Whether the pointer is one of this transaction's own: its id or a checkpoint. */
  isOwn(pointer: bigint): boolean {
    if (pointer === this.transactionId || pointer === this.writePointer) return true
    return this.checkpointWritePointers.includes(pointer)
  }

  /** Whether the transaction sees what was written with a pointer. */
  isVisible(pointer: bigint): boolean {
    if (typeof pointer !== 'bigint') throw noPointer(pointer)
    if (this.isOwn(pointer)) {
      return this.visibilityLevel !== 'SNAPSHOT_EXCLUDE_CURRENT' || pointer !== this.writePointer
    }
    return (
      pointer <= this.readPointer && !this.inProgress.has(pointer) && !this.invalids.has(pointer)
    )
  }

  /** Every pointer up to it is final: visible to all later transactions, or invalid. */
  get visibilityUpperBound(): bigint {
    const first = this.inProgress.first
    if (first !== undefined) return first - 1n
    const before = this.transactionId - 1n
    return before < this.readPointer ? before : this.readPointer
  }

  /** When it started, in milliseconds since the epoch. */
  get startMilliseconds(): number {
    return startOf(this.transactionId)
  }

  /** The same transaction with another visibility of its own writes. */
  withVisibility(visibilityLevel: VisibilityLevel): Transaction {
    return new Transaction({ ...this.fields(), visibilityLevel })
  }

  /** The same reads, with a new write pointer behind those so far. */
  withCheckpoint(writePointer: bigint): Transaction {
    const checkpointWritePointers = [...this.checkpointWritePointers, writePointer]
    return new Transaction({ ...this.fields(), writePointer, checkpointWritePointers })
  }

  /** All fields, for copies. */
  fields(): TransactionFields {
    const { readPointer, transactionId, writePointer, invalids, inProgress } = this
    const { firstShortInProgress, type, checkpointWritePointers, visibilityLevel } = this
    return {
      readPointer,
      transactionId,
      writePointer,
      invalids,
      inProgress,
      firstShortInProgress,
      type,
      checkpointWritePointers,
      visibilityLevel,
    }
  }
}

/** When the transaction of an id or pointer started, in milliseconds since the epoch. */
export function startOf(pointer: bigint): number {
  if (typeof pointer !== 'bigint') throw noPointer(pointer)
  return Number(pointer / idsPerMillisecond)
}

/** Checks the transaction that a caller gives. `ERR_INVALID_ARGUMENT`. */
export function checkTransaction(value: Transaction): Transaction {
  if (readArguments(() => value instanceof Transaction)) return value
  throw invalidArgument(`the transaction must be a Transaction, got ${shown(value)}`)
}

function noPointer(value: unknown): Error {
  return invalidArgument(`a pointer must be a bigint, got ${shown(value)}`)
}
