/** Reads beside commits that failed: they go on, and show what was acknowledged. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import {
  MetadataErrorCode,
  metadataStoreOf,
  type CellarMetadataStore,
  type Notification,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { FaultyFileSystem } from '../../../../doubles/testing.js'
import { withMembers } from '../../../../helpers/planted.js'

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Everything that reads show. */
async function shown(store: CellarMetadataStore): Promise<unknown> {
  const children: unknown[] = []
  for await (const { stat, value } of store.scanChildren('/p')) {
    children.push([stat.path, value.toString()])
  }
  const indexed: unknown[] = []
  for await (const { stat } of store.scanByIndex({ prefix: '/p', index: 'i' })) {
    indexed.push(stat.path)
  }
  let newest: string | undefined
  const sequence = await store.subscribeSequence('/s', (path) => (newest = path))
  await turns(2)
  sequence.close()
  return {
    a: (await store.get('/p/a'))?.value.toString(),
    isNew: await store.exists('/p/new'),
    names: await store.getChildren('/p'),
    children,
    indexed,
    newest,
  }
}

async function fill(store: CellarMetadataStore): Promise<void> {
  await store.put('/p/a', 'old', -1, { secondaryIndexes: { i: 'k' } })
  await store.put('/p/gone', 'old', -1, { secondaryIndexes: { i: 'k' } })
  await store.put('/s', '', -1, { sequenceKeysDeltas: [1] })
}

/** Changes all that `shown` reads, in calls that share a group. */
function change(store: CellarMetadataStore): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled([
    store.put('/p/a', 'new', undefined, { secondaryIndexes: {} }),
    store.put('/p/new', 'new', -1, { secondaryIndexes: { i: 'k' } }),
    store.delete('/p/gone'),
    store.put('/s', '', -1, { sequenceKeysDeltas: [1] }),
  ])
}

for (const kind of ['write', 'sync']) {
  void t.test(`a disk that refuses a ${kind} fails writes, and reads go on`, async (t) => {
    const inner = new MemoryFileSystem()
    const fileSystem = new FaultyFileSystem(inner)
    const database = await Database.open('/database', { fileSystem, executor: 'inline' })
    const store = await metadataStoreOf(database)
    await fill(store)
    const before = await shown(store)
    const only = (operation: { readonly kind: string }): boolean => operation.kind === kind
    fileSystem.arm({ failAt: 1, persistent: true, errno: 'ENOSPC', only })
    const during = store.get('/p/a')
    const calls = change(store)
    // Reads that have begun while the commit was under way.
    const meanwhile = [store.get('/p/a'), store.get('/p/gone')]
    await Promise.resolve()
    meanwhile.push(store.get('/p/a'), store.get('/p/gone'))
    for (const { status } of await calls) t.equal(status, 'rejected')
    for (const read of [during, ...meanwhile]) {
      t.equal((await read)?.value.toString(), 'old', 'a read beside the commit')
    }
    t.same(await shown(store), before, 'what was acknowledged')
    fileSystem.disarm()
    t.same(await shown(store), before, 'still, when there is room')
    await t.rejects(store.put('/p/a', 'x'), { code: MetadataErrorCode.storeFailure })
    t.same(await shown(store), before, 'and behind another refusal')
    await store.close().catch(() => undefined)
    await database.close().catch(() => undefined)
    const again = await Database.open('/database', { fileSystem: inner, executor: 'inline' })
    const reopened = await metadataStoreOf(again)
    t.ok(await reopened.put('/p/a', 'x'), 'opened again, the store takes writes')
    await reopened.close()
    await again.close()
  })
}

void t.test('what a failed commit has left is shown and told behind a later write', async (t) => {
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  let fails = false
  const meanwhile: Promise<unknown>[] = []
  const failing = withMembers(database, {
    atomic: async (batch) => {
      if (!fails) return database.atomic(batch)
      fails = false
      await database.atomic(batch)
      meanwhile.push(shown(store))
      await turns()
      throw new Error('the answer was lost')
    },
  })
  const store = await metadataStoreOf(failing)
  await fill(store)
  const before = await shown(store)
  const events: Notification[] = []
  store.registerListener((event) => events.push(event))
  const from = store.sequence + 1
  fails = true
  for (const { status } of await change(store)) t.equal(status, 'rejected')
  t.same(await meanwhile[0], before, 'not by a read beside the commit')
  t.same(await shown(store), before, 'not before')
  t.same(events, [], 'nobody was told')
  await store.put('/later', '')
  await turns()
  t.same(await shown(store), {
    a: 'new',
    isNew: true,
    names: ['a', 'new'],
    children: [
      ['/p/a', 'new'],
      ['/p/new', 'new'],
    ],
    indexed: ['/p/new'],
    newest: '/s-00000000000000000002',
  })
  t.equal(events.length, 7, 'told, each event once')
  let seen = 0
  for await (const commit of store.subscribe({ fromSequence: from })) {
    seen++
    if (commit.sequence === store.sequence) break
  }
  t.equal(seen, 5, 'in the feed, each commit once')
  await store.close()
  await database.close()
})

void t.test('an observer that throws after a commit leaves it in doubt, not refused', async (t) => {
  const database = await Database.open('/observed', { fileSystem: new MemoryFileSystem() })
  const store = await metadataStoreOf(database)
  await store.put('/a', 'old')
  const observer = {
    postBatchMutate() {
      throw new Error('after the batch')
    },
  }
  const registered = await database.registerCoprocessor({ name: 'late', observer })
  await t.rejects(store.put('/a', 'new'))
  registered.remove()
  const { version } = await store.put('/b', 'next')
  t.equal(version, 0, 'the store goes on')
  t.equal((await store.get('/a'))?.value.toString(), 'new', 'the batch had been applied')
  await store.close()
  await database.close()
})
