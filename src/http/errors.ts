/** Errors of HTTP: the codes of the server's own errors, and statuses of single errors. */
import { CellarError } from '../api/index.js'

/** Every code of the server's own errors, with the situation that raises it. */
export const ServerErrorCode = {
  /** The header `Host` names another server. */
  wrongHost: 'ERR_WRONG_HOST',
  /** The token of the request is missing or wrong. */
  unauthorized: 'ERR_UNAUTHORIZED',
  /** The caller has no permission. */
  forbidden: 'ERR_FORBIDDEN',
  /**
   * The content type of the body is missing, the address does not accept it, or it names another
   * charset than UTF-8.
   */
  mediaType: 'ERR_MEDIA_TYPE',
  /** The body has more bytes than the limits of the server allow. */
  tooLarge: 'ERR_REQUEST_TOO_LARGE',
  /** The body did not arrive in time. */
  timeout: 'ERR_REQUEST_TIMEOUT',
  /** Other requests use the memory of the server; the request may be retried. */
  busy: 'ERR_SERVER_BUSY',
  /** The server cannot listen, or cannot add the routes of a system; `cause` has the reason. */
  start: 'ERR_SERVER_START',
  /** The server is closing; the request changed nothing, and may be sent to another server. */
  closing: 'ERR_SERVER_CLOSING',
  /** The server has nothing at the path of the request. */
  notFound: 'ERR_NOT_FOUND',
  /** The server failed for a reason that has no code of its own; the message describes it. */
  failed: 'ERR_SERVER',
} as const

/** One of the codes of {@link ServerErrorCode}. */
export type ServerErrorCode = (typeof ServerErrorCode)[keyof typeof ServerErrorCode]

/** Makes an `ERR_FORBIDDEN`. */
export function forbidden(what: string): CellarError {
  return new CellarError(ServerErrorCode.forbidden, `no permission: ${what}`)
}

/** Makes an `ERR_REQUEST_TOO_LARGE`; `what` names the part that is too large. */
export function tooLarge(what: string, bytesMax: number): CellarError {
  return new CellarError(ServerErrorCode.tooLarge, `${what} has at most ${bytesMax} bytes`)
}

/** Statuses of single errors, which override the status of the code. */
const ownStatuses = new WeakMap<object, number>()

/** The same error with this status as its answer. */
export function withStatus(status: number, error: unknown): unknown {
  if (typeof error === 'object' && error !== null) ownStatuses.set(error, status)
  return error
}

/** The status that {@link withStatus} gave to an error. */
export function statusOf(error: object): number | undefined {
  return ownStatuses.get(error)
}
