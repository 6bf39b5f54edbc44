/** Transactions over HTTP: bodies and answers in JSON. Pointers are decimal strings. */
import {
  checked,
  choice,
  declareOptions,
  list,
  required,
  invalidArgument,
  type OptionsOf,
} from '../../../api/index.js'
import {
  type ConflictDetail,
  type ManagerSnapshot,
  type TransactionType,
  type VisibilitySnapshot,
} from '../index.js'
import { pointerOf } from '../tephra/transaction-forms.js'
import { keysOf, startDeclarations } from '../manager/manager-calls.js'

/** The type of a transaction. Default 'SHORT'. */
const type = choice<TransactionType>(['SHORT', 'LONG'], 'SHORT')

const startBody = declareOptions('a start', { ...startDeclarations, type })

/** Body of a start. */
export interface StartBody extends OptionsOf<typeof startBody> {}

const changesBody = declareOptions('a check of changes', {
  changes: required(list(required(checked(changeOf)))),
})
const abortBody = declareOptions('an abort', {
  type,
  checkpointWritePointers: list(required(checked(pointerOf))),
})
const noBody = declareOptions('this request', {})

/** The body of a request, an object with declared names; an empty body is an empty object. */
function bodyOf<Given, Read>(body: unknown, declared: { read(given: Given): Read }): Read {
  const text = (body as Buffer).toString('utf8')
  let json: unknown
  try {
    json = text === '' ? {} : JSON.parse(text)
  } catch {
    throw invalidArgument('the body is no JSON')
  }
  return declared.read(json as Given)
}

/** Reads the body of a start. */
export function parseStart(body: unknown): StartBody {
  const start = bodyOf(body, startBody)
  if (start.type === 'LONG' && start.timeoutMilliseconds !== undefined) {
    throw invalidArgument('a LONG transaction has no timeoutMilliseconds')
  }
  return start
}

/** Reads the keys of a change set: base64 in JSON. */
export function parseChanges(body: unknown): readonly Uint8Array[] {
  return bodyOf(body, changesBody).changes
}

function changeOf(change: string, what: string): Uint8Array {
  if (typeof change === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(change)) {
    return Buffer.from(change, 'base64')
  }
  throw invalidArgument(`${what} must be base64`)
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
  return bodyOf(body, abortBody)
}

/** Refuses a body that is not empty. */
export function checkNoBody(body: unknown): void {
  bodyOf(body, noBody)
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
