/** A transaction as JSON. All pointers are decimal strings, because a double cannot hold them. */
import { readArguments } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { PointerList } from '../manager/pointer-list.js'
import {
  checkTransaction,
  Transaction,
  visibilityLevels,
  type TransactionType,
  type VisibilityLevel,
} from '../transaction.js'

/** The JSON of a transaction. */
export interface TransactionJson {
  /** {@link Transaction.transactionId} in decimal digits. */
  readonly transactionId: string
  /** {@link Transaction.readPointer} in decimal digits. */
  readonly readPointer: string
  /** {@link Transaction.writePointer} in decimal digits. Absent = the id. */
  readonly writePointer?: string
  /** {@link Transaction.invalids} in decimal digits, in any order. Absent = none. */
  readonly invalids?: readonly string[]
  /** {@link Transaction.inProgress} in decimal digits, in any order. Absent = none. */
  readonly inProgress?: readonly string[]
  /** {@link Transaction.firstShortInProgress} in decimal digits. Absent = the largest pointer. */
  readonly firstShortInProgress?: string
  /** Absent = SHORT. */
  readonly type?: TransactionType
  /** {@link Transaction.checkpointWritePointers} in decimal digits. Absent = none. */
  readonly checkpointWritePointers?: readonly string[]
  /** Absent = SNAPSHOT. */
  readonly visibilityLevel?: VisibilityLevel
}

const types: readonly unknown[] = ['SHORT', 'LONG']
const levels: readonly unknown[] = visibilityLevels

/** The JSON of a transaction. */
export function transactionToJson(transaction: Transaction): TransactionJson {
  checkTransaction(transaction)
  const texts = (pointers: Iterable<bigint>): string[] => Array.from(pointers, String)
  return {
    transactionId: String(transaction.transactionId),
    readPointer: String(transaction.readPointer),
    writePointer: String(transaction.writePointer),
    invalids: texts(transaction.invalids),
    inProgress: texts(transaction.inProgress),
    firstShortInProgress: String(transaction.firstShortInProgress),
    type: transaction.type,
    checkpointWritePointers: texts(transaction.checkpointWritePointers),
    visibilityLevel: transaction.visibilityLevel,
  }
}

/** Decodes a transaction from JSON. `ERR_INVALID_ARGUMENT`. */
export function transactionFromJson(json: unknown): Transaction {
  return readArguments(() => parse(json))
}

function parse(json: unknown): Transaction {
  if (typeof json !== 'object' || json === null) throw malformed('it is no object')
  const fields = json as Record<string, unknown>
  const type = fields['type'] ?? 'SHORT'
  const visibilityLevel = fields['visibilityLevel'] ?? 'SNAPSHOT'
  if (!types.includes(type)) throw malformed('type')
  if (!levels.includes(visibilityLevel)) throw malformed('visibilityLevel')
  const transactionId = pointerOf(fields['transactionId'], 'transactionId')
  const optional = (name: string): bigint | undefined =>
    fields[name] === undefined ? undefined : pointerOf(fields[name], name)
  const list = (name: string): bigint[] => {
    const value = fields[name] ?? []
    if (!Array.isArray(value)) throw malformed(name)
    return value.map((member) => pointerOf(member, name))
  }
  return new Transaction({
    transactionId,
    readPointer: pointerOf(fields['readPointer'], 'readPointer'),
    writePointer: optional('writePointer') ?? transactionId,
    invalids: PointerList.of(list('invalids')),
    inProgress: PointerList.of(list('inProgress')),
    firstShortInProgress: optional('firstShortInProgress') ?? 2n ** 63n - 1n,
    type: type as TransactionType,
    checkpointWritePointers: list('checkpointWritePointers'),
    visibilityLevel: visibilityLevel as VisibilityLevel,
  })
}

/** A 64-bit number of JSON: a decimal string, or a number that a double holds exactly. */
export function pointerOf(value: unknown, name: string): bigint {
  let number: bigint | undefined
  if (typeof value === 'string' && /^-?[0-9]{1,19}$/.test(value)) number = BigInt(value)
  else if (typeof value === 'number' && Number.isSafeInteger(value)) number = BigInt(value)
  if (number === undefined || BigInt.asIntN(64, number) !== number) {
    throw malformed(`${name} is no 64-bit number in decimal digits`)
  }
  return number
}

function malformed(what: string): Error {
  return invalidArgument(`malformed transaction or pointer: ${what}`)
}
