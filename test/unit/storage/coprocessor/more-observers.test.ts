/** Observers between the reading of a row and its change, of retention rules, and of bulk loads. */
import t from 'tap'
import {
  BulkWriter,
  Database,
  MemoryFileSystem,
  type Observer,
} from '../../../../src/entries/index.js'
import { executors, quiet } from './support.js'

for (const cacheBytes of [0, 1 << 20]) {
  void t.test(`an increment is observed when its row is there, cache ${cacheBytes}`, async (t) => {
    const calls: unknown[] = []
    const observer: Observer = {
      preIncrement: () => void calls.push('pre'),
      preIncrementAfterRowLock: ({ table }, { row }) => {
        calls.push(table.getSync({ row }).value('f:n')?.readBigInt64BE(0))
      },
      preBatchMutate: () => void calls.push('batch'),
      postIncrement: (_, { row }, result) => {
        calls.push(`${String(row)}: ${result.value('f:n')?.readBigInt64BE(0)}`)
      },
    }
    const database = await Database.open('/db', {
      ...quiet,
      executor: 'inline',
      blockCacheBytesMax: cacheBytes,
      fileSystem: new MemoryFileSystem(),
    })
    const table = await database.createTable('t', { families: { f: {} } })
    await table.increment({ row: 'r', columns: { 'f:n': 5 } })
    await database.flush()
    await database.registerCoprocessor({ name: 'observer', observer })
    await table.increment({ row: 'r', columns: { 'f:n': 2 } })
    t.same(calls, ['pre', 5n, 'batch', 'r: 7'], 'each once, and nothing came in between')
    table.incrementSync({ row: 'r', columns: { 'f:n': 1 } })
    t.same(calls.slice(4), ['pre', 7n, 'batch', 'r: 8'])
    await t.rejects(table.increment({ row: 'r', columns: { 'g:n': 1 } }), /'g'/)
    t.same(calls.slice(8), ['pre'], 'a mistake is found first')
    await database.close()
  })
}

void t.test(
  'an observer takes the place of an increment or append whose row is read',
  async (t) => {
    let mutations = 0
    const observer: Observer = {
      preIncrementAfterRowLock: (context, { row }) =>
        context.bypass(context.table.getSync({ row, columns: ['f:a'] })),
      preAppendAfterRowLock: (context, { row }) => context.bypass(context.table.getSync({ row })),
      preBatchMutate: () => void mutations++,
      postIncrement: () => void mutations++,
      postAppend: () => void mutations++,
    }
    const database = await Database.open('/db', { ...quiet, fileSystem: new MemoryFileSystem() })
    const table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:a': 'text' } })
    const registration = await database.registerCoprocessor({ name: 'observer', observer })
    const incremented = await table.increment({ row: 'r', columns: { 'f:n': 1 } })
    t.equal(incremented.value('f:a')?.toString(), 'text')
    const appended = await table.append({ row: 'r', columns: { 'f:a': '+' } })
    t.equal(appended.value('f:a')?.toString(), 'text')
    t.equal(mutations, 0)
    registration.remove()
    t.equal(table.getSync({ row: 'r' }).value('f:a')?.toString(), 'text')
    t.notOk(table.existsSync({ row: 'r', columns: ['f:n'] }))
    await database.close()
  },
)

for (const executor of executors()) {
  void t.test(`observers change what flushes and compactions keep, ${executor}`, async (t) => {
    let versions = 2
    const observer: Observer = {
      preFlushScannerOpen: (job, retention) => {
        t.same([job.kind, retention.versions], ['flush', 5])
        retention.versions = versions
      },
      preCompactScannerOpen: (job, retention) => {
        t.same([job.kind, retention.versions], ['major', 5])
        retention.versions = versions
      },
    }
    const database = await Database.open(t.testdir(), { ...quiet, executor })
    const table = await database.createTable('t', { families: { f: { versions: 5 } } })
    const registration = await database.registerCoprocessor({ name: 'fewer', observer })
    const values = (): (string | undefined)[] =>
      table
        .getSync({ row: 'r', versions: 'all' })
        .cells()
        .map((cell) => cell.value.toString())
    const write = async (letters: string): Promise<void> => {
      for (const letter of letters) await table.put({ row: 'r', cells: { 'f:a': letter } })
    }
    await write('abc')
    await database.flush()
    t.same(values(), ['c', 'b'])
    await write('de')
    const snapshot = database.snapshot()
    await write('f')
    versions = 1
    await database.flush()
    const seen = table.getSync({ row: 'r', snapshot }).value('f:a')
    t.equal(seen?.toString(), 'e', 'a snapshot keeps what it sees')
    snapshot.close()
    await database.compact('t')
    t.same(values(), ['f'])
    versions = 0
    await write('g')
    await t.rejects(database.flush(), { code: 'ERR_COPROCESSOR' })
    t.same(values(), ['g', 'f'], 'nothing is lost')
    registration.remove()
    await database.flush()
    t.same(values(), ['g', 'f'])
    await database.close()
  })
}

void t.test('an observer may keep the markers of one compaction', async (t) => {
  let kept = 1_000_000
  const preCompactScannerOpen: Observer['preCompactScannerOpen'] = (_job, retention) => {
    t.equal(retention.timeToPurgeDeletesMilliseconds, 0)
    retention.timeToPurgeDeletesMilliseconds = kept
  }
  const database = await Database.open(t.testdir(), { ...quiet, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  await database.registerCoprocessor({ name: 'keeps', observer: { preCompactScannerOpen } })
  await table.delete({ row: 'r' })
  await database.flush()
  const markers = (): number => [...table.scanSync({ raw: true })].length
  await database.compact('t')
  t.equal(markers(), 1)
  kept = -1
  await t.rejects(database.compact('t'), { code: 'ERR_COPROCESSOR' })
  kept = 0
  await database.compact('t')
  t.equal(markers(), 0)
  await database.close()
})

void t.test('observers are told of bulk loads and may refuse them', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const families = { f: {} }
  const writer = await BulkWriter.create('/bulk', { families, fileSystem })
  writer.add({ row: 'r', cells: { 'f:a': '1' } })
  writer.finish()
  const database = await Database.open('/db', { ...quiet, executor: 'inline', fileSystem })
  const table = await database.createTable('t', { families })
  const calls: unknown[] = []
  let refuses = true
  const observer: Observer = {
    preBulkLoad: (_, directories) => {
      calls.push(['pre', ...directories])
      if (refuses) throw new Error('not here')
    },
    postBulkLoad: (context, directories) => {
      calls.push(['post', ...directories, context.table.existsSync({ row: 'r' })])
    },
  }
  await database.registerCoprocessor({ name: 'observer', observer })
  await t.rejects(database.admin.bulkLoad('t', '/bulk'), { code: 'ERR_COPROCESSOR' })
  t.notOk(table.existsSync({ row: 'r' }))
  refuses = false
  await database.admin.bulkLoad('t', '/bulk')
  t.same(calls, [
    ['pre', '/bulk'],
    ['pre', '/bulk'],
    ['post', '/bulk', true],
  ])
  await database.close()
})

void t.test('no table gets two coprocessors of one name, also if it comes later', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const refused = { code: 'ERR_INVALID_ARGUMENT', message: /coprocessor 'one' is registered/ }
  const one = { name: 'one', observer: {} }
  const ofA = { ...one, tables: ['a'] }
  for (const coprocessors of [
    [one, one],
    [one, ofA],
    [ofA, one],
    [ofA, ofA],
  ]) {
    await t.rejects(Database.open('/db', { ...quiet, coprocessors, fileSystem }), refused)
  }
  const coprocessors = [ofA, { ...one, tables: ['b'] }, { name: 'two', observer: {} }]
  const database = await Database.open('/db', { ...quiet, coprocessors, fileSystem })
  const registration = await database.registerCoprocessor({ ...one, tables: ['c'] })
  await t.rejects(database.registerCoprocessor({ ...one, tables: ['d', 'c'] }), refused)
  registration.remove()
  await database.registerCoprocessor({ ...one, tables: ['d', 'c'] })
  await database.createTable('c', { families: { f: {} } })
  await database.close()
})
