/** The S3 store at a server that hangs, or answers what nobody asked for. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
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
      setTimeout(() => response.write('678'), 150)
      setTimeout(() => response.end('90'), 300)
    }
    const slow = await storeAt(t, { GET: slowly }, 200)
    t.equal(await bytesOf(slow.read(key, 0, 10)), 10, 'a slow one does not')
  },
)
