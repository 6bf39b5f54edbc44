/**
 * Receives the bodies of requests. Limits apply to the size as sent and after decompression, and
 * the memory budget to all bodies together. A gzip body is decompressed piece by piece, so a
 * decompression bomb is refused as soon as it exceeds the limit.
 *
 * A body counts until its request is answered, and three times: as its bytes, as the text and the
 * values made of them, and as the stored copy. The rest of a refused body is read and discarded, so
 * that the client receives the answer; `RequestClocks` bounds the time.
 */
import { CellarError } from '../../api/index.js'
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { MessagingErrorCode } from '../../systems/messaging/index.js'
import { invalidArgument, ServerErrorCode } from './http-errors.js'
import type { RequestMemory, MemoryLease } from './request-memory.js'

/** Limits of bodies. */
export interface BodyLimits {
  /** Bytes as sent. */
  readonly requestBytesMax: number
  /** Bytes after decompression. */
  readonly decompressedBytesMax: number
}

/** Memory for a byte of a body, including the values made of the body. */
const bytesPerByte = 3

type Done = (error: Error | null, body?: Buffer) => void

const leases = new WeakMap<IncomingMessage, MemoryLease>()

/** Returns the memory of a request's body to the budget. */
export function releaseBody(request: IncomingMessage): void {
  leases.get(request)?.release()
}

/** See the file header. */
export class RequestBodies {
  readonly #limits: BodyLimits
  readonly #memory: RequestMemory

  /** Bodies within these limits and the free memory of the budget. */
  constructor(limits: BodyLimits, memory: RequestMemory) {
    this.#limits = limits
    this.#memory = memory
  }

  /** A parser for fastify: the body as one Buffer, decompressed. */
  readonly parser = (request: FastifyRequest, payload: IncomingMessage, done: Done): void => {
    const { requestBytesMax, decompressedBytesMax } = this.#limits
    const { 'content-encoding': encoding = 'identity', 'content-length': length } = request.headers
    const sent = length === undefined ? 0 : Number(length)
    const refuse = (error: Error): void => {
      payload.resume()
      done(error)
    }
    if (encoding !== 'identity' && encoding !== 'gzip') {
      refuse(invalidArgument(`the encoding '${encoding}' is not known`))
      return
    }
    if (sent > requestBytesMax) {
      refuse(tooLarge('a body', requestBytesMax))
      return
    }
    const { bytesMax } = this.#memory
    const lease = this.#memory.take(Math.min(bytesPerByte * sent, bytesMax))
    if (lease === undefined) {
      refuse(noMemory())
      return
    }
    leases.set(request.raw, lease)
    const body = new Body(payload, { lease, bytesMax }, done)
    if (encoding === 'gzip') body.decompress(requestBytesMax, decompressedBytesMax)
    else body.collect(requestBytesMax)
  }
}

/** One body. */
class Body {
  readonly #payload: IncomingMessage
  readonly #lease: MemoryLease
  readonly #heldMax: number
  readonly #done: Done
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #isOver = false

  /** A body larger than the whole memory, `bytesMax`, may use all of the memory. */
  constructor(
    payload: IncomingMessage,
    { lease, bytesMax }: { lease: MemoryLease; bytesMax: number },
    done: Done,
  ) {
    this.#payload = payload
    this.#lease = lease
    this.#heldMax = bytesMax
    this.#done = done
    payload.once('error', (error) => this.#fail(error))
    payload.once('close', () => {
      if (!payload.complete) this.#fail(invalidArgument('the body broke off'))
    })
  }

  collect(bytesMax: number): void {
    this.#payload.on('data', (piece: Buffer) => this.#add(piece, 0, 'a body', bytesMax))
    this.#payload.once('end', () => this.#end())
  }

  decompress(sentMax: number, bytesMax: number): void {
    const gunzip = createGunzip()
    let sent = 0
    this.#payload.on('data', (piece: Buffer) => {
      sent += piece.length
      if (sent > sentMax) this.#fail(tooLarge('a body', sentMax))
    })
    gunzip.on('data', (piece: Buffer) => {
      this.#add(piece, sent, 'a decompressed body', bytesMax)
      if (this.#isOver) gunzip.destroy()
    })
    gunzip.once('error', () => this.#fail(invalidArgument('the body is no gzip')))
    gunzip.once('end', () => this.#end())
    this.#payload.pipe(gunzip)
  }

  /** Appends bytes; `besides` are held for the body as well. */
  #add(piece: Buffer, besides: number, what: string, bytesMax: number): void {
    if (this.#isOver) return
    this.#bytes += piece.length
    const held = Math.min(bytesPerByte * this.#bytes + besides, this.#heldMax)
    if (this.#bytes > bytesMax) this.#fail(tooLarge(what, bytesMax))
    else if (held > this.#lease.bytes && !this.#lease.resize(held)) this.#fail(noMemory())
    else this.#pieces.push(piece)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { length } = this.#pieces
    this.#done(null, length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces, this.#bytes))
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pieces.length = 0
    this.#lease.release()
    this.#payload.unpipe()
    this.#payload.resume()
    this.#done(error)
  }
}

function tooLarge(what: string, bytesMax: number): CellarError {
  return new CellarError(MessagingErrorCode.tooLarge, `${what} has at most ${bytesMax} bytes`)
}

/** Makes the error of a request or an answer without memory. */
export function noMemory(): CellarError {
  const message = 'other requests take the memory of the server; try again later'
  return new CellarError(ServerErrorCode.busy, message)
}
