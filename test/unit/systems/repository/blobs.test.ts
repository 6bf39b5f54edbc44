/** Uploads that a sweep overtakes, and uploads that end half-way. */
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { deferred } from '../../../../src/base/deferred.js'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  FileBlobStore,
  RepositoryManager,
  type BlobFile,
  type BlobFiles,
  type BlobRoute,
  type BlobStore,
} from '../../../../src/systems/repository/index.js'
import { parseBlobKey } from '../../../../src/systems/repository/blobs/blob-store.js'
import { withMembers } from '../../../helpers/planted.js'

const upload = { mediaType: 'a/b' }
const piece = Buffer.alloc(100_000, 'a')

interface Opened {
  readonly clock: ManualClock
  readonly database: Database
  readonly manager: RepositoryManager
}

async function open(t: Test, blobStores: readonly BlobRoute[]): Promise<Opened> {
  const clock = new ManualClock()
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database, { clock, blobStores })
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  return { clock, database, manager }
}

/** A store whose blobs appear at their end, as the objects of a bucket do. */
class LateStore implements BlobStore {
  readonly id = 'LATE'
  readonly isInDatabase = false
  readonly held = new Map<string, Buffer>()

  async put(key: Buffer, given: AsyncIterable<Buffer>): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of given) pieces.push(Buffer.from(piece))
    this.held.set(key.toString('hex'), Buffer.concat(pieces))
  }

  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    yield this.held.get(key.toString('hex'))!.subarray(start, end)
  }

  async remove(key: Buffer): Promise<void> {
    this.held.delete(key.toString('hex'))
  }
}

for (const place of ['the database', 'a store'] as const) {
  void t.test(`an upload that a sweep overtakes in ${place} leaves nothing`, async (t) => {
    const store = new LateStore()
    const routes = place === 'a store' ? [{ store, bytesMax: Infinity }] : []
    const { clock, database, manager } = await open(t, routes)
    const { blobs } = manager
    const slow = async function* (): AsyncGenerator<Buffer, void> {
      yield piece
      clock.milliseconds += 3_599_999
      t.equal((await blobs.sweep()).removed, 0, 'it is not old enough')
      yield piece
      clock.milliseconds += 1
      t.equal((await blobs.sweep()).removed, 1)
      const kinds = [...(await blobs.states()).values()].map(({ kind }) => kind)
      t.same(kinds, ['dead'], 'the row stays while bytes may follow: the process may end here')
      yield piece
    }
    await t.rejects(blobs.upload(slow(), upload), { code: 'ERR_BLOB_NOT_FOUND' })
    t.equal((await blobs.states()).size, 0)
    t.equal(store.held.size, 0)
    t.same(await database.table('repository.blobdata').scan().all(), [])
    const blob = await blobs.upload([piece, piece], upload)
    t.equal((await blobs.checksum(blob)).length, 32, 'another upload ends well')
  })
}

for (const text of [undefined, 'b']) {
  const what = text === undefined ? 'takes the blob too' : 'keeps the blob in a new version'
  void t.test(`a writer that ${what} loses to one that deletes the record`, async (t) => {
    const { database, manager } = await open(t, [])
    const scope = 'VERSIONED'
    await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB', scope })
    await manager.types.createFieldType({ name: '{n}text', scope })
    await manager.types.createRecordType({ name: '{n}page' })
    const second = deferred<undefined>()
    const waiting = deferred<undefined>()
    const wait = async (): Promise<undefined> => {
      waiting.resolve(undefined)
      return second.promise
    }
    const hooks = [{ name: 'wait', beforeUpdate: wait, beforeDelete: wait }]
    const late = await RepositoryManager.open(database, { hooks })
    const fields = { '{n}file': await manager.blobs.upload(piece, upload), '{n}text': 'a' }
    const table = manager.repository().table()
    const id = 'USER.a'
    await table.create({ id, type: '{n}page', fields })
    const lateTable = late.repository().table()
    const lost =
      text === undefined
        ? lateTable.delete(id)
        : lateTable.update({ id, fields: { '{n}text': text } })
    const refused = t.rejects(lost, { code: 'ERR_CONCURRENT_RECORD_UPDATE' })
    await waiting.promise
    // The blob is dead, and its row is still there, while its bytes are removed.
    t.intercept(manager.blobs, 'remove', {
      value: async () => {
        second.resolve(undefined)
        await refused
      },
    })
    await table.delete(id)
    await late.close()
  })
}

void t.test('a store whose directory could not be made makes it for the next blob', async (t) => {
  const memory = new MemoryFileSystem()
  const failures: string[] = []
  const synced: string[] = []
  const fail = (what: string): void => {
    if (failures[0] !== what) return
    failures.shift()
    throw new Error(what)
  }
  const files = withMembers<BlobFiles>(memory, {
    makeDirectorySync: (path) => {
      fail('no space')
      memory.makeDirectorySync(path)
    },
    syncDirectory: async (path) => {
      fail('no sync')
      await memory.syncDirectory(path)
      synced.push(path)
    },
  })
  const store = new FileBlobStore(files, '/data/blobs')
  const { manager } = await open(t, [{ store, bytesMax: Infinity }])
  failures.push('no space', 'no sync')
  await t.rejects(manager.blobs.upload(piece, upload), { message: 'no space' })
  await t.rejects(manager.blobs.upload(piece, upload), { message: 'no sync' })
  const blob = await manager.blobs.upload(piece, upload)
  t.ok(synced.includes('/') && synced.includes('/data'), 'the new directories are on the disk')
  let bytes = 0
  for await (const part of manager.blobs.read(blob)) bytes += part.length
  t.equal(bytes, piece.length)
})

void t.test('an upload that breaks off closes its file and removes it', async (t) => {
  const memory = new MemoryFileSystem()
  let opened = 0
  let closed = 0
  let broken: 'writeSync' | 'sync' | undefined
  const check = (operation: string): void => {
    if (operation === broken) throw new Error('the disk is full')
  }
  const files = withMembers<BlobFiles>(memory, {
    openSync: (path, mode) => {
      const file = memory.openSync(path, mode)
      opened++
      return withMembers<BlobFile>(file, {
        writeSync: (...given) => {
          check('writeSync')
          file.writeSync(...given)
        },
        sync: async () => {
          check('sync')
          await file.sync()
        },
        closeSync: () => {
          closed++
          file.closeSync()
        },
      })
    },
  })
  const store = new FileBlobStore(files, '/blobs')
  const { manager } = await open(t, [{ store, bytesMax: Infinity }])
  const names = (directory: string, depth: number): string[] => {
    const own = memory.listSync(directory).map((name) => memory.join(directory, name))
    return depth === 0 ? own : own.flatMap((path) => names(path, depth - 1))
  }
  const breaking = function* (): Generator<Buffer, void> {
    yield piece
    throw new Error('the caller has gone')
  }
  const ends: [string, () => Promise<unknown>, { code: string } | { message: string }][] = [
    [
      'its source fails',
      () => manager.blobs.upload(breaking(), upload),
      { message: 'the caller has gone' },
    ],
    [
      'it is too long',
      () => manager.blobs.upload([piece, piece], { ...upload, size: 150_000 }),
      { code: 'ERR_BLOB_DAMAGED' },
    ],
    [
      'it is too short',
      () => manager.blobs.upload([piece], { ...upload, size: 150_000 }),
      { code: 'ERR_BLOB_DAMAGED' },
    ],
    ...(['writeSync', 'sync'] as const).map((operation): (typeof ends)[number] => {
      const fail = (): Promise<unknown> => {
        broken = operation
        return manager.blobs.upload([piece], upload)
      }
      return [`${operation} fails`, fail, { message: 'the disk is full' }]
    }),
  ]
  for (const [index, [how, run, problem]] of ends.entries()) {
    await t.rejects(run(), problem, how)
    t.same([opened, closed], [index + 1, index + 1], `${how}: the file is closed, once`)
    t.same(names('/blobs', 2), [], `${how}: the file is removed`)
    t.equal((await manager.blobs.states()).size, 0)
  }
})

void t.test('a blob that a store does not remove keeps no other from a sweep', async (t) => {
  const store = new LateStore()
  const { blobs } = (await open(t, [{ store, bytesMax: Infinity }])).manager
  let refused = 2
  const remove = store.remove.bind(store)
  store.remove = async (key) => {
    if (refused-- > 0) throw new Error(`refused ${refused}`)
    await remove(key)
  }
  for (let i = 0; i < 5; i++) await blobs.upload(piece, upload)
  await t.rejects(blobs.sweep({ ageMillisecondsMin: 0 }), { message: 'refused 1' })
  t.equal(store.held.size, 2)
  t.match(await blobs.sweep(), { looked: 2, removed: 2 }, 'the next sweep repeats the removals')
})

void t.test('the file of a blob is removed by several calls, and each of them syncs', async (t) => {
  const memory = new MemoryFileSystem()
  let failures = 0
  let synced = 0
  const files = withMembers<BlobFiles>(memory, {
    unlink: async (path) => {
      await setTimeout(1)
      await memory.unlink(path)
    },
    syncDirectory: async (path) => {
      if (failures-- > 0) throw new Error('no sync')
      await memory.syncDirectory(path)
      synced++
    },
  })
  const store = new FileBlobStore(files, '/blobs')
  const key = Buffer.alloc(16, 1)
  const put = (): Promise<void> => store.put(key, Readable.from([piece]))
  await put()
  await Promise.all([store.remove(key), store.remove(key)])
  await put()
  failures = 1
  await t.rejects(store.remove(key), { message: 'no sync' })
  synced = 0
  await store.remove(key)
  t.equal(synced, 1, 'the removal is durable now')
  await store.remove(Buffer.alloc(16, 2))
  t.equal(synced, 1, 'there is no directory')
})

void t.test('a blob that is removed during its read is not found, and not damaged', async (t) => {
  const store = new FileBlobStore(new MemoryFileSystem(), '/blobs')
  const { blobs } = (await open(t, [{ store, bytesMax: Infinity }])).manager
  const read = store.read.bind(store)
  const remove = store.remove.bind(store)
  const blob = await blobs.upload(piece, upload)
  store.remove = async (key) => {
    await remove(key)
    throw new Error('the row stays')
  }
  store.read = async function* (...given) {
    await t.rejects(blobs.sweep({ ageMillisecondsMin: 0 }), { message: 'the row stays' })
    yield* read(...given)
  }
  const code = 'ERR_BLOB_NOT_FOUND'
  await t.rejects(blobs.read(blob).next(), { code })
  await t.rejects(blobs.checksum(blob), { code }, 'also while its row remains')
  store.read = read
  const other = await blobs.upload(piece, upload)
  await remove(parseBlobKey(other.key).key)
  await t.rejects(blobs.read(other).next(), { code: 'ERR_BLOB_DAMAGED' }, 'a lost file is damage')
})

void t.test('a stream that fails before its first byte fails the upload only', async (t) => {
  const store = new FileBlobStore(new MemoryFileSystem(), '/blobs')
  const { blobs } = (await open(t, [{ store, bytesMax: Infinity }])).manager
  const absent = createReadStream('/absent/file')
  await t.rejects(blobs.upload(absent, upload), { code: 'ENOENT' })
  t.equal((await blobs.states()).size, 0)
})
