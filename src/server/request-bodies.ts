/**
 * Receives the bodies of requests. Limits apply to the size as sent and after decompression, and
 * the memory budget to all bodies together. A gzip body is decompressed piece by piece, so a
 * decompression bomb is refused as soon as it exceeds the limit.
 *
 * A body counts until its request is answered, and three times: as its bytes, as the text and the
 * values made of them, and as the stored copy. The rest of a refused body is read and discarded, so
 * that the client receives the answer; `request-clocks.ts` bounds the time.
 *
 * Text is read as UTF-8, so a body that declares another `charset` is refused.
 */
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'
import { CellarError, invalidArgument } from '../api/index.js'
import { ServerErrorCode, tooLarge } from '../http/errors.js'
import { BodyPieces } from './body-pieces.js'
import type { RequestMemory, MemoryLease } from '../http/request-memory.js'
import type { ServerContext } from '../http/server-system.js'

/** Limits of bodies. */
export interface BodyLimits {
  /** Bytes as sent. */
  readonly requestBytesMax: number
  /** Bytes after decompression. */
  readonly decompressedBytesMax: number
}

/** Memory for a byte of a body, including the values made of the body. */
const bytesPerByte = 3

type Done = Parameters<ServerContext['bodies']>[2]

const leases = new WeakMap<IncomingMessage, MemoryLease>()

/** Returns the memory of a request's body to the budget. */
export function releaseBody(request: IncomingMessage): void {
  leases.get(request)?.release()
}

/** A parser for fastify: the body as one Buffer, decompressed. */
export function bodyParser(limits: BodyLimits, memory: RequestMemory): ServerContext['bodies'] {
  return (request, payload, done) => {
    const { requestBytesMax } = limits
    const { 'content-encoding': encoding = 'identity', 'content-length': length = 0 } =
      request.headers
    const charset = charsetOf(request.headers['content-type'])
    const sent = Number(length)
    const refuse = (error: Error): void => {
      payload.resume()
      done(error)
    }
    if (encoding !== 'identity' && encoding !== 'gzip') {
      refuse(invalidArgument(`the encoding '${encoding}' is not known`))
      return
    }
    if (!charsets.includes(charset)) {
      const message = `bodies in the charset '${charset}' are not taken: text is UTF-8`
      refuse(new CellarError(ServerErrorCode.mediaType, message))
      return
    }
    if (sent > requestBytesMax) {
      refuse(tooLarge('a body', requestBytesMax))
      return
    }
    const lease = memory.take(Math.min(bytesPerByte * sent, memory.bytesMax))
    if (lease === undefined) {
      refuse(noMemory())
      return
    }
    leases.set(request.raw, lease)
    receive(payload, { ...limits, lease, heldMax: memory.bytesMax }, encoding === 'gzip', done)
  }
}

/** UTF-8, and the part of it that is ASCII. */
const charsets: readonly string[] = ['utf-8', 'utf8', 'us-ascii', 'ascii']

/** The charset that a content type declares, in lower case; UTF-8 if it declares none. */
function charsetOf(contentType = ''): string {
  return /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType)?.[1].toLowerCase() ?? 'utf-8'
}

/** Bounds of one body; one larger than the whole memory may hold all of the memory. */
interface Bounds extends BodyLimits {
  readonly lease: MemoryLease
  readonly heldMax: number
}

function receive(payload: IncomingMessage, bounds: Bounds, isGzip: boolean, done: Done): void {
  const { requestBytesMax, decompressedBytesMax, lease, heldMax } = bounds
  const pieces = new BodyPieces()
  let sent = 0
  let isOver = false
  const end = (error: Error | null): void => {
    if (isOver) return
    isOver = true
    if (error === null) {
      done(null, pieces.take())
      return
    }
    pieces.clear()
    lease.release()
    payload.unpipe()
    payload.resume()
    done(error)
  }
  /** Appends bytes; `besides` are held for the body as well. */
  const add = (piece: Buffer, besides: number): void => {
    if (isOver) return
    const bytes = pieces.bytes + piece.length
    const held = Math.min(bytesPerByte * bytes + besides, heldMax)
    if (held > lease.bytes && !lease.resize(held)) end(noMemory())
    else pieces.add(piece)
  }
  payload.once('error', end)
  payload.once('close', () => {
    if (!payload.complete) end(invalidArgument('the body broke off'))
  })
  payload.on('data', (piece: Buffer) => {
    sent += piece.length
    if (sent > requestBytesMax) end(tooLarge('a body', requestBytesMax))
    else if (!isGzip) add(piece, 0)
  })
  if (!isGzip) {
    payload.once('end', () => end(null))
    return
  }
  const gunzip = createGunzip()
  gunzip.on('data', (piece: Buffer) => {
    const isTooLarge = pieces.bytes + piece.length > decompressedBytesMax
    if (isTooLarge) end(tooLarge('a decompressed body', decompressedBytesMax))
    else add(piece, sent)
    if (isOver) gunzip.destroy()
  })
  gunzip.once('error', () => end(invalidArgument('the body is no gzip')))
  gunzip.once('end', () => end(null))
  payload.pipe(gunzip)
}

/** Makes the error of a request or an answer without memory. */
export function noMemory(): CellarError {
  const message = 'other requests take the memory of the server; try again later'
  return new CellarError(ServerErrorCode.busy, message)
}
