/** Maps errors to answers: a status, and a body with the stable code. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { hasCode, CellarError, ErrorCode, invalidArgument, shown } from '../api/index.js'
import { MessagingErrorCode } from '../systems/messaging/index.js'
import { RepositoryErrorCode } from '../systems/repository/index.js'
import { ServerErrorCode, statusOf, withStatus } from '../http/errors.js'
import { type ConflictDetail, TransactionErrorCode } from '../systems/transactions/index.js'

/** Status and body of an error's answer. */
export interface ErrorAnswer {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** The statuses of codes; 500 for others. */
const statuses: Readonly<Record<string, number>> = {
  [ErrorCode.invalidArgument]: 400,
  [ErrorCode.tooLarge]: 413,
  [ServerErrorCode.unauthorized]: 401,
  [ServerErrorCode.forbidden]: 403,
  [ServerErrorCode.tooLarge]: 413,
  [ServerErrorCode.wrongHost]: 421,
  [ServerErrorCode.mediaType]: 415,
  [ServerErrorCode.timeout]: 408,
  [ServerErrorCode.busy]: 503,
  [ServerErrorCode.closing]: 503,
  [MessagingErrorCode.topicNotFound]: 404,
  [MessagingErrorCode.topicExists]: 409,
  [MessagingErrorCode.producerSequence]: 409,
  [MessagingErrorCode.positionChanged]: 409,
  [MessagingErrorCode.busy]: 503,
  [MessagingErrorCode.unavailable]: 503,
  [TransactionErrorCode.notInProgress]: 409,
  [TransactionErrorCode.conflict]: 409,
  [TransactionErrorCode.tooLarge]: 413,
  [TransactionErrorCode.unavailable]: 503,
  [RepositoryErrorCode.repositoryNotFound]: 404,
  [RepositoryErrorCode.repositoryExists]: 409,
  [RepositoryErrorCode.recordTableNotFound]: 404,
  [RepositoryErrorCode.recordTableExists]: 409,
  [RepositoryErrorCode.recordNotFound]: 404,
  [RepositoryErrorCode.recordExists]: 409,
  [RepositoryErrorCode.versionNotFound]: 404,
  [RepositoryErrorCode.invalidRecord]: 422,
  [RepositoryErrorCode.recordTooLarge]: 413,
  [RepositoryErrorCode.notUnique]: 409,
  [RepositoryErrorCode.concurrentRecordUpdate]: 409,
  // For a body that names a type; for an address that names one the status is 404.
  [RepositoryErrorCode.fieldTypeNotFound]: 422,
  [RepositoryErrorCode.recordTypeNotFound]: 422,
  [RepositoryErrorCode.fieldTypeExists]: 409,
  [RepositoryErrorCode.fieldTypeUpdate]: 409,
  [RepositoryErrorCode.recordTypeExists]: 409,
  [RepositoryErrorCode.type]: 400,
  [RepositoryErrorCode.fieldNotFound]: 404,
  [RepositoryErrorCode.blobNotFound]: 404,
  [RepositoryErrorCode.blob]: 400,
  [RepositoryErrorCode.blobStore]: 502,
  [RepositoryErrorCode.blobStoreMissing]: 409,
  [RepositoryErrorCode.fieldIndexNotFound]: 404,
  [RepositoryErrorCode.fieldIndexExists]: 409,
  [RepositoryErrorCode.indexNotFound]: 404,
  [RepositoryErrorCode.indexExists]: 409,
  [RepositoryErrorCode.indexState]: 409,
  [RepositoryErrorCode.indexConfiguration]: 400,
  [RepositoryErrorCode.searchServer]: 502,
  [RepositoryErrorCode.scannerNotFound]: 404,
  [RepositoryErrorCode.tooManyScanners]: 503,
  [RepositoryErrorCode.closed]: 503,
}

/** The answer to an error. An unknown error is described by its root cause. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof CellarError) {
    const status = statusOf(error) ?? statuses[error.code] ?? 500
    return { status, code: error.code, message: error.message }
  }
  const { statusCode, code } = Object(error) as { statusCode?: unknown; code?: unknown }
  const status = typeof statusCode === 'number' && statusCode >= 400 ? statusCode : 500
  const known = typeof code === 'string' ? code : ServerErrorCode.failed
  return { status, code: known, message: rootOf(error) }
}

/** Sends the answer to an error. */
export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, code, message } = errorAnswer(error)
  const body = { code, message, ...conflictOf(error) }
  return reply.code(status).type('application/json').send(JSON.stringify(body))
}

/** Answers bytes that are no request, in the form of other errors, and ends their connection. */
export function refuseBytes({ code }: { readonly code?: string }, socket: Socket): void {
  if (code !== 'ECONNRESET' && socket.writable) {
    const { status, ...body } = errorAnswer(brokenRequest(code))
    const text = JSON.stringify(body)
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
  }
  socket.destroy()
}

function brokenRequest(code: string | undefined): unknown {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return withStatus(431, new CellarError(ServerErrorCode.tooLarge, 'the headers are too long'))
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new CellarError(ServerErrorCode.timeout, 'the headers did not come in time')
  }
  return invalidArgument('the request is not HTTP/1.1')
}

/** The details of a transaction conflict; empty for other errors. */
function conflictOf(error: unknown): object {
  if (!hasCode(error, TransactionErrorCode.conflict) || error.details === undefined) return {}
  const { transactionId, ...conflict } = error.details as ConflictDetail
  return { conflict: { ...conflict, transactionId: String(transactionId) } }
}

function rootOf(error: unknown): string {
  let root = error
  for (let depth = 0; depth < 8; depth++) {
    if (!(root instanceof Error) || root.cause === undefined) break
    root = root.cause
  }
  return root instanceof Error ? root.message : shown(root)
}
