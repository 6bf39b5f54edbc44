/** The nodes that the writer keeps: what they are, and how many. */
import t from 'tap'
import { NodeCache } from '../../../../../src/systems/metastore/pulsar/store/node-table.js'
import {
  cellOfValue,
  decodeRecord,
  recordWith,
} from '../../../../../src/systems/metastore/pulsar/store/record-format.js'
import { absentNode, type Node } from '../../../../../src/systems/metastore/pulsar/store/rows.js'
import type { AtomicBatch, Database as AnyDatabase } from '../../../../../src/api/index.js'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { metadataStoreOf } from '../../../../../src/systems/metastore/pulsar/index.js'
import { withMembers } from '../../../../helpers/planted.js'

function nodeOf(value: Buffer, children = 0): Node {
  const times = { creationSequence: 1, created: 1, modified: 1 }
  const header = { version: 0, sequence: 1, ...times, session: 0, indexes: [] }
  return { record: recordWith(header, cellOfValue(value)), children }
}

void t.test('a node is known until two generations of others have passed', (t) => {
  const cache = new NodeCache()
  cache.set('/a', nodeOf(Buffer.from('a'), 2))
  cache.set('/gone', { record: undefined, children: 0 })
  t.equal(cache.get('/a')?.children, 2)
  t.equal(cache.get('/gone'), absentNode)
  t.equal(cache.get('/unknown'), undefined)
  const large = Buffer.alloc(1 << 20)
  for (let i = 0; i < 10; i++) cache.set(`/large/${i}`, nodeOf(large))
  t.equal(cache.get('/a')?.children, 2, 'one generation later, and used again')
  for (let i = 10; i < 30; i++) cache.set(`/large/${i}`, nodeOf(large))
  t.equal(cache.get('/a'), undefined)
  t.ok(cache.get('/large/29'))
  cache.clear()
  t.equal(cache.get('/large/29'), undefined)
  t.end()
})

void t.test('a part of a large page does not keep the page', (t) => {
  const cache = new NodeCache()
  const { cell } = nodeOf(Buffer.alloc(10, 1)).record!
  const page = Buffer.alloc(1 << 20)
  page.set(cell, 10)
  cache.set('/part', { record: decodeRecord(page.subarray(10, 10 + cell.length)), children: 0 })
  const { record } = cache.get('/part')!
  t.ok(record!.cell.buffer.byteLength <= Buffer.poolSize)
  t.strictSame(record!.value, Buffer.alloc(10, 1))
  t.end()
})

void t.test('a write knows the nodes of the writes before it, also of failed ones', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/store', { fileSystem })
  const store = await metadataStoreOf(database)
  await store.put('/a/b', 'first')
  await t.rejects(store.put('/a/b', 'twice', -1), { code: 'ERR_METADATA_BAD_VERSION' })
  t.equal((await store.put('/a/b', 'second', 0)).version, 1)
  await store.delete('/a/b', 1)
  t.strictSame(await store.getChildren('/a'), [])
  t.equal((await store.put('/a/b', 'again', -1)).version, 0)
  t.strictSame(await store.getChildren('/a'), ['b'])
  await store.close()
  await database.close()
})

void t.test('what a failed commit has left is read again before the next write', async (t) => {
  const inner = await openMemoryDatabase()
  let isFailing = false
  const database = withMembers<AnyDatabase>(inner, {
    // The commit is stored, and its writer is told that it failed.
    atomic: async (batch: AtomicBatch) => {
      const result = await inner.atomic(batch)
      if (!isFailing) return result
      isFailing = false
      throw new Error('the disk is full')
    },
  })
  const store = await metadataStoreOf(database)
  await store.put('/a', 'first')
  isFailing = true
  await t.rejects(store.put('/a', 'second', 0), { code: 'ERR_METADATA_STORE_FAILURE' })
  t.equal((await store.put('/a', 'third', 1)).version, 2)
  await store.close()
  await inner.close()
})
