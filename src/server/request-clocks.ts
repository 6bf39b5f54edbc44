/**
 * Ends requests that make no progress: slow bodies, and answers without a reader.
 *
 * A body has some seconds of grace, and further time for the bytes received; so a large body may
 * take long, and a small one may not. An answer is cut off after its reader has read nothing for a
 * while. A request that waits, such as a poll for its first message, has no limit here.
 */
import { CellarError } from '../api/index.js'
import { performance } from 'node:perf_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ServerErrorCode } from '../http/errors.js'
import { sendError } from './http-errors.js'

/** Time limits of the server. */
export interface Patience {
  /** Milliseconds for a body beside the time for its bytes. */
  readonly bodyMilliseconds: number
  /** Milliseconds after which a consumer that reads nothing is disconnected. */
  readonly stallMilliseconds: number
}

/** The lowest rate of a long body. */
const bodyBytesPerMillisecond = 16

/** Watches a request after its head. */
export function watchRequest(
  { bodyMilliseconds, stallMilliseconds }: Patience,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { raw } = request
  const { socket, headers } = raw
  reply.raw.setTimeout(stallMilliseconds, () => {
    if (socket.writableLength > 0 || reply.raw.writableLength > 0) raw.destroy()
    else socket.setTimeout(stallMilliseconds)
  })
  const { 'content-length': length = '0', 'transfer-encoding': transfer } = headers
  if (transfer === undefined && length === '0') return
  const start = performance.now()
  const bytesBefore = socket.bytesRead
  const look = (): void => {
    if (raw.complete || raw.destroyed) return
    const bytes = socket.bytesRead - bytesBefore
    const end = start + bodyMilliseconds + bytes / bodyBytesPerMillisecond
    const left = end - performance.now()
    if (left > 0) arm(left)
    else cutOff(request, reply)
  }
  let timer: ReturnType<typeof setTimeout>
  const arm = (milliseconds: number): void => {
    timer = setTimeout(look, Math.ceil(milliseconds))
    timer.unref()
  }
  arm(bodyMilliseconds)
  // A refused body may go on after its answer.
  reply.raw.once('close', () => {
    if (raw.complete || raw.destroyed) clearTimeout(timer)
  })
}

/** Reports the timeout, if there is no answer yet, and closes the connection. */
function cutOff(request: FastifyRequest, reply: FastifyReply): void {
  const end = (): void => void request.raw.destroy()
  if (reply.sent) {
    end()
    return
  }
  reply.raw.once('finish', end)
  const message = 'the body did not come in time'
  void reply.header('connection', 'close')
  void sendError(reply, new CellarError(ServerErrorCode.timeout, message))
}
