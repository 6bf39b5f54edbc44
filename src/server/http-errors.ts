/** How errors become answers: a status, and a body that says the stable code. */
import { CellarError, ErrorCode } from '../api/index.js'
import { MessagingError, MessagingErrorCode } from '../messaging/index.js'

/** What an error's answer says. */
export interface ErrorAnswer {
  readonly status: number
  readonly code: string
  readonly message: string
}

const statuses: Readonly<Record<string, number>> = {
  [ErrorCode.invalidArgument]: 400,
  [MessagingErrorCode.topicNotFound]: 404,
  [MessagingErrorCode.topicExists]: 409,
  [MessagingErrorCode.producerSequence]: 409,
  [MessagingErrorCode.tooLarge]: 413,
  [MessagingErrorCode.busy]: 503,
  [MessagingErrorCode.unavailable]: 503,
  [MessagingErrorCode.unauthorized]: 401,
  [MessagingErrorCode.transactionTooOld]: 500,
}

/** The answer to an error. Errors that this package does not know are told by their root cause. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof MessagingError || error instanceof CellarError) {
    return { status: statuses[error.code] ?? 500, code: error.code, message: error.message }
  }
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown }
  const status = typeof statusCode === 'number' && statusCode >= 400 ? statusCode : 500
  return { status, code: typeof code === 'string' ? code : 'ERR_SERVER', message: rootOf(error) }
}

/** Makes an `ERR_INVALID_ARGUMENT`. */
export function invalidArgument(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}

function rootOf(error: unknown): string {
  let root = error
  for (let depth = 0; depth < 8; depth++) {
    if (!(root instanceof Error) || root.cause === undefined) break
    root = root.cause
  }
  return root instanceof Error ? root.message : String(root)
}
