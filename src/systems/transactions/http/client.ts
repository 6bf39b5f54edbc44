/**
 * The transaction manager of another process over HTTP: the calls that `runTransaction` and
 * `TransactionContext` need. Participants persist their writes before the commit, because a remote
 * manager does not write them with the commit.
 *
 * Failure behaviour: if the answer to a commit is lost, the client asks the server for the state of
 * the transaction. While the transaction runs, the commit is sent again. Without a definite answer
 * within `outcomeMilliseconds`, the commit fails with `ERR_TRANSACTION_OUTCOME_UNKNOWN`. Nothing is
 * rolled back then: the transaction is committed, or its timeout makes it invalid.
 */
import {
  hasCode,
  CellarError,
  checkDatabase,
  checked,
  declareOptions,
  ErrorCode,
  integer,
  invalidArgument,
  type Database,
  type OptionsOf,
} from '../../../api/index.js'
import {
  startOf,
  TransactionErrorCode,
  transactionFromJson,
  type CommitOptions,
  type StartOptions,
  type Transaction,
  type Transactions,
  type TransactionState,
  type VisibilitySnapshot,
} from '../index.js'
import { checkPointer } from '../checks.js'
import { pointerOf } from '../tephra/transaction-forms.js'
import { commitOptions, longStartOptions, startOptions } from '../manager/manager-calls.js'
import { checkMilliseconds } from '../options.js'
import { checkTransaction } from '../transaction.js'
import { answerObject, connectionDeclarations, connectionOf } from '../../../http/connection.js'
import type { Fetch } from '../../../http/keep-alive-fetch.js'
import { changesJson, parseConflict, parseSnapshot, type StartBody } from './json.js'

const clientOptions = declareOptions('a transaction client', {
  ...connectionDeclarations,
  /** The database for `TransactionScope.table`. Default: none. */
  database: checked((given: Database) => checkDatabase(given, 'a transaction client')),
  /** Timeout of an answer, in milliseconds. Default 30,000. */
  requestMilliseconds: integer({ min: 1, default: 30_000 }),
  /** Milliseconds to determine the outcome of a commit whose answer was lost. Default 30,000. */
  outcomeMilliseconds: integer({ min: 1, default: 30_000 }),
})

/** Options of a {@link TransactionClient}. */
export interface TransactionClientOptions extends OptionsOf<typeof clientOptions> {}

const states: readonly unknown[] = ['running', 'committing', 'invalid', 'ended', 'unknown']
const codes: ReadonlySet<string> = new Set(Object.values(TransactionErrorCode))
const pauseMilliseconds = 50
const pauseMillisecondsMax = 1000

/** See the file header. */
export class TransactionClient implements Transactions {
  readonly isRemote = true
  readonly database: Database | undefined
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #requestMilliseconds: number
  readonly #outcomeMilliseconds: number
  readonly #fetch: Fetch
  #lifetimeMilliseconds = Infinity
  /** The server's clock at the last start, minus the monotonic clock of this process. */
  #clockOffset = 0

  /** Connects at the first call. `ERR_INVALID_ARGUMENT`. */
  constructor(options: TransactionClientOptions) {
    const settings = clientOptions.read(options)
    const { url, headers, fetch } = connectionOf(settings)
    this.#base = `${url}/v1/transactions`
    this.#headers = { ...headers, 'accept-encoding': 'identity' }
    this.#requestMilliseconds = settings.requestMilliseconds
    this.#outcomeMilliseconds = settings.outcomeMilliseconds
    this.database = settings.database
    this.#fetch = fetch
  }

  async startShort(options: StartOptions = {}): Promise<Transaction> {
    return this.#start({ ...startOptions.read(options), type: 'SHORT' })
  }

  async startLong(options: Pick<StartOptions, 'client'> = {}): Promise<Transaction> {
    return this.#start({ ...longStartOptions.read(options), type: 'LONG' })
  }

  async canCommit(transaction: Transaction, changes: Iterable<Uint8Array | string>): Promise<void> {
    const { transactionId } = checkTransaction(transaction)
    await this.#call('POST', `/${transactionId}/can-commit`, ignored, changesJson(changes))
  }

  /**
   * As the manager's `commit`, without writes; see the file header.
   * `ERR_TRANSACTION_OUTCOME_UNKNOWN`.
   */
  async commit(transaction: Transaction, options: CommitOptions = {}): Promise<void> {
    const { writes, carry } = commitOptions.read(options)
    if (writes.length > 0 || carry !== undefined) {
      throw invalidArgument('a manager in another process takes no writes along')
    }
    const { transactionId: id } = checkTransaction(transaction)
    const end = performance.now() + this.#outcomeMilliseconds
    let state: TransactionState | undefined = 'running'
    let cause: unknown
    for (let pause = pauseMilliseconds; ; pause = Math.min(2 * pause, pauseMillisecondsMax)) {
      if (state === 'ended') return
      if (state === 'invalid' || state === 'unknown') {
        const message = `cannot commit transaction ${id}: it is ${state}`
        throw new CellarError(TransactionErrorCode.notInProgress, message, { cause })
      }
      if (state === 'running') {
        try {
          await this.#send('POST', `/${id}/commit`, ignored)
          return
        } catch (error) {
          // An earlier request may have committed meanwhile.
          const isLate = cause !== undefined && hasCode(error, TransactionErrorCode.notInProgress)
          if (isDefinite(error) && !isLate) throw error
          cause = error
        }
      }
      if (performance.now() + pause > end) {
        const message = `nobody says what became of the commit of transaction ${id}`
        throw new CellarError(TransactionErrorCode.outcomeUnknown, message, { cause })
      }
      await new Promise((resolve) => setTimeout(resolve, pause))
      state = await this.state(id).catch(() => undefined)
    }
  }

  async abort(transaction: Transaction): Promise<void> {
    const { transactionId, type, checkpointWritePointers } = checkTransaction(transaction)
    const pointers = checkpointWritePointers.map(String)
    const body = { type, checkpointWritePointers: pointers }
    await this.#call('POST', `/${transactionId}/abort`, ignored, body)
  }

  async invalidate(transactionId: bigint): Promise<boolean> {
    const path = `/${checkPointer(transactionId, 'the id')}/invalidate`
    return this.#send('POST', path, (body) => answerObject(body)['invalidated'] === true)
  }

  async checkpoint(transaction: Transaction): Promise<Transaction> {
    const { transactionId } = checkTransaction(transaction)
    const pointer = await this.#call('POST', `/${transactionId}/checkpoint`, (body) =>
      pointerOf(answerObject(body)['writePointer'], 'writePointer'),
    )
    return transaction.withCheckpoint(pointer)
  }

  /** The state of a transaction. */
  async state(transactionId: bigint): Promise<TransactionState> {
    return this.#call('GET', `/${checkPointer(transactionId, 'the id')}`, (body) => {
      const { state } = answerObject(body)
      if (!states.includes(state)) throw invalidArgument('there is no such state')
      return state as TransactionState
    })
  }

  /**
   * Running and invalid transactions, for `transactionProcessor` over tables of this process. With
   * an old snapshot jobs only drop less.
   */
  async snapshot(): Promise<VisibilitySnapshot> {
    return this.#call('GET', '/snapshot', (body) => parseSnapshot(answerObject(body)))
  }

  /** As the manager's `checkLifetime`, by the clock of the server at the last start. */
  checkLifetime(pointer: bigint): void {
    const age = performance.now() + this.#clockOffset - startOf(pointer)
    if (age <= this.#lifetimeMilliseconds) return
    const message = `transaction ${pointer} is older than ${this.#lifetimeMilliseconds} ms`
    throw new CellarError(TransactionErrorCode.tooOld, message)
  }

  async #start(body: StartBody | StartOptions): Promise<Transaction> {
    const read = (answer: Buffer): { transaction: Transaction; lifetime: number } => {
      const { transaction, lifetimeMilliseconds: lifetime } = answerObject(answer)
      checkMilliseconds(lifetime, 'lifetimeMilliseconds', 1)
      return { transaction: transactionFromJson(transaction), lifetime: lifetime as number }
    }
    const { transaction, lifetime } = await this.#call('POST', '', read, body)
    this.#lifetimeMilliseconds = lifetime
    this.#clockOffset = transaction.startMilliseconds - performance.now()
    return transaction
  }

  /** Sends an idempotent request, and again after a broken connection. */
  async #call<T>(
    method: string,
    path: string,
    read: (body: Buffer) => T,
    json?: object,
  ): Promise<T> {
    return this.#send(method, path, read, json, true)
  }

  /** The content of an answer. `ERR_TRANSACTIONS_UNAVAILABLE` if the answer cannot be read. */
  async #send<T>(
    method: string,
    path: string,
    read: (body: Buffer) => T,
    json?: object,
    isRepeated = false,
  ): Promise<T> {
    const headers: Record<string, string> = { ...this.#headers }
    if (method === 'POST') headers['content-type'] = 'application/json'
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    const signal = AbortSignal.timeout(this.#requestMilliseconds)
    let bytes: Buffer
    let status: number
    try {
      const answer = await this.#fetch(this.#base + path, { method, headers, signal, ...body })
      status = answer.status
      bytes = Buffer.from(await answer.arrayBuffer())
      if (answer.ok) return read(bytes)
    } catch (cause) {
      if (isRepeated && !signal.aborted) return this.#send(method, path, read, json)
      const message = 'the server of transactions gives no answer'
      throw new CellarError(TransactionErrorCode.unavailable, message, { cause })
    }
    throw errorOf(status, bytes)
  }
}

/** Whether the server confirmed that nothing was committed. */
function isDefinite(error: unknown): boolean {
  if (!(error instanceof CellarError) || error.code === TransactionErrorCode.unavailable)
    return false
  return codes.has(error.code) || error.code === ErrorCode.invalidArgument
}

function ignored(): void {
  // The status of the answer suffices.
}

function errorOf(status: number, body: Buffer): CellarError {
  let answer: Readonly<Record<string, unknown>> = {}
  try {
    answer = answerObject(body)
  } catch {
    // A proxy may answer with another body.
  }
  const text = (name: string): string => {
    const value = answer[name]
    return typeof value === 'string' ? value : `the server answered ${status}`
  }
  const [message, code] = [text('message'), text('code')]
  if (codes.has(code)) {
    return new CellarError(code, message, { details: parseConflict(answer['conflict']) })
  }
  if (status === 400) return invalidArgument(message)
  return new CellarError(TransactionErrorCode.unavailable, `${code}: ${message}`)
}
