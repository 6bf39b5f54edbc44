/**
 * A transaction as its client holds it (Tephra: Transaction): the versions that it reads, and the
 * version that it writes. Ids and pointers are about 1.8e18, above the range of exact doubles,
 * hence bigints.
 */
import {
  invalidArgument,
  readArguments,
  shown,
  checked,
  declareOptions,
  required,
  choice,
  list,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import { checkPointer } from './checks.js'
import { PointerList } from './manager/pointer-list.js'

/** The largest pointer. */
export const pointerMax = 2n ** 63n - 1n
/** Ids per millisecond: an id divided by this number is the start time of the transaction. */
export const idsPerMillisecond = 1_000_000n

/** Both types, in the order of Tephra's numbers. */
export const transactionTypes = ['SHORT', 'LONG'] as const
/** SHORT: conflicts are detected, and it times out. LONG: no conflict detection, no rollback. */
export type TransactionType = (typeof transactionTypes)[number]

/**
 * Visibility of a transaction's own writes. 'SNAPSHOT': the newest of each column.
 * 'SNAPSHOT_EXCLUDE_CURRENT': the newest before its last checkpoint. 'SNAPSHOT_ALL': all of them,
 * including deletions, and the version visible without them.
 */
export type VisibilityLevel = (typeof visibilityLevels)[number]

/** All levels, in the order of Tephra's numbers. */
export const visibilityLevels = ['SNAPSHOT', 'SNAPSHOT_EXCLUDE_CURRENT', 'SNAPSHOT_ALL'] as const

const pointerLists = checked((given: Iterable<bigint>) => PointerList.of(given), PointerList.empty)

const transactionFields = declareOptions('the fields of a transaction', {
  /** The largest pointer that may be visible. */
  readPointer: required(checked(checkPointer)),
  /** Identity in all calls to the manager; the first write pointer. */
  transactionId: required(checked(checkPointer)),
  /** Version of its writes: the id, or the newest checkpoint. Default: `transactionId`. */
  writePointer: checked(checkPointer),
  /** Transactions whose data may still be stored without a rollback. Default: none. */
  invalids: pointerLists,
  /** Transactions that ran at the start, with their checkpoints. Default: none. */
  inProgress: pointerLists,
  /** The first of them that is not LONG. Default: the largest pointer. */
  firstShortInProgress: checked(checkPointer, pointerMax),
  /** SHORT (default) detects conflicts and times out, LONG does neither. */
  type: choice(transactionTypes, 'SHORT'),
  /** Write pointers of the checkpoints, ascending. Default: none. */
  checkpointWritePointers: list(required(checked(checkPointer))),
  /** Which of its own writes the transaction sees. Default SNAPSHOT. */
  visibilityLevel: choice(visibilityLevels, 'SNAPSHOT'),
})

/** The fields of a {@link Transaction}; the lists of other transactions may be in any order. */
export interface TransactionFields extends OptionsOf<typeof transactionFields> {}

type Fields = SettingsOf<typeof transactionFields> & { readonly writePointer: bigint }

/** The fields of a transaction, with their defaults. */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Transaction extends Fields {}

/** A running transaction; immutable. It has all of its fields. */
export class Transaction {
  /**
   * For clients that received the fields; `TransactionManager` starts transactions.
   * `ERR_INVALID_ARGUMENT` for pointers that are not 64-bit bigints, and for an unknown type or
   * level.
   */
  constructor(given: TransactionFields) {
    const fields = transactionFields.read(given)
    Object.assign(this, fields, { writePointer: fields.writePointer ?? fields.transactionId })
  }

  /** A transaction that sees the newest version of all data. */
  static readonly allVisibleLatest = new Transaction({
    readPointer: pointerMax,
    transactionId: pointerMax,
  })

  /** Whether the pointer is the id or a checkpoint of this transaction. */
  isOwn(pointer: bigint): boolean {
    if (pointer === this.transactionId || pointer === this.writePointer) return true
    return this.checkpointWritePointers.includes(pointer)
  }

  /** Whether the transaction sees the writes of a pointer. */
  isVisible(pointer: bigint): boolean {
    if (typeof pointer !== 'bigint') throw noPointer(pointer)
    if (this.isOwn(pointer)) {
      return this.visibilityLevel !== 'SNAPSHOT_EXCLUDE_CURRENT' || pointer !== this.writePointer
    }
    return (
      pointer <= this.readPointer && !this.inProgress.has(pointer) && !this.invalids.has(pointer)
    )
  }

  /** Every pointer up to the bound is final: visible to all later transactions, or invalid. */
  get visibilityUpperBound(): bigint {
    const first = this.inProgress.first
    if (first !== undefined) return first - 1n
    const before = this.transactionId - 1n
    return before < this.readPointer ? before : this.readPointer
  }

  /** Start time, in milliseconds since the epoch. */
  get startMilliseconds(): number {
    return startOf(this.transactionId)
  }

  /** The same transaction with another visibility of its own writes. */
  withVisibility(visibilityLevel: VisibilityLevel): Transaction {
    return new Transaction({ ...this.fields(), visibilityLevel })
  }

  /** The same reads, with a new write pointer after the existing ones. */
  withCheckpoint(writePointer: bigint): Transaction {
    const checkpointWritePointers = [...this.checkpointWritePointers, writePointer]
    return new Transaction({ ...this.fields(), writePointer, checkpointWritePointers })
  }

  /** A copy of all fields. */
  fields(): TransactionFields {
    return { ...this }
  }
}

/** Start time of the transaction of an id or pointer, in milliseconds since the epoch. */
export function startOf(pointer: bigint): number {
  if (typeof pointer !== 'bigint') throw noPointer(pointer)
  return Number(pointer / idsPerMillisecond)
}

/** Checks a transaction from a caller. `ERR_INVALID_ARGUMENT`. */
export function checkTransaction(value: Transaction): Transaction {
  if (readArguments(() => value instanceof Transaction)) return value
  throw invalidArgument(`the transaction must be a Transaction, got ${shown(value)}`)
}

function noPointer(value: unknown): Error {
  return invalidArgument(`a pointer must be a bigint, got ${shown(value)}`)
}
