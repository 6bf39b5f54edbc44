/**
 * A transaction as JSON, and as bytes: the Thrift binary form that CDAP's clients send with a poll.
 *
 * In JSON all pointers are decimal strings, because a double cannot hold them. In Thrift a field is
 * its type (1 byte), its number (2) and its value: an i64, an i32 from 1 for a choice, or a list,
 * which is the type of its members (1), their number (4) and the members. A byte 00 ends the
 * transaction. Numbers are big-endian.
 */
import { assert, checkBytes, invalidArgument, readArguments } from '../../../api/index.js'
import {
  checkTransaction,
  Transaction,
  transactionTypes,
  visibilityLevels,
  type TransactionFields,
} from '../transaction.js'
import { ByteSource } from './bytes.js'

type FieldName = keyof TransactionFields
type Form = 'pointer' | 'list' | readonly string[]

/** The forms of all fields; their order is that of the Thrift numbers, from 1. */
const forms: Readonly<Record<FieldName, Form>> = {
  transactionId: 'pointer',
  readPointer: 'pointer',
  invalids: 'list',
  inProgress: 'list',
  firstShortInProgress: 'pointer',
  type: transactionTypes,
  writePointer: 'pointer',
  checkpointWritePointers: 'list',
  visibilityLevel: visibilityLevels,
}
const names = Object.keys(forms) as FieldName[]

type JsonOf<T> = T extends string | undefined ? T : T extends bigint ? string : readonly string[]

/** The JSON of a transaction: its fields, with all pointers in decimal digits. */
export type TransactionJson = {
  readonly [Name in FieldName]: JsonOf<TransactionFields[Name]>
}

/** The JSON of a transaction. */
export function transactionToJson(transaction: Transaction): TransactionJson {
  checkTransaction(transaction)
  const json: Record<string, unknown> = {}
  for (const name of names) {
    const value: unknown = transaction[name]
    const isList = forms[name] === 'list'
    json[name] = isList ? Array.from(value as Iterable<bigint>, String) : String(value)
  }
  return json as unknown as TransactionJson
}

/** Decodes a transaction from JSON. `ERR_INVALID_ARGUMENT`. */
export function transactionFromJson(json: unknown): Transaction {
  return readArguments(() => {
    if (typeof json !== 'object' || json === null) throw malformed('it is no object')
    const fields: Partial<Record<FieldName, unknown>> = {}
    for (const name of names) {
      const value = (json as Record<string, unknown>)[name] ?? undefined
      if (value !== undefined) fields[name] = ofJson(value, name)
    }
    return transactionOf(fields, ['transactionId', 'readPointer'])
  })
}

function ofJson(value: unknown, name: FieldName): unknown {
  const form = forms[name]
  if (form === 'pointer') return pointerOf(value, name)
  if (form === 'list' && Array.isArray(value)) return value.map((each) => pointerOf(each, name))
  if (form !== 'list' && form.includes(value as string)) return value
  throw malformed(name)
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

const fieldI32 = 0x08
const fieldI64 = 0x0a
const fieldList = 0x0f
/** Bytes of everything but the members of lists. */
const fixedBytes = 4 * 11 + 3 * 8 + 2 * 7 + 1

/** Encodes a transaction in the Thrift form. */
export function encodeTransaction(transaction: Transaction): Buffer {
  const { invalids, inProgress, checkpointWritePointers } = checkTransaction(transaction)
  const members = invalids.size + inProgress.size + checkpointWritePointers.length
  const target = Buffer.allocUnsafe(fixedBytes + 8 * members)
  let at = 0
  const header = (type: number, number: number): void => {
    at = target.writeUInt8(type, at)
    at = target.writeInt16BE(number, at)
  }
  names.forEach((name, index) => {
    const form = forms[name]
    const value = transaction[name]
    if (form === 'pointer') {
      header(fieldI64, index + 1)
      at = target.writeBigInt64BE(value as bigint, at)
    } else if (form === 'list') {
      header(fieldList, index + 1)
      const countAt = target.writeUInt8(fieldI64, at)
      at = countAt + 4
      for (const pointer of value as Iterable<bigint>) at = target.writeBigInt64BE(pointer, at)
      target.writeInt32BE((at - countAt - 4) / 8, countAt)
    } else {
      header(fieldI32, index + 1)
      at = target.writeInt32BE(form.indexOf(value as string) + 1, at)
    }
  })
  at = target.writeUInt8(0, at)
  assert(at === target.length, 'the fields of a transaction fill its bytes')
  return target
}

/**
 * Decodes a transaction from the Thrift form. Missing lists are empty, and a missing visibility is
 * 'SNAPSHOT'. `ERR_INVALID_ARGUMENT` for malformed bytes; no list is allocated before its bytes are
 * present.
 */
export function decodeTransaction(bytes: Uint8Array): Transaction {
  const source = new ByteSource(checkBytes(bytes, 'a transaction'))
  const fields: Partial<Record<FieldName, unknown>> = {}
  for (let type = source.byte(); type !== 0; type = source.byte()) {
    const name: FieldName | undefined = names[source.int16() - 1]
    const value = thriftValue(source, type)
    if (name !== undefined) fields[name] = ofThrift(value, name)
  }
  if (source.left > 0) throw malformed('bytes after its end')
  return transactionOf(fields, ['transactionId', 'readPointer', 'firstShortInProgress'])
}

function thriftValue(source: ByteSource, type: number): bigint | number | bigint[] {
  if (type === fieldI64) return source.int64()
  if (type === fieldI32) return source.int32()
  if (type !== fieldList) throw malformed(`a field of the unknown type ${type}`)
  if (source.byte() !== fieldI64) throw malformed('a list that is not of numbers')
  const count = source.records(source.int32(), 8)
  return Array.from({ length: count }, () => source.int64())
}

function ofThrift(value: bigint | number | bigint[], name: FieldName): unknown {
  const form = forms[name]
  if (form === 'pointer' && typeof value === 'bigint') return value
  if (form === 'list' && Array.isArray(value)) return value
  const chosen = typeof form !== 'string' && typeof value === 'number' ? form[value - 1] : undefined
  if (chosen === undefined) throw malformed(`${name} is out of range`)
  return chosen
}

function transactionOf(
  fields: Partial<Record<FieldName, unknown>>,
  required: readonly FieldName[],
): Transaction {
  const missing = required.find((name) => fields[name] === undefined)
  if (missing !== undefined) throw malformed(`no ${missing}`)
  return new Transaction(fields as unknown as TransactionFields)
}

function malformed(what: string): Error {
  return invalidArgument(`malformed transaction or pointer: ${what}`)
}
