/**
 * The S3 store against the server s3rver, over HTTP on this machine.
 *
 * @runs long
 */
import { createHash } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  S3BlobStore,
  type Blob,
} from '../../../../src/systems/repository/index.js'

interface Server {
  run(): Promise<{ readonly port: number }>
  close(): Promise<void>
}

type ServerClass = new (options: object) => Server

const serverClass = ((): ServerClass | undefined => {
  try {
    return createRequire(import.meta.url)('s3rver') as ServerClass
  } catch {
    return undefined
  }
})()
// It is a package for development: a tree that was installed without those does not have it.
const skip = serverClass === undefined && 'the server s3rver is not installed'

const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
const partBytes = 5 * 2 ** 20

/** Bytes that differ from place to place. */
function bytesOf(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) >>> 0, at)
  return bytes
}

async function contentOf(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const piece of pieces) parts.push(piece)
  return Buffer.concat(parts)
}

const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

void t.test('blobs in a bucket', { skip }, async (t) => {
  const server = new serverClass!({ port: 0, silent: true, directory: t.testdir() })
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  const connection = { endpoint, region: 'local', credentials, forcePathStyle: true }
  const client = new S3Client(connection)
  await client.send(new CreateBucketCommand({ Bucket: 'blobs' }))
  const objects = async (): Promise<string[]> => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'blobs' }))
    return Contents.map(({ Key }) => Key!)
  }
  const options = { ...connection, bucket: 'blobs', prefix: 'own/', partBytes, attemptsMax: 1 }
  const store = new S3BlobStore(options)
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const blobStores = [{ store, bytesMax: Infinity }]
  const manager = await RepositoryManager.open(database, { blobStores, inlineBlobBytesMax: 10 })
  const { blobs, types } = manager
  await types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await types.createRecordType({ name: '{n}r' })
  const table = manager.repository().table()
  const upload = (bytes: Buffer | AsyncIterable<Buffer>): Promise<Blob> => {
    return blobs.upload(bytes, { mediaType: 'a/b' })
  }

  await t.test('of one part, of several, of none, and ranges of them', async (t) => {
    const big = bytesOf(2 * partBytes + 777)
    const streamed = async function* (): AsyncGenerator<Buffer> {
      const piece = Buffer.alloc(1_000_003)
      for (let at = 0; at < big.length; at += piece.length) {
        // One buffer again and again: the store must not keep it.
        const count = big.copy(piece, 0, at, at + piece.length)
        yield piece.subarray(0, count)
      }
    }
    const small = bytesOf(100)
    const [one, many, none] = [
      await upload(small),
      await upload(streamed()),
      await upload((async function* () {})()),
    ]
    t.same([one.size, many.size, none.size], [100, big.length, 0])
    t.same(await contentOf(blobs.read(one)), small)
    t.equal(sha(await contentOf(blobs.read(many))), sha(big))
    t.equal((await contentOf(blobs.read(none))).length, 0)
    for (const [start, end] of [
      [0, 1],
      [partBytes - 3, partBytes + 3],
      [big.length - 1, big.length],
      [5, 5],
    ] as const) {
      const found = await contentOf(blobs.read(many, { start, end }))
      t.ok(found.equals(big.subarray(start, end)), `${start} to ${end}`)
    }
    t.ok((await objects()).every((name) => /^own\/(..)\/(..)\/\1\2[0-9a-f]{28}$/.test(name)))
  })

  await t.test('go with their records, and the others by a sweep', async (t) => {
    await blobs.sweep({ ageMillisecondsMin: 0 })
    t.same(await objects(), [])
    const file = await upload(bytesOf(50))
    await table.create({ id: 'USER.a', type: '{n}r', fields: { '{n}file': file } })
    await upload(bytesOf(60))
    const failing = (async function* () {
      yield bytesOf(partBytes + 1)
      throw new Error('the source has failed')
    })()
    await t.rejects(upload(failing), { message: 'the source has failed' })
    await blobs.sweep({ ageMillisecondsMin: 0 })
    t.equal((await objects()).length, 1)
    const { bytes } = await table.readBlob('USER.a', '{n}file')
    t.same(await contentOf(bytes), bytesOf(50))
    await table.delete('USER.a')
    t.same(await objects(), [])
    t.equal((await blobs.states()).size, 0)
  })

  await t.test('what is damaged or gone is an error', async (t) => {
    const key = Buffer.alloc(16, 7)
    await t.rejects(contentOf(store.read(key, 0, 1)), { code: 'ERR_BLOB_DAMAGED' })
    await store.remove(key)
    await store.put(
      key,
      (async function* () {
        yield bytesOf(10)
      })(),
    )
    await t.rejects(contentOf(store.read(key, 5, 11)), { code: 'ERR_BLOB_DAMAGED' })
    await t.rejects(contentOf(store.read(key, 10, 11)), { code: 'ERR_BLOB_DAMAGED' })
    await store.remove(key)
    for (const bad of [{ bucket: '' }, { partBytes: 1 }, { attemptsMax: 0 }, { region2: 'x' }]) {
      t.throws(() => new S3BlobStore({ ...options, ...bad }), { code: 'ERR_INVALID_ARGUMENT' })
    }
  })

  await t.test('a server that is gone fails the upload, and nothing is kept', async (t) => {
    await server.close()
    await t.rejects(upload(bytesOf(100)), { code: 'ERR_BLOB_STORE' })
    await t.rejects(contentOf(store.read(Buffer.alloc(16), 0, 1)), { code: 'ERR_BLOB_STORE' })
    const kinds = [...(await blobs.states()).values()].map(({ kind }) => kind)
    t.same(kinds, ['dead'], 'the next sweep looks for its bytes')
  })
  store.close()
  client.destroy()
  await manager.close()
  await database.close()
})

void t.test('an upload that breaks off is ended at a server that lists no uploads', async (t) => {
  const told: string[] = []
  const listener: RequestListener = (request, response) => {
    const { searchParams } = new URL(request.url!, 'http://localhost')
    const xml = (status: number, body: string): void => {
      response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
    }
    const answer = (): void => {
      if (request.method === 'POST') {
        const id = '<UploadId>own</UploadId>'
        xml(200, `<InitiateMultipartUploadResult>${id}</InitiateMultipartUploadResult>`)
      } else if (request.method === 'PUT') {
        // A part takes its time.
        setTimeout(() => {
          told.push(`part ${searchParams.get('partNumber') ?? 'unknown'}`)
          response.writeHead(200, { etag: '"1"' }).end()
        }, 50)
      } else if (request.method === 'DELETE') {
        told.push(`end of ${searchParams.get('uploadId') ?? 'the object'}`)
        response.writeHead(204).end()
      } else xml(501, '<Error><Code>NotImplemented</Code></Error>')
    }
    request.resume().on('end', answer)
  }
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const endpoint = `http://127.0.0.1:${port}`
  const connection = { endpoint, region: 'local', credentials, forcePathStyle: true }
  const store = new S3BlobStore({ ...connection, bucket: 'blobs', partBytes, attemptsMax: 1 })
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const blobStores = [{ store, bytesMax: Infinity }]
  const manager = await RepositoryManager.open(database, { blobStores })
  const breaking = (function* () {
    yield bytesOf(partBytes + 1)
    throw new Error('the caller has gone')
  })()
  const uploading = manager.blobs.upload(breaking, { mediaType: 'a/b' })
  await t.rejects(uploading, { message: 'the caller has gone' })
  t.same(told, ['part 1', 'end of own', 'end of the object'])
  t.equal((await manager.blobs.states()).size, 0)
  await manager.close()
  await database.close()
  store.close()
  await new Promise((resolve) => server.close(resolve))
})
