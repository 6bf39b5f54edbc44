/** Blobs in records, in three stores. */
import assert from 'node:assert/strict'
import {
  RepositoryManager,
  TableBlobStore,
  type Blob,
  type BlobStore,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { fieldsOf, q, type Fixture, type RepositoryCase } from '../case.js'

const id = 'USER.a'
const notFound = 'ERR_BLOB_NOT_FOUND'
const invalid = 'ERR_INVALID_RECORD'

/** A store in memory, in the place of files; it can be broken. */
class HeldStore implements BlobStore {
  readonly id = 'HELD'
  readonly isInDatabase = false
  readonly held = new Map<string, Buffer>()
  failsAt = Infinity

  async put(key: Buffer, given: AsyncIterable<Buffer>): Promise<void> {
    const pieces: Buffer[] = []
    this.held.set(key.toString('hex'), Buffer.alloc(0))
    for await (const piece of given) {
      if (--this.failsAt <= 0) throw new Error('the store is broken')
      pieces.push(Buffer.from(piece))
      this.held.set(key.toString('hex'), Buffer.concat(pieces))
    }
  }

  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    yield this.held.get(key.toString('hex'))!.subarray(start, end)
  }

  async remove(key: Buffer): Promise<void> {
    this.held.delete(key.toString('hex'))
  }
}

interface Opened {
  readonly manager: RepositoryManager
  readonly table: RecordTable
  readonly store: HeldStore
}

/** Inline up to 50 bytes, in a table up to 1024, else in a store outside the database. */
async function open(fixture: Fixture): Promise<Opened> {
  const store = new HeldStore()
  // The tables of the manager with default stores are those of the one that follows.
  await fixture.manager()
  const inTable = new TableBlobStore(fixture.database.table('repository.blobdata'), 'SYNC_WAL')
  const manager = await fixture.manager({
    inlineBlobBytesMax: 50,
    blobStores: [
      { store: inTable, bytesMax: 1024 },
      { store, bytesMax: Infinity },
    ],
  })
  const fields = [
    ['b1', 'BLOB', 'NON_VERSIONED'],
    ['b2', 'BLOB', 'NON_VERSIONED'],
    ['b3', 'BLOB', 'NON_VERSIONED'],
    ['list', 'LIST<BLOB>', 'VERSIONED_MUTABLE'],
    ['versioned', 'LIST<BLOB>', 'VERSIONED'],
    ['path', 'LIST<PATH<BLOB>>', 'NON_VERSIONED'],
    ['inner', 'RECORD', 'VERSIONED'],
    ['text', 'STRING', 'NON_VERSIONED'],
  ] as const
  for (const [local, valueType, scope] of fields) {
    await manager.types.createFieldType({ name: q(local), valueType, scope })
  }
  await manager.types.createRecordType({ name: q('doc'), fields: [{ name: q('b1') }] })
  return { manager, table: manager.repository().table(), store }
}

function bytesOf(size: number, seed = 1): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, i) => (i * 31 + seed) % 256))
}

function upload(manager: RepositoryManager, size: number, seed = 1): Promise<Blob> {
  return manager.blobs.upload(bytesOf(size, seed), { mediaType: 'text/plain', name: `${size}` })
}

async function all(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const piece of pieces) parts.push(piece)
  return Buffer.concat(parts)
}

async function content(table: RecordTable, field: string, ...indexes: number[]): Promise<Buffer> {
  return all((await table.readBlob(id, q(field), { indexes })).bytes)
}

function create(table: RecordTable, values: Record<string, unknown>, own = id): Promise<unknown> {
  return table.create({ id: own, type: q('doc'), fields: fieldsOf(values) })
}

function update(table: RecordTable, values: Record<string, unknown>): Promise<unknown> {
  return table.update({ id, fields: fieldsOf(values) })
}

async function kinds(manager: RepositoryManager): Promise<string[]> {
  return [...(await manager.blobs.states()).values()].map(({ kind }) => kind).sort()
}

const readCases: readonly RepositoryCase[] = [
  {
    name: 'a small blob comes back',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      await create(table, { b1: await upload(manager, 20) })
      const { blob, bytes } = await table.readBlob(id, q('b1'))
      assert.deepEqual([blob.mediaType, blob.size, blob.name], ['text/plain', 20, '20'])
      assert.deepEqual(await all(bytes), bytesOf(20))
      assert.deepEqual(await all(manager.blobs.read(blob)), bytesOf(20))
      assert.deepEqual(await kinds(manager), [])
    },
  },
  {
    name: 'three sizes in three stores',
    run: async (fixture) => {
      const { manager, table, store } = await open(fixture)
      const [b1, b2, b3] = [10, 100, 2048]
      await create(table, {
        b1: await upload(manager, b1),
        b2: await upload(manager, b2),
        b3: await upload(manager, b3),
      })
      assert.deepEqual(await content(table, 'b1'), bytesOf(b1))
      assert.deepEqual(await content(table, 'b2'), bytesOf(b2))
      assert.deepEqual(await content(table, 'b3'), bytesOf(b3))
      assert.equal(store.held.size, 1)
      assert.deepEqual(await kinds(manager), ['used', 'used'])
    },
  },
  {
    name: 'an inline blob is shared, others belong to one record',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      const small = await upload(manager, 10)
      await create(table, { b1: small })
      await create(table, { b1: small, b2: small }, 'USER.b')
      const large = await upload(manager, 100)
      await create(table, { b1: large }, 'USER.c')
      await failsWith(invalid, () => create(table, { b1: large }, 'USER.d'))
      const other = { id: 'USER.c', fields: fieldsOf({ b2: large }) }
      await failsWith(invalid, () => table.update(other))
      await table.update({ id: 'USER.c', fields: fieldsOf({ b1: large, text: 'again' }) })
    },
  },
  {
    name: 'a blob that is replaced or removed is gone',
    run: async (fixture) => {
      const { manager, table, store } = await open(fixture)
      for (const size of [100, 2048]) {
        const first = await upload(manager, size)
        await table.createOrUpdate({ id, type: q('doc'), fields: fieldsOf({ b1: first }) })
        await update(table, { b1: await upload(manager, size, 2), text: `${size}` })
        await failsWith(notFound, () => all(manager.blobs.read(first)))
        assert.deepEqual(await content(table, 'b1'), bytesOf(size, 2))
        await table.update({ id, fieldsToDelete: [q('b1')] })
        assert.deepEqual(await kinds(manager), [])
      }
      assert.equal(store.held.size, 0)
      const small = await upload(manager, 10)
      await update(table, { b1: small })
      await table.update({ id, fieldsToDelete: [q('b1')] })
      assert.deepEqual(await all(manager.blobs.read(small)), bytesOf(10))
      const data = await fixture.database.table('repository.blobdata').scan().all()
      assert.equal(data.length, 0, 'no bytes are left in the table')
    },
  },
  {
    name: 'blobs of versions, of which one is changed',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      const [b1, b2, b3, b4] = await Promise.all([1, 2, 3, 4].map((i) => upload(manager, 200, i)))
      await create(table, { list: [b1, b2] })
      await update(table, { list: [b2, b3] })
      await table.update({ id, fields: fieldsOf({ list: [b4] }) }, { version: 1 })
      assert.deepEqual(await content(table, 'list', 0), bytesOf(200, 2))
      assert.deepEqual(await content(table, 'list', 1), bytesOf(200, 3))
      await failsWith(notFound, () => all(manager.blobs.read(b1)))
      const first = { version: 1, indexes: [0] }
      const { bytes } = await table.readBlob(id, q('list'), first)
      assert.deepEqual(await all(bytes), bytesOf(200, 4))
      await failsWith(notFound, () => table.readBlob(id, q('list'), { version: 1 }))
      const second = { version: 1, indexes: [1] }
      await failsWith(notFound, () => table.readBlob(id, q('list'), second))
    },
  },
  {
    name: 'blobs in lists of paths',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      const blobs = await Promise.all([1, 2, 3].map((i) => upload(manager, 100, i)))
      await create(table, { path: [[blobs[0]], [blobs[1], blobs[2]]] })
      assert.deepEqual(await content(table, 'path', 1, 1), bytesOf(100, 3))
      for (const indexes of [[], [0], [0, 1], [2, 0], [0, 0, 0], [-1, 0]]) {
        await failsWith(notFound, () => table.readBlob(id, q('path'), { indexes }))
      }
      const bad = { indexes: ['x'] as never }
      await failsWith('ERR_INVALID_ARGUMENT', () => table.readBlob(id, q('path'), bad))
    },
  },
  {
    name: 'a sweep removes what no record has, and nothing else',
    run: async (fixture) => {
      const { manager, table, store } = await open(fixture)
      const unused = await upload(manager, 100)
      const used = await upload(manager, 2048)
      await create(table, { b1: used })
      assert.deepEqual(await manager.blobs.sweep(), { looked: 2, removed: 0, unreachable: 0 })
      fixture.clock.milliseconds += 3_600_000
      assert.deepEqual(await manager.blobs.sweep(), { looked: 2, removed: 1, unreachable: 0 })
      await failsWith(notFound, () => all(manager.blobs.read(unused)))
      await failsWith(invalid, () => update(table, { b2: unused }))
      assert.deepEqual(await content(table, 'b1'), bytesOf(2048))
      store.failsAt = 1
      await assert.rejects(upload(manager, 5000), /broken/)
      assert.deepEqual(await kinds(manager), ['used'])
      assert.equal(store.held.size, 1)
    },
  },
  {
    name: 'blobs that cannot be read',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      await create(table, { b1: await upload(manager, 10), text: 'x' })
      const blob = (key: Buffer): Blob => ({ key, mediaType: 'a/b', size: 1 })
      for (const key of [Buffer.alloc(0), Buffer.from('x'), Buffer.alloc(40, 0xff)]) {
        await failsWith('ERR_BLOB', () => all(manager.blobs.read(blob(key))))
      }
      await failsWith('ERR_BLOB', () => update(table, { b2: blob(Buffer.alloc(0)) }))
      const read = (field: unknown, own = id): Promise<unknown> => {
        return table.readBlob(own, field as string)
      }
      await failsWith('ERR_BLOB', () => read(q('text')))
      await failsWith('ERR_FIELD_NOT_FOUND', () => read(q('b2')))
      await failsWith('ERR_FIELD_TYPE_NOT_FOUND', () => read(q('none')))
      await failsWith('ERR_INVALID_ARGUMENT', () => read(null))
      await failsWith('ERR_RECORD_NOT_FOUND', () => read(q('b1'), 'USER.none'))
    },
  },
]

const ownCases: readonly RepositoryCase[] = [
  {
    name: 'a write that fails reserves no blob',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      const [mine, other] = [await upload(manager, 100, 1), await upload(manager, 100, 2)]
      await create(table, { b1: other }, 'USER.other')
      await failsWith(invalid, () => create(table, { b1: mine, b2: other }))
      await create(table, { b1: mine })
      assert.deepEqual(await content(table, 'b1'), bytesOf(100, 1))
    },
  },
  {
    name: 'references count by version: a blob stays as long as one has it',
    run: async (fixture) => {
      const { manager, table } = await open(fixture)
      const [b1, b2, b3] = await Promise.all([1, 2, 3].map((i) => upload(manager, 100, i)))
      await create(table, { versioned: [b1] })
      await update(table, { versioned: [b1, b2] })
      await update(table, { versioned: [b3] })
      await update(table, { versioned: [b1] })
      const references = async (): Promise<number[]> => {
        const states = [...(await manager.blobs.states()).values()]
        return states.map((state) => state.references).sort()
      }
      assert.deepEqual(await references(), [1, 1, 3])
      await table.pruneVersions(id, { keep: 2 })
      assert.deepEqual(await references(), [1, 1])
      await failsWith(notFound, () => all(manager.blobs.read(b2)))
      assert.deepEqual(await content(table, 'versioned', 0), bytesOf(100, 1))
      await table.delete(id)
      assert.deepEqual(await references(), [])
    },
  },
  {
    name: 'blobs inside records are counted, and go with a dropped table',
    run: async (fixture) => {
      const { manager, store } = await open(fixture)
      const table = await manager.repository().createTable('docs')
      const blob = await upload(manager, 2048)
      await create(table, { inner: { type: q('doc'), fields: fieldsOf({ b1: blob }) } })
      fixture.clock.milliseconds += 10_000_000
      await manager.blobs.sweep()
      assert.deepEqual(await all(manager.blobs.read(blob)), bytesOf(2048))
      await manager.repository().dropTable('docs')
      assert.deepEqual([await kinds(manager), store.held.size], [[], 0])
    },
  },
  {
    name: 'streams, ranges, sizes that lie, and bytes that have changed',
    run: async (fixture) => {
      const { manager, table, store } = await open(fixture)
      const whole = bytesOf(200_000)
      const pieces = (function* () {
        for (let at = 0; at < whole.length; at += 7777) yield whole.subarray(at, at + 7777)
      })()
      const streamed = await manager.blobs.upload(pieces, { mediaType: 'a/b' })
      assert.equal(streamed.size, whole.length)
      const inTable = await manager.blobs.upload(bytesOf(1000), { mediaType: 'a/b', size: 1000 })
      await create(table, { b1: streamed, b2: inTable })
      const range = async (field: string, start: number, end: number): Promise<Buffer> => {
        return all((await table.readBlob(id, q(field), { range: { start, end } })).bytes)
      }
      assert.deepEqual(await range('b1', 65_530, 65_545), whole.subarray(65_530, 65_545))
      assert.deepEqual(await range('b2', 999, 1000), bytesOf(1000).subarray(999))
      assert.equal((await range('b2', 5, 5)).length, 0)
      for (const [start, end] of [
        [-1, 5],
        [5, 4],
        [0, 1001],
        [0.5, 1],
      ] as const) {
        await failsWith('ERR_INVALID_ARGUMENT', () => range('b2', start, end))
      }
      for (const size of [99, 101, 10]) {
        const lying = { mediaType: 'a/b', size }
        await failsWith('ERR_BLOB_DAMAGED', () => manager.blobs.upload(bytesOf(100), lying))
      }
      const bad = { mediaType: 'none' }
      await failsWith('ERR_INVALID_ARGUMENT', () => manager.blobs.upload(bytesOf(1), bad))
      const text = ['text'] as never
      await failsWith('ERR_INVALID_ARGUMENT', () =>
        manager.blobs.upload(text, { mediaType: 'a/b' }),
      )
      assert.deepEqual(await kinds(manager), ['used', 'used'])
      const [[key, bytes]] = store.held
      bytes[100] ^= 1
      await failsWith('ERR_BLOB_DAMAGED', () => content(table, 'b1'))
      store.held.set(key, bytes.subarray(0, 50))
      await failsWith('ERR_BLOB_DAMAGED', () => content(table, 'b1'))
    },
  },
]

/** Cases about blobs. */
export const blobCases: readonly RepositoryCase[] = [...readCases, ...ownCases]
