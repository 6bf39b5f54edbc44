/**
 * Calls of the Thrift2 service: which gateway gets a call, when it is repeated, and which error a
 * call ends with.
 *
 * A call is repeated only if it is idempotent or never reached a gateway. A mutation whose answer
 * was lost, also that of a repetition, ends with `ERR_UNKNOWN_OUTCOME`: whether to repeat it is the
 * caller's decision.
 */
import { performance } from 'node:perf_hooks'
import { CellarError, ErrorCode } from '../../api/index.js'
import { seededRandom } from '../../base/random.js'
import { closedError } from '../../base/errors.js'
import { HBaseErrorCode, noAnswer, unknownOutcome, wasSent } from './wire/errors.js'
import { Codec, RemoteException } from './wire/codec.js'
import { millisecondsLeft, type Request } from './wire/connection.js'
import { Gateway } from './wire/gateway.js'
import { methods, type Method } from './wire/methods.js'
import { gatewaysOf, type HBaseSettings } from './wire/options.js'
import { loadThrift } from './wire/package.js'
import type { Struct } from './wire/structs.js'

/** A call to carry out. */
export interface EncodedCall extends Request {
  /** The table that the call is for, for messages. */
  readonly what: string
}

/** The answer of a call, and the gateway that gave it. */
export interface Answered {
  readonly answer: unknown
  readonly gateway: Gateway
}

const sequenceMax = 2 ** 31 - 1

export class Client {
  readonly settings: HBaseSettings
  readonly #codec: Codec
  readonly #gateways: readonly Gateway[]
  /** Index of the gateway that gets the next call. */
  #current = 0
  #sequence = 0
  readonly #random = seededRandom(performance.timeOrigin + performance.now())
  #isClosed = false

  constructor(settings: HBaseSettings) {
    const addresses = gatewaysOf(settings)
    this.settings = settings
    this.#codec = new Codec(loadThrift())
    this.#gateways = addresses.map((address) => new Gateway(address, settings, this.#codec))
  }

  /**
   * Encodes a call; the arguments may be changed afterwards. `isIdempotent`: whether a repetition
   * with these arguments has no further effect; absent: as the method says.
   */
  encode(
    method: Method,
    parameters: Struct,
    what: string,
    isIdempotent = method.isIdempotent,
  ): EncodedCall {
    this.#sequence = this.#sequence === sequenceMax ? 1 : this.#sequence + 1
    const message = this.#codec.encode(method, parameters, this.#sequence)
    return { method, sequence: this.#sequence, message, isIdempotent, what }
  }

  async call(request: EncodedCall): Promise<unknown> {
    return (await this.callAny(request)).answer
  }

  ask(method: Method, parameters: Struct, what: string, isIdempotent?: boolean): Promise<unknown> {
    return this.call(this.encode(method, parameters, what, isIdempotent))
  }

  /** Carries out a call by one gateway, once. Rejects with {@link noAnswer} without answer. */
  async callOne(gateway: Gateway, request: EncodedCall): Promise<unknown> {
    const deadline = performance.now() + this.settings.deadlineMilliseconds
    return checkAnswer(request, await gateway.call(request, deadline))
  }

  /** Carries out a call by the gateway that is in use, or by another one if that one is down. */
  async callAny(request: EncodedCall): Promise<Answered> {
    const { deadlineMilliseconds, retryMillisecondsBase } = this.settings
    const deadline = performance.now() + deadlineMilliseconds
    let pause = retryMillisecondsBase
    let lost: Error | undefined
    /** Once a mutation may have reached a gateway, no error says that nothing was changed. */
    const orUnknown = (error: CellarError): CellarError => {
      if (lost === undefined || request.method.isIdempotent) return error
      return unknownOutcome(request.method.name, lost)
    }
    for (let failures = 0; ;) {
      if (this.#isClosed) throw orUnknown(closedError('the connection to HBase'))
      const place = this.#current
      const gateway = this.#gateways[place]
      let failure: Error
      try {
        const answer = await gateway.call(request, deadline)
        if (!isPassing(request, answer) || millisecondsLeft(deadline) <= pause) {
          return { answer: checkAnswer(request, answer), gateway }
        }
        failure = lost = noAnswer(answer.message, true)
      } catch (error) {
        const isSent = wasSent(error)
        if (isSent === undefined) throw error
        failure = error as CellarError
        if (isSent) lost = failure
        else if (this.#isClosed) throw orUnknown(closedError('the connection to HBase'))
        if (isSent && !request.isIdempotent) throw unknownOutcome(request.method.name, failure)
        if (this.#current === place) this.#current = (place + 1) % this.#gateways.length
      }
      failures++
      // Every gateway is tried once before the first pause.
      if (failures < this.#gateways.length) continue
      if (millisecondsLeft(deadline) <= pause) {
        throw orUnknown(unavailable(request, failure, failures))
      }
      await this.#wait(pause)
      pause = Math.min(2 * pause, this.settings.retryMillisecondsMax)
    }
  }

  /** Ends all connections. Calls that run fail with `ERR_CLOSED` or `ERR_UNKNOWN_OUTCOME`. */
  close(): void {
    this.#isClosed = true
    for (const gateway of this.#gateways) gateway.close()
  }

  /** Waits for about the given time: clients that failed together return at different times. */
  #wait(milliseconds: number): Promise<void> {
    const time = milliseconds * (0.5 + this.#random() / 2)
    return new Promise((resolve) => setTimeout(resolve, time))
  }
}

/** Whether an answer says that the same call, which may be repeated, may succeed later. */
function isPassing(request: EncodedCall, answer: unknown): answer is RemoteException {
  return (
    request.isIdempotent &&
    answer instanceof RemoteException &&
    answer.canRetry &&
    knownCode(answer.message) === undefined
  )
}

function unavailable(request: EncodedCall, cause: Error, failures: number): CellarError {
  const message =
    `'${request.method.name}' of ${request.what} failed ${failures} times within ` +
    `deadlineMilliseconds; the last failure: ${cause.message}`
  return new CellarError(HBaseErrorCode.unavailable, message, { cause })
}

/** HBase's exceptions with a code of their own, by a part of the message. */
const codes: readonly (readonly [RegExp, string])[] = [
  [/NoSuchColumnFamilyException|does not exist in region/, ErrorCode.noSuchColumnFamily],
  [/TableNotFoundException/, ErrorCode.tableNotFound],
  [/TableNotEnabledException|is disabled/, ErrorCode.tableNotEnabled],
  [/TableExistsException/, ErrorCode.tableExists],
  [/NamespaceNotFoundException/, ErrorCode.namespaceNotFound],
  [/NamespaceExistException/, ErrorCode.namespaceExists],
  [/Only empty namespaces/, ErrorCode.namespaceNotEmpty],
  [/FailedSanityCheckException/, ErrorCode.failedSanityCheck],
  [/Field is not a long/, ErrorCode.notACounter],
  [/WrongRowException/, ErrorCode.wrongRow],
  [/KeyValue size too large|size exceeds|exceeds limit of|too large/, ErrorCode.tooLarge],
]

function knownCode(message: string): string | undefined {
  return codes.find(([pattern]) => pattern.test(message))?.[1]
}

/** Returns an answer, and throws the error for an exception. */
function checkAnswer(request: EncodedCall, answer: unknown): unknown {
  if (!(answer instanceof RemoteException)) return answer
  const [line] = answer.message.split('\n')
  const message = `'${request.method.name}' of ${request.what}: ${line}`
  const known = knownCode(answer.message)
  if (known !== undefined) throw new CellarError(known, withBits(message))
  const mayBeApplied = answer.kind === 'io' && answer.canRetry && !isRead(request)
  if (mayBeApplied) throw unknownOutcome(request.method.name, new Error(message))
  throw new CellarError(HBaseErrorCode.refused, message)
}

function isRead({ method }: EncodedCall): boolean {
  return method.isIdempotent || method === methods.getScannerRows || method === methods.closeScanner
}

/** Adds the width of a value that is no counter in bits, as messages of the api name it. */
function withBits(message: string): string {
  const bytes = /it's (\d+) bytes wide/.exec(message)?.[1]
  return bytes === undefined ? message : `${message}: ${Number(bytes) * 8} bits, not 64`
}
