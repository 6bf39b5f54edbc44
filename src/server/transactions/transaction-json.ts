/** Transactions over HTTP: bodies and answers in JSON. Pointers are decimal strings. */
import { OptionNames, shown } from '../../api/index.js'
import {
  type ConflictDetail,
  type ManagerSnapshot,
  type TransactionType,
  type VisibilitySnapshot,
} from '../../systems/transactions/index.js'
import { pointerOf } from '../../systems/transactions/tephra/json-form.js'
import { keysOf } from '../../systems/transactions/manager/manager-calls.js'
import { invalidArgument } from '../http/http-errors.js'

/** Body of a start. */
export interface StartBody {
  /** Default 'SHORT'. */
  readonly type?: TransactionType
  readonly timeoutMilliseconds?: number
  readonly client?: string
}

/** The body of a request, an object with known names; an empty body is an empty object. */
function bodyOf<T extends object>(body: unknown, names: OptionNames<T>): T {
  const text = (body as Buffer).toString('utf8')
  let json: unknown
  try {
    json = text === '' ? {} : JSON.parse(text)
  } catch {
    throw invalidArgument('the body is no JSON')
  }
  return names.check(json as T)
}

const startNames = new OptionNames<StartBody>('a start', {
  type: true,
  timeoutMilliseconds: true,
  client: true,
})
const changesNames = new OptionNames<{ changes: unknown }>('a check of changes', { changes: true })
const abortNames = new OptionNames<{ type?: unknown; checkpointWritePointers?: unknown }>(
  'an abort',
  { type: true, checkpointWritePointers: true },
)
const nothing = new OptionNames<object>('this request', {})

/** Reads the body of a start. */
export function parseStart(body: unknown): StartBody {
  const start = bodyOf(body, startNames)
  const { type = 'SHORT', client, timeoutMilliseconds } = start
  if (type !== 'SHORT' && type !== 'LONG') throw invalidArgument(`no type ${shown(type)}`)
  if (client !== undefined && typeof client !== 'string') {
    throw invalidArgument(`client must be a string, got ${shown(client)}`)
  }
  if (type === 'LONG' && timeoutMilliseconds !== undefined) {
    throw invalidArgument('a LONG transaction has no timeoutMilliseconds')
  }
  return start
}

/** Reads the keys of a change set: base64 in JSON. */
export function parseChanges(body: unknown): Uint8Array[] {
  const { changes } = bodyOf(body, changesNames)
  if (!Array.isArray(changes)) throw invalidArgument('changes must be an array of base64')
  return changes.map((change) => {
    if (typeof change === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(change)) {
      return Buffer.from(change, 'base64')
    }
    throw invalidArgument('changes must be an array of base64')
  })
}

/** Writes the keys of a change set. `ERR_INVALID_ARGUMENT`. */
export function changesJson(changes: Iterable<Uint8Array | string>): { changes: string[] } {
  const texts = keysOf(changes).map((key) =>
    Buffer.from(key as string, 'latin1').toString('base64'),
  )
  return { changes: texts }
}

/** Reads the body of an abort: the fields that a manager needs for a transaction that timed out. */
export function parseAbort(body: unknown): {
  readonly type: TransactionType
  readonly checkpointWritePointers: readonly bigint[]
} {
  const { type = 'SHORT', checkpointWritePointers = [] } = bodyOf(body, abortNames)
  if (type !== 'SHORT' && type !== 'LONG') throw invalidArgument(`no type ${shown(type)}`)
  if (!Array.isArray(checkpointWritePointers)) {
    throw invalidArgument('checkpointWritePointers must be an array')
  }
  const pointers = checkpointWritePointers.map((each) => pointerOf(each, 'a checkpoint'))
  return { type, checkpointWritePointers: pointers }
}

/** Refuses a body that is not empty. */
export function checkNoBody(body: unknown): void {
  bodyOf(body, nothing)
}

/** Writes a snapshot of the manager, without change sets. */
export function snapshotJson(snapshot: ManagerSnapshot): object {
  const { time, readPointer, writePointer, visibilityUpperBound, invalid, inProgress } = snapshot
  return {
    time,
    readPointer: String(readPointer),
    writePointer: String(writePointer),
    visibilityUpperBound: String(visibilityUpperBound),
    invalid: Array.from(invalid, String),
    inProgress: Array.from(inProgress, String),
    running: snapshot.running.map(({ id, type, expiration, checkpoints, client, ...rest }) => ({
      id: String(id),
      type,
      expiration,
      visibilityUpperBound: String(rest.visibilityUpperBound),
      checkpoints: checkpoints.map(String),
      client,
    })),
  }
}

/** Reads the parts of a snapshot that jobs need. */
export function parseSnapshot(json: unknown): VisibilitySnapshot {
  const snapshot = json as Record<string, unknown>
  const list = (name: string): BigInt64Array => {
    const pointers = (snapshot[name] as unknown[]).map((each) => pointerOf(each, name))
    return BigInt64Array.from(pointers)
  }
  return {
    readPointer: pointerOf(snapshot['readPointer'], 'readPointer'),
    visibilityUpperBound: pointerOf(snapshot['visibilityUpperBound'], 'visibilityUpperBound'),
    invalid: list('invalid'),
    inProgress: list('inProgress'),
  }
}

/** The conflict in an answer; undefined if the answer has none. */
export function parseConflict(json: unknown): ConflictDetail | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { transactionId, key, otherClient } = json as Record<string, unknown>
  return {
    transactionId: pointerOf(transactionId, 'transactionId'),
    key: String(key),
    otherClient: typeof otherClient === 'string' ? otherClient : undefined,
  }
}
