/** Uploads that a sweep overtakes, and uploads that end half-way. */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  type BlobRoute,
  type BlobStore,
} from '../../../../src/systems/repository/index.js'

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

  async create(key: Buffer): ReturnType<BlobStore['create']> {
    const pieces: Buffer[] = []
    return {
      write: async (own) => void pieces.push(Buffer.from(own)),
      finish: async () => void this.held.set(key.toString('hex'), Buffer.concat(pieces)),
    }
  }

  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    yield this.held.get(key.toString('hex'))!.subarray(start, end)
  }

  async remove(key: Buffer): Promise<void> {
    this.held.delete(key.toString('hex'))
  }
}

for (const place of ['the database', 'a store'] as const) {
  void t.test(`an upload that a sweep overtakes in ${place} fails, and leaves nothing`, async (t) => {
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
