/** The codes of errors that only a remote HBase raises; others are those of the engine. */
import { CellarError, hasCode } from '../../../api/index.js'

/** Codes of the HBase backend, with the situation that raises each. */
export const HBaseErrorCode = {
  /**
   * The answer to a mutation was lost, so the mutation may have been applied or not. It was sent
   * again only if all its cells have timestamps.
   */
  unknownOutcome: 'ERR_UNKNOWN_OUTCOME',
  /**
   * No gateway answered before the deadline, or something else than a Thrift2 gateway did. Nothing
   * was changed. If one call failed, `details.isSent` says whether a gateway may have got it.
   */
  unavailable: 'ERR_UNAVAILABLE',
  /** HBase refused the call for a reason that has no code of its own. */
  refused: 'ERR_HBASE',
  /** A scan with a filter paused for longer than the gateway keeps its scanner. */
  scannerExpired: 'ERR_SCANNER_EXPIRED',
  /** A move cannot begin or go on as things are; the message says what stands in the way. */
  moveRefused: 'ERR_MOVE_REFUSED',
  /** After a move, rows of the target differ from the source; the message names some of them. */
  moveDiffers: 'ERR_MOVE_DIFFERS',
} as const

/** The error for a call without answer; `isSent`: it may have reached the gateway. */
export function noAnswer(message: string, isSent: boolean, cause?: unknown): CellarError {
  return new CellarError(HBaseErrorCode.unavailable, message, { cause, details: { isSent } })
}

/** Whether the call of {@link noAnswer} may have reached the gateway; undefined: another error. */
export function wasSent(error: unknown): boolean | undefined {
  if (!hasCode(error, HBaseErrorCode.unavailable)) return undefined
  return (error.details as { isSent: boolean } | undefined)?.isSent
}

/** The error for an answer that cannot be read. */
export function wrongAnswer(what: string, cause?: unknown): CellarError {
  const message = `the gateway's answer cannot be read: ${what}`
  return new CellarError(HBaseErrorCode.unavailable, message, { cause })
}

/** The error for a mutation whose answer was lost. */
export function unknownOutcome(method: string, cause: Error): CellarError {
  const message =
    `the answer to '${method}' was lost, so its mutation may have been applied or not; ` +
    `read the row to find out. ${cause.message}`
  return new CellarError(HBaseErrorCode.unknownOutcome, message, { cause })
}
