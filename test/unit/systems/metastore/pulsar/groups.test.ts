/**
 * Commits that share a group, and those that are larger than one: each call has its own answer.
 *
 * @runs long
 */
import t from 'tap'
import { CellarError, ErrorCode, type AtomicBatch } from '../../../../../src/api/index.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import { Database } from '../../../../../src/entries/index.js'
import {
  MetadataErrorCode,
  metadataStoreOf,
  type BatchOperation,
  type CellarMetadataStore,
  type FeedCommit,
  type MetadataStoreConfiguration,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { lengthOf } from '../../../../helpers/length.js'
import {
  limitsForTests,
  type CoreLimits,
} from '../../../../../src/systems/metastore/pulsar/store/store-core.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

interface Opened {
  readonly database: Database
  readonly open: (configuration?: MetadataStoreConfiguration) => Promise<CellarMetadataStore>
}

/** A database whose store has limits of its own. */
async function opened(
  limits: Partial<CoreLimits> = {},
  options: { cellBytesMax?: number; fileSystem?: SimulatedDisk } = {},
): Promise<Opened> {
  const { fileSystem = new SimulatedDisk(), ...others } = options
  const database = await Database.open('/database', { fileSystem, executor: 'inline', ...others })
  limitsForTests.set(database, limits)
  return { database, open: (configuration) => metadataStoreOf(database, configuration) }
}

/** `OK`, or the code of the error. */
function answer(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'OK',
    (error: { code?: string }) => error.code ?? 'no code',
  )
}

async function feed(store: CellarMetadataStore, from: number, last: number): Promise<FeedCommit[]> {
  const commits: FeedCommit[] = []
  for await (const commit of store.subscribe({ fromSequence: from })) {
    commits.push(commit)
    if (commit.sequence >= last) break
  }
  return commits
}

void t.test('a put that the database refuses is refused alone', async (t) => {
  const { database, open } = await opened()
  const [one, two] = [await open(), await open()]
  const answers = await Promise.all([
    answer(one.put('/ok', '')),
    answer(one.put('/big', Buffer.alloc(11 * 1024 * 1024))),
    answer(two.put('/nope', 'x', 7)),
    answer(two.put('/big', 'small', -1)),
    answer(one.put('/ok', '', 0)),
    answer(two.delete('/missing')),
    answer(two.put('/huge', Buffer.alloc(11 * 1024 * 1024))),
    answer(two.put('/huge', 'small')),
  ])
  const { badVersion, invalidArgument, notFound } = MetadataErrorCode
  const expected = ['OK', invalidArgument, badVersion, 'OK', 'OK', notFound, invalidArgument, 'OK']
  t.same(answers, expected)
  t.equal((await one.get('/big'))?.value.toString(), 'small')
  t.equal((await one.get('/huge'))?.value.toString(), 'small')
  await one.close()
  await two.close()
  await database.close()
})

void t.test('a put that only the database can refuse is refused alone', async (t) => {
  const { database, open } = await opened()
  const store = await open()
  const atomic = database.atomic.bind(database)
  database.atomic = (batch) => {
    const { mutations } = batch as AtomicBatch
    const isVetoed = mutations.some(({ row }) => String(row).includes('veto'))
    if (isVetoed) throw new CellarError(ErrorCode.coprocessor, 'an observer refuses the row')
    return atomic(batch)
  }
  const answers = await Promise.all([
    answer(store.put('/a', '')),
    answer(store.put('/veto', '')),
    answer(store.put('/a', 'x', 0)),
    answer(store.put('/b', '', 7)),
    answer(store.put('/veto/below', '')),
    answer(store.put('/b', '', -1)),
  ])
  const { badVersion, storeFailure } = MetadataErrorCode
  t.same(answers, ['OK', storeFailure, 'OK', badVersion, storeFailure, 'OK'])
  t.equal((await store.get('/a'))?.stat.version, 1)
  t.equal(store.metrics().refusedCalls, 1)
  await store.close()
  await database.close()
})

void t.test('rows that would be too long are refused while the group is planned', async (t) => {
  const { database, open } = await opened()
  const store = await open()
  let batches = 0
  const atomic = database.atomic.bind(database)
  database.atomic = (batch) => {
    batches++
    return atomic(batch)
  }
  const long = `/${'n'.repeat(31_998)}`
  const indexed = { secondaryIndexes: { name: 'k'.repeat(7_000) } }
  const answers = await Promise.all([
    answer(store.put('/ok', '')),
    answer(store.put(long, '', undefined, { sequential: true })),
    answer(store.put(long, '', undefined, { sequenceKeysDeltas: [1] })),
    answer(store.put(`/${'p'.repeat(26_000)}`, '', undefined, indexed)),
    answer(store.put('/indexed', '', undefined, indexed)),
    answer(store.put(long.slice(0, 31_990), '', undefined, { sequential: true })),
  ])
  const { invalidArgument, invalidPath } = MetadataErrorCode
  t.same(answers, ['OK', invalidPath, invalidPath, invalidArgument, 'OK', 'OK'])
  t.equal(batches, 1, 'the others share one commit')
  await store.close()
  await database.close()
})

void t.test('arguments that are broken or change during a call hurt nobody else', async (t) => {
  const { database, open } = await opened()
  const store = await open()
  const thrown: unknown = Object.create(null)
  const getter = {
    get put(): string {
      throw thrown
    },
    value: '',
  }
  let reads = 0
  const changing = {
    get put() {
      return reads++ === 0 ? '/changing' : 'no path'
    },
    value: '',
  }
  const proxy = new Proxy(
    {},
    {
      has: () => {
        throw new Error('has')
      },
    },
  )
  const broken: readonly (() => Promise<unknown>)[] = [
    () => store.batch(new Array<BatchOperation>(2)),
    () => store.batch([{ put: '/a', value: '' }, , { put: '/b', value: '' }] as BatchOperation[]),
    () => store.batch([getter]),
    () => store.batch([proxy as BatchOperation]),
    () => store.batch([{ put: '/a', value: '', ephemral: true } as BatchOperation]),
    () => store.batch([{ put: '/a', delete: '/b', value: '' }]),
    () => store.batch([{ check: '/a', expected: -1, value: '' }]),
    () => store.put('/a', '', undefined, { sequenceKeysDeltas: [1, , 2] as number[] }),
    () =>
      store.put('/a', '', {
        get sequence(): number {
          throw thrown
        },
      }),
    () => store.delete('/a', proxy as never),
    () => store.put('/a', '', undefined, { secondaryIndexes: getter }),
    () => store.scanByIndex({ prefix: '/', index: 'i', form: 'a' } as never).next(),
    () => store.scanByIndex(null as never).next(),
    () => store.scanByIndex(getter as never).next(),
    () => store.subscribe({ formSequence: 1 } as never).next(),
    () => store.subscribe({ signal: {} as AbortSignal }).next(),
  ]
  for (const call of broken) {
    t.equal(await answer(call()), MetadataErrorCode.invalidArgument, call.toString())
    t.equal(await answer(store.put('/later', '')), 'OK', 'the next write is answered')
  }
  t.notOk(await store.exists('/a'), 'nothing was written')
  t.equal(await answer(store.batch([changing])), 'OK', 'each property is read once')
  t.ok(await store.exists('/changing'))
  const expected = { sequence: (await store.get('/later'))!.stat.sequence }
  const secondaryIndexes: Record<string, string> = { i: 'k' }
  const bytes = Buffer.from('mine')
  const deltas = [1]
  const calls = [
    store.put('/later', bytes, expected, { secondaryIndexes }),
    store.batch([{ put: '/other', value: bytes, expected: -1, secondaryIndexes }]),
    store.put('/numbers', bytes, undefined, { sequenceKeysDeltas: deltas }),
  ]
  expected.sequence = 0
  secondaryIndexes.i = 'changed'
  bytes.fill('x')
  deltas[0] = 5
  t.same(
    (await Promise.allSettled(calls)).map(({ status }) => status),
    calls.map(() => 'fulfilled'),
  )
  const scan = { prefix: '/', index: 'i', from: 'k', to: 'k' }
  const records = store.scanByIndex(scan)
  scan.from = 'z'
  const found: string[] = []
  for await (const { stat, value } of records) found.push(`${stat.path} ${value.toString()}`)
  t.same(found, ['/later mine', '/other mine'], 'all arguments count as of the call')
  t.ok(await store.exists('/numbers-00000000000000000001'))
  await store.close()
  await database.close()
})

void t.test('a feed shows what is committed from the call on', async (t) => {
  const { database, open } = await opened()
  const store = await open()
  await store.put('/before', '')
  const commits = store.subscribe()
  await store.put('/after', '')
  const { value } = await commits.next()
  t.same(value?.events, [{ type: 'Created', path: '/after' }])
  await store.close()
  await database.close()
})

const longPath = (i: number): string => `/${'topic'.repeat(20)}-${i}`

void t.test(
  'sessions and trees of any size end, in rows and commits of bounded size',
  async (t) => {
    const limits = { commitBytesMax: 20_000, feedRowBytesMax: 2_000, groupBytesMax: 30_000 }
    const { database, open } = await opened(limits)
    const store = await open()
    const dying = await open()
    const count = 300
    const records = Array.from({ length: count }, (_, i) => i)
    await Promise.all(records.map((i) => store.put(`/tree/${i % 7}${longPath(i)}/leaf`, String(i))))
    await Promise.all(
      records.map((i) => dying.put(`/locks${longPath(i)}`, '', -1, { ephemeral: true })),
    )
    const from = store.sequence + 1
    const deleting = store.deleteRecursive('/tree')
    const later = store.put('/tree/3/again', 'new')
    await Promise.all([deleting, later])
    t.same(await store.getChildren('/tree'), ['3'], 'only what was written later is there')
    t.same(await store.getChildren('/tree/3'), ['again'])
    await dying.close()
    t.same(await store.getChildren('/locks'), [], 'the session ended')
    const commits = await feed(store, from, store.sequence)
    const deleted = commits.flatMap(({ events }) => events.filter(({ type }) => type === 'Deleted'))
    t.equal(new Set(deleted.map(({ path }) => path)).size, 2 * count, 'all are told')
    t.equal(deleted.length, 2 * count, 'each once')
    t.ok(commits.length > 8, `${commits.length} commits`)
    for await (const result of database.table('pulsar.feed').scan()) {
      const { length } = result.value('n:')!
      if (length > 2_000) t.fail(`a row of the feed has ${length} bytes`)
    }
    await store.close()
    // From the table, as nothing is in memory.
    const again = await open()
    t.same(
      await feed(again, from, commits.at(-1)!.sequence),
      commits,
      'the stored feed is the same',
    )
    await again.close()
    await database.close()
  },
)

/** As many topics as a broker may have. */
const topics = lengthOf('CELLAR_METADATA_TOPICS', 2_000, 90_000)

void t.test(`${topics} topics and locks with long paths go in one commit`, async (t) => {
  const { database, open } = await opened()
  const store = await open()
  const dying = await open()
  const name = (i: number): string => `${'t'.repeat(100)}-${String(i).padStart(12, '0')}`
  for (let from = 0; from < topics; from += 5_000) {
    const puts: Promise<unknown>[] = []
    for (let i = from; i < Math.min(topics, from + 5_000); i++) {
      puts.push(store.put(`/topics/${name(i)}`, ''))
      puts.push(dying.put(`/locks/${name(i)}`, '', -1, { ephemeral: true }))
    }
    await Promise.all(puts)
  }
  const from = store.sequence + 1
  await store.deleteRecursive('/topics')
  await dying.close()
  t.same(await store.getChildren('/'), [], 'all are gone')
  const commits = await feed(store, from, store.sequence)
  const deleted = ({ events }: FeedCommit): number =>
    events.filter(({ type }) => type === 'Deleted').length
  t.same(commits.map(deleted), [topics, topics], 'two commits')
  await store.close()
  await database.close()
})

void t.test('a commit that fills many rows of the feed is told as one', async (t) => {
  const fileSystem = new SimulatedDisk()
  const { database, open } = await opened({ feedRowBytesMax: 1_000 }, { fileSystem })
  let store = await open()
  const from = store.sequence + 1
  const step = (i: number): BatchOperation => ({ put: `/b${longPath(i)}`, value: '' })
  await Promise.all([
    store.put('/first', ''),
    store.batch(Array.from({ length: 100 }, (_, i) => step(i))),
    store.put('/second', ''),
    store.batch(Array.from({ length: 30 }, (_, i) => ({ delete: `/b${longPath(i)}` }))),
    store.put('/third', ''),
  ])
  const last = store.sequence
  const commits = await feed(store, from, last)
  t.same(
    commits.map(({ events }) => events.filter(({ type }) => type !== 'ChildrenChanged').length),
    [1, 100, 1, 30, 1],
  )
  for (const reader of ['memory', 'table']) {
    if (reader === 'table') {
      await store.close()
      store = await open()
    }
    for (let start = from; start <= last; start++) {
      const wanted = commits.filter(({ sequence }) => sequence >= start)
      t.same(await feed(store, start, last), wanted, `${reader}, from ${start}`)
    }
  }
  await store.close()
  await database.close()
})

void t.test('a session whose end was cut short ends when the store is opened again', async (t) => {
  const fileSystem = new SimulatedDisk()
  const { database, open } = await opened({ commitBytesMax: 5_000 }, { fileSystem })
  const dying = await open()
  const paths = Array.from({ length: 60 }, (_, i) => `/e${longPath(i)}`)
  await Promise.all(paths.map((path) => dying.put(path, '', -1, { ephemeral: true })))
  const { sessionId } = dying
  const atomic = database.atomic.bind(database)
  let left = 2
  database.atomic = (batch) =>
    left-- > 0 ? atomic(batch) : Promise.reject(new Error('the process dies'))
  await t.rejects(dying.close())
  database.atomic = atomic
  const image = fileSystem.crash('keepAll', () => 0)
  const again = await Database.open('/database', { fileSystem: image, executor: 'inline' })
  const store = await metadataStoreOf(again)
  await t.rejects(metadataStoreOf(again, { sessionId }), { code: MetadataErrorCode.sessionLost })
  await turns()
  t.same(await store.getChildren('/e'), [], 'the rest is removed at once')
  await store.close()
  await again.close()
  await database.close().catch(() => undefined)
})
