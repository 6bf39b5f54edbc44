/** Transactions over HTTP: bodies and answers in JSON. Pointers are decimal strings. */
import {
  checked,
  choice,
  declareOptions,
  described,
  invalidArgument,
  list,
  required,
  type OptionsOf,
} from '../../../api/index.js'
import type { JsonFields } from '../../../http/client.js'
import type {
  ConflictDetail,
  ManagerSnapshot,
  TransactionType,
  VisibilitySnapshot,
} from '../index.js'
import { keysOf, startDeclarations } from '../manager/manager-calls.js'
import { checkMilliseconds } from '../options.js'
import { pointerOf } from '../tephra/transaction-forms.js'

/** The type of a transaction. Default 'SHORT'. */
const type = choice<TransactionType>(['SHORT', 'LONG'], 'SHORT')

const change = described(checked(changeOf), { type: 'string', contentEncoding: 'base64' })
const pointer = described(checked(pointerOf), {
  type: 'string',
  description: 'a 64-bit number in decimal digits',
})

/** The bodies of requests. */
export const bodies = {
  start: declareOptions('a start', { ...startDeclarations, type }),
  /** The keys of a change set, in base64. */
  changes: declareOptions('a check of changes', {
    changes: required(list(required(change))),
  }),
  /** The fields that a manager needs for a transaction that timed out. */
  abort: declareOptions('an abort', {
    type,
    checkpointWritePointers: list(required(pointer)),
  }),
  none: declareOptions('this request', {}),
}

/** Body of a start. */
export type StartBody = OptionsOf<typeof bodies.start>

function changeOf(change: string, what: string): Uint8Array {
  const isBase64 = typeof change === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(change)
  if (isBase64 && change.length % 4 === 0) return Buffer.from(change, 'base64')
  throw invalidArgument(`${what} must be base64`)
}

/** Writes the keys of a change set. `ERR_INVALID_ARGUMENT`. */
export function changesJson(changes: Iterable<Uint8Array | string>): { changes: string[] } {
  const base64 = (key: Uint8Array | string): string => {
    return Buffer.from(key as string, 'latin1').toString('base64')
  }
  return { changes: keysOf(changes).map(base64) }
}

/** The JSON of a value: pointers as decimal strings, lists of any kind as arrays. */
export function digits(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (Symbol.iterator in value) return Array.from(value as Iterable<unknown>, digits)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, digits(each)]))
}

/** Writes a snapshot of the manager, without change sets. */
export function snapshotJson(snapshot: ManagerSnapshot): unknown {
  const { time, readPointer, writePointer, visibilityUpperBound, ...lists } = snapshot
  const { invalid, inProgress, running } = lists
  const pointers = { readPointer, writePointer, visibilityUpperBound }
  return digits({ time, ...pointers, invalid, inProgress, running })
}

/** Reads the parts of a snapshot that jobs need. */
export function parseSnapshot(json: JsonFields): VisibilitySnapshot {
  const list = (name: string): BigInt64Array => {
    return BigInt64Array.from((json[name] as unknown[]).map((each) => pointerOf(each, name)))
  }
  const { time } = json
  checkMilliseconds(time, 'time', 0)
  return {
    time: time as number,
    readPointer: pointerOf(json['readPointer'], 'readPointer'),
    visibilityUpperBound: pointerOf(json['visibilityUpperBound'], 'visibilityUpperBound'),
    invalid: list('invalid'),
    inProgress: list('inProgress'),
  }
}

/** The details of a conflict in an answer; undefined if the answer has none. */
export function parseConflict(json: unknown): ConflictDetail | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { transactionId, key, otherClient } = json as JsonFields
  return {
    transactionId: pointerOf(transactionId, 'transactionId'),
    key: String(key),
    otherClient: typeof otherClient === 'string' ? otherClient : undefined,
  }
}
