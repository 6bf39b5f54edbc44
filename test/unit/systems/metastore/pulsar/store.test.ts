/** The store over tables beyond the numbered cases: layout, commits, sessions, feed, failures. */
import t from 'tap'
import type { Database as AnyDatabase } from '../../../../../src/api/index.js'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'
import {
  MetadataErrorCode,
  metadataStoreOf,
  openMetadataStore,
  type FeedCommit,
  type MetadataStore,
  type Notification,
} from '../../../../../src/entries/metastore-pulsar.js'
import { ManualTimer } from '../../../../helpers/manual-timer.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

function openDatabase(fileSystem = new MemoryFileSystem()): Promise<Database> {
  return Database.open('/database', { fileSystem, executor: 'inline' })
}

const inMemory = (): Promise<Database> => openDatabase()

void t.test(
  'writes of one turn are one commit of the log, checked one after the other',
  async (t) => {
    const database = await openDatabase()
    let batches = 0
    const counting: AnyDatabase = {
      capabilities: database.capabilities,
      cellBytesMax: database.cellBytesMax,
      admin: database.admin,
      createTable: (name, options) => database.createTable(name, options),
      table: (name) => database.table(name),
      snapshot: () => database.snapshot(),
      changes: (options) => database.changes(options),
      atomic: (batch) => {
        batches++
        return database.atomic(batch)
      },
      close: () => database.close(),
    }
    const store = await metadataStoreOf(counting)
    await store.put('/hot', '0')
    batches = 0
    const puts = Array.from({ length: 50 }, (_, i) => store.put('/hot', String(i), i))
    const stats = await Promise.all(puts)
    t.equal(batches, 1, 'one batch')
    t.equal(stats.at(-1)!.version, 50, 'each has seen the one before')
    await t.rejects(store.put('/hot', 'x', 7), { code: MetadataErrorCode.badVersion })
    await store.close()
    await database.close()
  },
)

void t.test('a listing reads the children and nothing below them', async (t) => {
  const database = await openDatabase()
  const store = await metadataStoreOf(database)
  const puts: Promise<unknown>[] = []
  for (let i = 0; i < 10; i++) {
    for (let j = 0; j < 200; j++) puts.push(store.put(`/p/c-${i}/d-${j}`, ''))
  }
  await Promise.all(puts)
  const table = database.table('pulsar.nodes')
  let rows = 0
  const prototype = Object.getPrototypeOf(table) as { scan: typeof table.scan }
  const before = prototype.scan
  prototype.scan = function (options) {
    const scanner = before.call(this, options)
    const nextBatch = scanner.nextBatch.bind(scanner)
    scanner.nextBatch = async (count) => {
      const results = await nextBatch(count)
      rows += results.length
      return results
    }
    return scanner
  }
  try {
    t.equal((await store.getChildren('/p')).length, 10, 'children')
    t.equal(rows, 10, 'rows that were read')
  } finally {
    prototype.scan = before
  }
  await store.close()
  await database.close()
})

void t.test('a recursive delete is one commit with all its events', async (t) => {
  const store = await openMetadataStore('memory:local', { openDatabase: inMemory })
  await store.batch([
    { put: '/a/b', value: '' },
    { put: '/a/b/c', value: '' },
    { put: '/a/b/d/e', value: '', secondaryIndexes: { owner: 'x' } },
    { put: '/a/z', value: '' },
  ])
  const commits: FeedCommit[] = []
  const feed = store.subscribe({ prefix: '/a' })
  const reading = (async () => {
    for await (const commit of feed) {
      commits.push(commit)
      break
    }
  })()
  await turns()
  await store.deleteRecursive('/a/b')
  await reading
  const deleted = commits[0].events.filter(({ type }) => type === 'Deleted')
  t.same(deleted.map(({ path }) => path).sort(), ['/a/b', '/a/b/c', '/a/b/d/e'])
  t.same(await store.getChildren('/a'), ['z'])
  const left: unknown[] = []
  for await (const record of store.scanByIndex({ prefix: '/a/b/d', index: 'owner' }))
    left.push(record)
  t.same(left, [], 'the index is empty')
  await store.close()
})

void t.test('the feed resumed at every point gives each commit once', async (t) => {
  const database = await openDatabase()
  const store = await metadataStoreOf(database)
  const from = store.sequence + 1
  for (let round = 0; round < 12; round++) {
    await Promise.all([0, 1, 2].map((i) => store.put(`/r/${i}`, String(round))))
  }
  await store.deleteRecursive('/r')
  const last = store.sequence
  const read = async (start: number, reader = store): Promise<number[]> => {
    const sequences: number[] = []
    for await (const { sequence } of reader.subscribe({ fromSequence: start })) {
      sequences.push(sequence)
      if (sequence === last) break
    }
    return sequences
  }
  const all = await read(from)
  t.equal(all.length, 37, 'all commits')
  await store.close()
  // A new handle has nothing of the feed in memory.
  const again = await metadataStoreOf(database)
  for (let start = from; start <= last; start++) {
    const found = await read(start, again)
    t.same(
      found,
      all.filter((sequence) => sequence >= start),
      `from ${start}`,
    )
  }
  await again.close()
  await database.close()
})

void t.test('a feed that has expired says so', async (t) => {
  const clock = { milliseconds: 1_000_000, now: () => clock.milliseconds }
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    clock,
  })
  let store = await metadataStoreOf(database, { feedRetentionSeconds: 60 })
  await store.put('/a', '1')
  await store.close()
  clock.milliseconds += 120_000
  store = await metadataStoreOf(database, { feedRetentionSeconds: 60 })
  await store.put('/a', '2')
  const feed = store.subscribe({ fromSequence: 1 })
  // The commit before the put stored the session of the handle.
  const details = { firstSequence: store.sequence - 1 }
  await t.rejects(feed.next(), { code: MetadataErrorCode.feedGap, details })
  await store.close()
  await database.close()
})

void t.test('a subscriber that is so slow that its commits expire hears of the gap', async (t) => {
  const clock = { milliseconds: 1_000_000, now: () => clock.milliseconds }
  const database = await Database.open('/database', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    clock,
  })
  const store = await metadataStoreOf(database, { feedRetentionSeconds: 60 })
  const putMany = async (parent: string): Promise<void> => {
    // More events than the feed keeps in memory.
    const paths = Array.from({ length: 100 }, (_, i) => `${parent}/${'p'.repeat(30_000)}${i}`)
    await Promise.all(paths.map((path) => store.put(path, '')))
  }
  await store.put('/first', '')
  const feed = store.subscribe({ fromSequence: store.sequence })
  t.same((await feed.next()).value?.events, [{ type: 'Created', path: '/first' }])
  await putMany('/expired')
  clock.milliseconds += 120_000
  const details = { firstSequence: store.sequence + 1 }
  await putMany('/kept')
  await t.rejects(feed.next(), { code: MetadataErrorCode.feedGap, details })
  await store.close()
  await database.close()
})

void t.test('a session that was not taken up ends after a restart, in one commit', async (t) => {
  const clock = new ManualTimer()
  const fileSystem = new MemoryFileSystem()
  const options = { sessionTimeoutMilliseconds: 9_000, clock }
  let database = await openDatabase(fileSystem)
  const dying = await metadataStoreOf(database, options)
  for (let i = 0; i < 5; i++) await dying.put(`/e/${i}`, '', -1, { ephemeral: true })
  const taken = await metadataStoreOf(database, options)
  await taken.put('/kept', '', -1, { ephemeral: true })
  const { sessionId } = taken
  dying.faults.kill()
  taken.faults.kill()
  await turns()
  await database.close()
  database = await openDatabase(fileSystem)
  const store = await metadataStoreOf(database, { ...options, sessionId })
  t.equal((await store.get('/kept'))!.stat.createdBySelf, true, 'taken up')
  t.equal((await store.getChildren('/e')).length, 5, 'still there')
  const events: Notification[] = []
  store.registerListener((event) => events.push(event))
  for (let i = 0; i < 4; i++) {
    clock.advance(3_000)
    await turns()
  }
  t.same(await store.getChildren('/e'), [], 'expired')
  t.equal(events.filter(({ type }) => type === 'Deleted').length, 5)
  t.ok(await store.exists('/kept'), 'the heartbeats of the other session went on')
  await store.close()
  await database.close()
})

void t.test('a resumed session lives by its own timeout', async (t) => {
  const clock = new ManualTimer()
  const database = await openDatabase()
  const options = { clock, sessionTimeoutMilliseconds: 3_000 }
  const keeper = await metadataStoreOf(database, { clock })
  const dying = await metadataStoreOf(database, options)
  await dying.put('/kept', '', -1, { ephemeral: true })
  const { sessionId } = dying
  dying.faults.kill()
  const store = await metadataStoreOf(database, { clock, sessionId })
  t.equal(store.sessionTimeoutMilliseconds, 3_000)
  for (let i = 0; i < 20; i++) {
    clock.advance(1_000)
    await turns()
  }
  t.equal(store.sessionId, sessionId)
  t.equal(await store.exists('/kept'), true)
  await store.close()
  await keeper.close()
  await database.close()
})

void t.test('an expired session is told before its records go', async (t) => {
  const clock = new ManualTimer()
  const store = await openMetadataStore('memory:local', {
    openDatabase: inMemory,
    sessionTimeoutMilliseconds: 3_000,
    clock,
  })
  const told: string[] = []
  store.registerListener(({ type, path }) => told.push(`${type} ${path}`))
  store.registerSessionListener((event) => told.push(event))
  await store.put('/e', '', -1, { ephemeral: true })
  ;(store as Awaited<ReturnType<typeof metadataStoreOf>>).faults.expireSession()
  await turns()
  t.same(told, [
    'Created /e',
    'ConnectionLost',
    'SessionLost',
    'Deleted /e',
    'Reconnected',
    'SessionReestablished',
  ])
  await store.close()
})

void t.test('a listener that throws, rejects or never ends hurts nobody', async (t) => {
  const errors: unknown[] = []
  const store = await openMetadataStore('memory:local', {
    openDatabase: inMemory,
    onListenerError: (error) => errors.push(error),
  })
  let heard = 0
  store.registerListener(() => {
    throw new Error('thrown')
  })
  store.registerListener(() => Promise.reject(new Error('rejected')))
  store.registerListener(() => new Promise(() => undefined))
  const remove = store.registerListener(() => heard++)
  await store.put('/a', '')
  await turns()
  t.equal(heard, 1)
  t.equal(errors.length, 2)
  remove()
  await store.put('/a', '')
  await turns()
  t.equal(heard, 1, 'removed')
  await store.close()
})

void t.test('a handle is closed by await using, and counts what its store has done', async (t) => {
  const database = await openDatabase()
  let sessionId: number | undefined
  {
    await using store = await metadataStoreOf(database)
    ;({ sessionId } = store)
    await store.put('/e', '', -1, { ephemeral: true })
    const before = store.metrics()
    await Promise.all([store.put('/a/b', ''), store.put('/c', '')])
    await t.rejects(store.put('/c', '', 7))
    const { groups, commits, events, feedBytes, refusedCalls, ...now } = store.metrics()
    t.equal(groups - before.groups, 1, 'groups')
    t.equal(commits - before.commits, 2, 'commits')
    t.equal(events - before.events, 3, 'two records, and a parent with a new child')
    t.ok(feedBytes > before.feedBytes, 'bytes of the feed')
    t.equal(refusedCalls, 1, 'refused calls')
    t.ok(now.writeMilliseconds > before.writeMilliseconds, 'time')
    const { failedGroups, waitingCalls, isInDoubt, sessions } = now
    t.same([failedGroups, waitingCalls, isInDoubt, sessions], [0, 0, false, 1])
  }
  const again: MetadataStore = await metadataStoreOf(database)
  t.notOk(await again.exists('/e'), 'the session was closed')
  t.not(again.sessionId, sessionId, 'each handle has a session, in the type of every store')
  await again.close()
  await database.close()
})
