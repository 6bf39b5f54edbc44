/**
 * A transaction as bytes: the Thrift binary form that CDAP's clients send with a poll.
 *
 *   1 i64 transactionId       4 list<i64> inProgress   7 i64 writePointer
 *   2 i64 readPointer         5 i64 firstShort         8 list<i64> checkpointWritePointers
 *   3 list<i64> invalids      6 i32 type (1, 2)        9 i32 visibility (1, 2, 3)
 *
 * A field is its type (1 byte), its number (2 bytes) and its value; a list is the type of its
 * members (1), their number (4) and the members. A byte 00 ends it. Numbers are big-endian.
 */
import { checkBytes } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { PointerList } from '../manager/pointer-list.js'
import {
  checkTransaction,
  Transaction,
  type TransactionType,
  type VisibilityLevel,
} from '../transaction.js'

const fieldI32 = 0x08
const fieldI64 = 0x0a
const fieldList = 0x0f
const types: readonly TransactionType[] = ['SHORT', 'LONG']
const levels: readonly VisibilityLevel[] = ['SNAPSHOT', 'SNAPSHOT_EXCLUDE_CURRENT', 'SNAPSHOT_ALL']
/** Bytes of everything but the members of lists. */
const fixedBytes = 4 * 11 + 3 * 8 + 2 * 7 + 1

/** Encodes a transaction. */
export function encodeTransaction(transaction: Transaction): Buffer {
  const { invalids, inProgress, checkpointWritePointers } = checkTransaction(transaction)
  const members = invalids.size + inProgress.size + checkpointWritePointers.length
  const target = Buffer.allocUnsafe(fixedBytes + 8 * members)
  let at = 0
  const header = (type: number, field: number): void => {
    at = target.writeUInt8(type, at)
    at = target.writeInt16BE(field, at)
  }
  const long = (field: number, value: bigint): void => {
    header(fieldI64, field)
    at = target.writeBigInt64BE(value, at)
  }
  const list = (field: number, values: Iterable<bigint>, count: number): void => {
    header(fieldList, field)
    at = target.writeUInt8(fieldI64, at)
    at = target.writeInt32BE(count, at)
    for (const value of values) at = target.writeBigInt64BE(value, at)
  }
  const int = (field: number, value: number): void => {
    header(fieldI32, field)
    at = target.writeInt32BE(value, at)
  }
  long(1, transaction.transactionId)
  long(2, transaction.readPointer)
  list(3, invalids, invalids.size)
  list(4, inProgress, inProgress.size)
  long(5, transaction.firstShortInProgress)
  int(6, types.indexOf(transaction.type) + 1)
  long(7, transaction.writePointer)
  list(8, checkpointWritePointers, checkpointWritePointers.length)
  int(9, levels.indexOf(transaction.visibilityLevel) + 1)
  target.writeUInt8(0, at)
  return target
}

type Value = bigint | number | BigInt64Array

/**
 * Decodes a transaction. Missing lists are empty, and a missing visibility is 'SNAPSHOT'.
 * `ERR_INVALID_ARGUMENT` for malformed bytes; no list is allocated before its bytes are present.
 */
export function decodeTransaction(bytes: Uint8Array): Transaction {
  checkBytes(bytes, 'a transaction')
  const fields = readFields(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  const long = (field: number, name: string): bigint => {
    const value = fields.get(field)
    if (typeof value !== 'bigint') throw malformed(`no ${name}`)
    return value
  }
  const list = (field: number): BigInt64Array | undefined => {
    const value = fields.get(field)
    return value instanceof BigInt64Array ? value : undefined
  }
  const choice = <T>(field: number, choices: readonly T[]): T => {
    const value = fields.get(field) ?? 1
    const chosen = typeof value === 'number' ? choices[value - 1] : undefined
    if (chosen === undefined) throw malformed(`field ${field} is out of range`)
    return chosen
  }
  const transactionId = long(1, 'transactionId')
  return new Transaction({
    transactionId,
    readPointer: long(2, 'readPointer'),
    invalids: PointerList.of(list(3) ?? []),
    inProgress: PointerList.of(list(4) ?? []),
    firstShortInProgress: long(5, 'firstShort'),
    type: choice(6, types),
    writePointer: fields.has(7) ? long(7, 'writePointer') : transactionId,
    checkpointWritePointers: [...(list(8) ?? [])],
    visibilityLevel: choice(9, levels),
  })
}

function readFields(source: Buffer): Map<number, Value> {
  const fields = new Map<number, Value>()
  let at = 0
  const need = (bytes: number): void => {
    if (at + bytes > source.length) throw malformed('it ends too early')
  }
  for (;;) {
    need(1)
    const type = source.readUInt8(at++)
    if (type === 0) break
    need(2)
    const field = source.readInt16BE(at)
    at += 2
    if (type === fieldI64) {
      need(8)
      fields.set(field, source.readBigInt64BE(at))
      at += 8
    } else if (type === fieldI32) {
      need(4)
      fields.set(field, source.readInt32BE(at))
      at += 4
    } else if (type === fieldList) {
      need(5)
      if (source.readUInt8(at) !== fieldI64) throw malformed('a list that is not of numbers')
      const count = source.readInt32BE(at + 1)
      at += 5
      if (count < 0) throw malformed('a list of negative length')
      need(8 * count)
      const values = new BigInt64Array(count)
      for (let i = 0; i < count; i++, at += 8) values[i] = source.readBigInt64BE(at)
      fields.set(field, values)
    } else throw malformed(`a field of the unknown type ${type}`)
  }
  if (at !== source.length) throw malformed('bytes behind its end')
  return fields
}

function malformed(what: string): Error {
  return invalidArgument(`malformed transaction: ${what}`)
}
