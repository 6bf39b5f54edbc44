/**
 * Ends requests that make no progress: bodies that drip, and answers that nobody reads.
 *
 * A body has some seconds of grace, and further ones for the bytes that have come; so a large body
 * may take long, and a small one may not. An answer is cut off when its reader has taken nothing of
 * it for a while. A request that waits, such as a poll for its first message, is left alone.
 */
import { performance } from 'node:perf_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendError, ServerError, ServerErrorCode } from './http-errors.js'

/** How patient the server is. */
export interface Patience {
  /** Milliseconds that a body may take beside those for its bytes. */
  readonly bodyMilliseconds: number
  /** Milliseconds after which a consumer that reads nothing is cut off. */
  readonly stallMilliseconds: number
}

/** The least bytes in a millisecond that a long body has to come with. */
const bodyBytesPerMillisecond = 16

/** See the file header. */
export class RequestClocks {
  readonly #patience: Patience

  /** Clocks of all requests of a server. */
  constructor(patience: Patience) {
    this.#patience = patience
  }

  /** Watches a request from its head on. */
  start(request: FastifyRequest, reply: FastifyReply): void {
    this.#watchReader(request, reply)
    const { 'content-length': length, 'transfer-encoding': transfer } = request.headers
    if (transfer !== undefined || (length !== undefined && length !== '0')) {
      this.#watchBody(request, reply)
    }
  }

  #watchReader(request: FastifyRequest, reply: FastifyReply): void {
    const { stallMilliseconds } = this.#patience
    const { socket } = request.raw
    reply.raw.setTimeout(stallMilliseconds, () => {
      if (socket.writableLength > 0 || reply.raw.writableLength > 0) request.raw.destroy()
      else socket.setTimeout(stallMilliseconds)
    })
  }

  #watchBody(request: FastifyRequest, reply: FastifyReply): void {
    const { bodyMilliseconds } = this.#patience
    const { raw } = request
    const { socket } = raw
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
    reply.raw.once('close', () => clearTimeout(timer))
  }
}

/** Answers that the body did not come, if there is no answer yet, and ends the connection. */
function cutOff(request: FastifyRequest, reply: FastifyReply): void {
  const end = (): void => void request.raw.destroy()
  if (reply.sent) {
    end()
    return
  }
  reply.raw.once('finish', end)
  const message = 'the body did not come in time'
  void reply.header('connection', 'close')
  void sendError(reply, new ServerError(ServerErrorCode.timeout, message))
}
