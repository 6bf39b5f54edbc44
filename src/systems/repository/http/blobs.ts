/** Routes of blobs: streamed up with a length and a checksum, and down with ranges. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Blob } from '../index.js'
import { hasCode, repositoryError } from '../errors.js'
import { invalidArgument } from '../../../api/index.js'
import { tooLarge, withStatus } from '../../../http/errors.js'
import { withAddress, type Call } from './call.js'
import { blobReadError } from '../tables/record-table.js'
import { namespaces, queryText, route, type Route } from './declarations.js'

const download: Partial<Route> = {
  needs: 'read',
  answers: { 206: 'a range', 304: 'not modified', 416: 'no such range' },
  query: {
    indexes: queryText('places in the lists of the field, with commas'),
    ns: namespaces,
  },
}
const upload: Partial<Route> = {
  needs: 'write',
  answers: { 413: 'too large' },
  query: { name: queryText('name of the file') },
}
const path = '/field/:field/data'

/** Routes of blobs in fields, below each form of the addresses. */
export const blobRoutes: readonly Route[] = [
  route(`get /record/:id${path}`, 'read blob', download, downloadBlob),
  route(`get /record/:id/version/:version${path}`, 'read blob of version', download, downloadBlob),
]

/** The route of uploads, whose bodies are streams. */
export function uploadRoute(bytesMax: number): Route {
  return route('post /blob', 'upload blob', upload, (call) => uploadBlob(call, bytesMax))
}

async function uploadBlob(call: Call, bytesMax: number): Promise<object> {
  const { headers } = call.request
  const length = headers['content-length']
  if (length === undefined || !/^[0-9]{1,15}$/.test(length)) {
    throw invalidArgument('a blob needs a Content-Length')
  }
  if (headers['content-encoding'] !== undefined) {
    throw invalidArgument('a blob is sent as it is, without Content-Encoding')
  }
  const size = Number(length)
  if (size > bytesMax) throw tooLarge('a blob', bytesMax)
  const mediaType = headers['content-type'] ?? 'application/octet-stream'
  const name = call.text('name')
  const body = call.request.body as AsyncIterable<Buffer> | Buffer
  const source = Buffer.isBuffer(body) ? [body] : body
  const checksum = digestOf(headers['content-digest'])
  try {
    const upload = { mediaType, size, ...(name === undefined ? {} : { name }) }
    const { key, ...blob } = await call.manager.blobs.upload(checked(source, checksum), upload)
    // The JSON form of a field value.
    return { value: key.toString('base64url'), ...blob }
  } catch (error) {
    throw hasCode(error, 'blobDamaged') ? withStatus(400, error) : error
  }
}

/** The SHA-256 of a header `Content-Digest: sha-256=:base64:`. `ERR_INVALID_ARGUMENT`. */
function digestOf(header: string | string[] | undefined): Buffer | undefined {
  if (header === undefined) return undefined
  const match = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(String(header))
  if (match === null) throw invalidArgument('Content-Digest is sha-256=:base64:')
  return Buffer.from(match[1], 'base64')
}

/** Passes the bytes on; fails after the last byte if the checksum differs. */
async function* checked(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  checksum: Buffer | undefined,
): AsyncGenerator<Buffer, void> {
  const hash = createHash('sha256')
  for await (const piece of source) {
    if (checksum !== undefined) hash.update(piece)
    yield piece
  }
  if (checksum === undefined || hash.digest().equals(checksum)) return
  throw repositoryError('blobDamaged', 'the bytes do not have the checksum of Content-Digest')
}

async function downloadBlob(call: Call): Promise<Readable | undefined> {
  const { table } = call
  const field = call.name('field')
  withAddress(() => call.manager.types.getFieldType(field))
  call.input.checkRead?.(field)
  const { version } = call
  const place = { indexes: indexesOf(call.text('indexes')), version }
  const blob = await table.blob(call.id, field, place)
  const checksum = await call.manager.blobs.checksum(blob).catch(async (error: unknown) => {
    throw await blobReadError(table, error, call.id, field, place, blob)
  })
  const { reply } = call
  const tag = `"${checksum.toString('hex')}"`
  void reply
    .header('etag', tag)
    .header('accept-ranges', 'bytes')
    .header('cache-control', 'private, no-cache')
    .header('repr-digest', `sha-256=:${checksum.toString('base64')}:`)
    // A blob is untrusted content: the browser must not render it as a page of this server.
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('content-disposition', dispositionOf(blob))
  const known = call.request.headers['if-none-match']
  if (known?.trim() === '*' || known?.includes(tag) === true) return call.empty(304)
  const range = rangeOf(call, blob.size, tag)
  if (range === 'none') {
    void reply.header('content-range', `bytes */${blob.size}`)
    throw withStatus(416, invalidArgument(`the blob has ${blob.size} bytes`))
  }
  const { start, end } = range ?? { start: 0, end: blob.size }
  const read = async (): Promise<AsyncIterable<Buffer>> => {
    const { bytes } = await table.readBlob(call.id, field, { ...place, range: { start, end } })
    // Errors of the blob must appear before the status is sent.
    const first = await bytes.next()
    return (async function* () {
      if (first.done !== true) yield first.value
      yield* bytes
    })()
  }
  // For HEAD fastify would read the whole stream, and throw it away.
  const body = call.request.method === 'HEAD' ? [] : await read()
  void reply.type(blob.mediaType).header('content-length', end - start)
  if (range !== undefined) {
    void reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${blob.size}`)
  }
  return Readable.from(body, { objectMode: false })
}

function indexesOf(text: string | undefined): number[] {
  if (text === undefined || text === '') return []
  if (/^[0-9]{1,9}(,[0-9]{1,9})*$/.test(text)) return text.split(',').map(Number)
  throw invalidArgument('indexes are whole numbers with commas between them')
}

function dispositionOf({ name }: Blob): string {
  if (name === undefined) return 'attachment'
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  })
  return `attachment; filename*=UTF-8''${encoded}`
}

/** The requested range: undefined for all bytes, empty if it is outside the blob. */
function rangeOf(
  { request }: Call,
  size: number,
  tag: string,
): { readonly start: number; readonly end: number } | 'none' | undefined {
  const { range, 'if-range': condition } = request.headers
  if (range === undefined || (condition !== undefined && condition !== tag)) return undefined
  const match = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/.exec(range)
  // Other units and several ranges may be answered with all bytes.
  if (match === null || (match[1] === '' && match[2] === '')) return undefined
  const [, from, to] = match
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1)
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined
  return start < end ? { start, end } : 'none'
}
