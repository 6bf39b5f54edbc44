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
  CellarError,
  checkDatabase,
  checked,
  declareOptions,
  ErrorCode,
  hasCode,
  integer,
  invalidArgument,
  timerMillisecondsMax,
  type Database,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { answerObject, connectionDeclarations, HttpClient } from '../../../http/client.js'
import { checkPointer } from '../checks.js'
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
import { commitOptions, longStartOptions, startOptions } from '../manager/manager-calls.js'
import { checkMilliseconds } from '../options.js'
import { pointerOf } from '../tephra/transaction-forms.js'
import { checkTransaction } from '../transaction.js'
import { changesJson, digits, parseConflict, parseSnapshot, type StartBody } from './json.js'

const clientOptions = declareOptions('a transaction client', {
  ...connectionDeclarations,
  /** The database for `TransactionScope.table`. Default: none. */
  database: checked((given: Database) => checkDatabase(given, 'a transaction client')),
  /** Timeout of an answer, in milliseconds. Default 30,000. */
  requestMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: 30_000 }),
  /** Milliseconds to determine the outcome of a commit whose answer was lost. Default 30,000. */
  outcomeMilliseconds: integer({ min: 1, default: 30_000 }),
})

/** Options of a {@link TransactionClient}. */
export interface TransactionClientOptions extends OptionsOf<typeof clientOptions> {}

const states: readonly unknown[] = ['running', 'committing', 'invalid', 'ended', 'unknown']
const service = {
  path: '/v1/transactions',
  codes: TransactionErrorCode,
  unavailable: TransactionErrorCode.unavailable,
  malformed: TransactionErrorCode.unavailable,
  details: ({ conflict }: { readonly conflict?: unknown }) => parseConflict(conflict),
}
const definite = Object.values<string>({ ...TransactionErrorCode, of: ErrorCode.invalidArgument })
const pauseMilliseconds = 50
const pauseMillisecondsMax = 1000

/** See the file header. */
export class TransactionClient implements Transactions {
  readonly isRemote = true
  readonly database: Database | undefined
  readonly #http: HttpClient
  readonly #settings: SettingsOf<typeof clientOptions>
  #lifetimeMilliseconds = Infinity
  /** The server's clock at the last start, minus the monotonic clock of this process. */
  #clockOffset = 0

  /** Connects at the first call. `ERR_INVALID_ARGUMENT`. */
  constructor(options: TransactionClientOptions) {
    const settings = clientOptions.read(options)
    this.#http = new HttpClient(settings, service)
    this.#settings = settings
    this.database = settings.database
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
    const end = performance.now() + this.#settings.outcomeMilliseconds
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
    const body = digits({ type, checkpointWritePointers })
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
    return this.#call(
      'POST',
      '',
      (answer) => {
        const { transaction: json, lifetimeMilliseconds } = answerObject(answer)
        checkMilliseconds(lifetimeMilliseconds, 'lifetimeMilliseconds', 1)
        const transaction = transactionFromJson(json)
        this.#lifetimeMilliseconds = lifetimeMilliseconds as number
        this.#clockOffset = transaction.startMilliseconds - performance.now()
        return transaction
      },
      body,
    )
  }

  /** Sends an idempotent request, and again after a broken connection. */
  async #call<T>(
    method: 'GET' | 'POST',
    path: string,
    read: (body: Buffer) => T,
    json?: unknown,
  ): Promise<T> {
    const end = performance.now() + this.#settings.requestMilliseconds
    try {
      return await this.#send(method, path, read, json)
    } catch (error) {
      // Only the error of a broken connection has a cause.
      if ((error as Error).cause === undefined || performance.now() >= end) throw error
      return this.#send(method, path, read, json)
    }
  }

  /** The content of an answer. `ERR_TRANSACTIONS_UNAVAILABLE` if the answer cannot be read. */
  #send<T>(
    method: 'GET' | 'POST',
    path: string,
    read: (body: Buffer) => T,
    json?: unknown,
  ): Promise<T> {
    const headers: Record<string, string> =
      method === 'POST' ? { 'content-type': 'application/json' } : {}
    const signal = AbortSignal.timeout(this.#settings.requestMilliseconds)
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    return this.#http.call(method, path, read, { headers, signal, ...body })
  }
}

/** Whether the server confirmed that nothing was committed. */
function isDefinite(error: unknown): boolean {
  if (!(error instanceof CellarError)) return false
  return error.code !== TransactionErrorCode.unavailable && definite.includes(error.code)
}

function ignored(): void {
  // The status of the answer suffices.
}
