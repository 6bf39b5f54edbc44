/**
 * The S3 store at a server that hangs, or answers what nobody asked for.
 *
 * @runs long
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { S3BlobStore } from '../../../../src/systems/repository/index.js'

const key = Buffer.alloc(16, 1)
const code = 'ERR_BLOB_STORE'

/** A store at a server with one answer for each method. */
async function storeAt(
  t: Test,
  answers: Readonly<Record<string, (response: ServerResponse, address: URL) => void>>,
  idleMillisecondsMax?: number,
): Promise<S3BlobStore> {
  const server = createServer((request, response) => {
    const address = new URL(request.url!, 'http://localhost')
    request.resume().on('end', () => answers[request.method!]?.(response, address))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const store = new S3BlobStore({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'local',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    forcePathStyle: true,
    bucket: 'blobs',
    attemptsMax: 1,
    ...(idleMillisecondsMax === undefined ? {} : { idleMillisecondsMax }),
  })
  t.teardown(() => {
    store.close()
    server.closeAllConnections()
    server.close()
  })
  return store
}

async function bytesOf(pieces: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const piece of pieces) bytes += piece.length
  return bytes
}

void t.test(
  'a server that sends no more bytes ends the attempt',
  { timeout: 20_000 },
  async (t) => {
    const silent = await storeAt(t, {}, 200)
    await t.rejects(silent.put(key, Readable.from([Buffer.alloc(100)])), {
      code,
      message: /Timeout/,
    })
    await t.rejects(bytesOf(silent.read(key, 0, 10)), { code })
    await t.rejects(silent.remove(key), { code })
    const half = (response: ServerResponse): void => {
      response
        .writeHead(206, { 'content-length': 10, 'content-range': 'bytes 0-9/10' })
        .write('12345')
    }
    const stuck = await storeAt(t, { GET: half }, 200)
    await t.rejects(bytesOf(stuck.read(key, 0, 10)), { code }, 'in the middle of a blob')
    const slowly = (response: ServerResponse): void => {
      half(response)
      void setTimeout(150).then(() => response.write('678'))
      void setTimeout(300).then(() => response.end('90'))
    }
    const slow = await storeAt(t, { GET: slowly }, 200)
    t.equal(await bytesOf(slow.read(key, 0, 10)), 10, 'a slow one does not')
  },
)

void t.test('an answer with another range is refused, and holds no connection', async (t) => {
  const other = (response: ServerResponse): void => {
    const range = 'bytes 50-10000049/20000000'
    response.writeHead(206, { 'content-length': 10_000_000, 'content-range': range })
    response.write(Buffer.alloc(1_000_000))
  }
  const wrong = await storeAt(t, { GET: other }, 60_000)
  const refused = { code: 'ERR_BLOB_DAMAGED', message: /50-10000049/ }
  await t.rejects(bytesOf(wrong.read(key, 0, 10)), refused, 'also at the start')
  const reads = Array.from({ length: 60 }, () => bytesOf(wrong.read(key, 5, 10)))
  const ended = Promise.allSettled(reads)
  const results = await Promise.race([ended, setTimeout(10_000, [], { ref: false })])
  t.equal(results.length, 60)
})

void t.test('an upload that has ended during its removal is no error', async (t) => {
  const xml = (response: ServerResponse, status: number, body: string): void => {
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
  }
  const list = (response: ServerResponse, address: URL): void => {
    const name = address.searchParams.get('prefix')!
    const upload = `<Upload><Key>${name}</Key><UploadId>own</UploadId></Upload>`
    xml(response, 200, `<ListMultipartUploadsResult>${upload}</ListMultipartUploadsResult>`)
  }
  let problem = 'NoSuchUpload'
  const remove = (response: ServerResponse, address: URL): void => {
    if (!address.searchParams.has('uploadId')) response.writeHead(204).end()
    else xml(response, 404, `<Error><Code>${problem}</Code></Error>`)
  }
  const store = await storeAt(t, { GET: list, DELETE: remove })
  await store.remove(key)
  problem = 'NoSuchBucket'
  await t.rejects(store.remove(key), { code, message: /NoSuchBucket/ })
})
