/**
 * Options of families and tables: what they do, what is refused, and that an alteration counts.
 *
 * @runs long
 */
import * as zlib from 'node:zlib'
import t from 'tap'
import type { FamilyOptions, Get, Scan, TableOptions } from '../../../../src/entries/index.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { callsOf, type CallForm } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const forms: readonly CallForm[] = ['sync', 'async']

function numbered(prefix: string, i: number): string {
  return `${prefix}${String(i).padStart(5, '0')}`
}

async function openWith(family: FamilyOptions, cacheBytes = 1024 * 1024): Promise<TestDatabase> {
  const options = { blockCacheBytesMax: cacheBytes, memtableBytesMax: 64 * 1024 * 1024 }
  const test = await TestDatabase.open({ options })
  await test.database.createTable('table', { families: { f: family } })
  return test
}

async function load(test: TestDatabase, prefix: string, count: number): Promise<void> {
  const table = test.database.table('table')
  for (let i = 0; i < count; i++) {
    table.putSync({ row: numbered(prefix, i), cells: { 'f:q': `${i}`.repeat(20) } })
  }
  await test.flush()
}

async function show(test: TestDatabase, scan: Scan): Promise<string[]> {
  const found = await callsOf(test.database.table('table'), 'sync').scan(scan)
  return found.map((result) => showResult(plainResult(result)))
}

void t.test('a filter of row prefixes serves gets and scans, and hides nothing', async (t) => {
  const rows = ['a', 'ab', 'abc', 'ab\0', 'ab\0\0', 'ab\0x', 'b', 'bc\xff', 'bd', 'c\0\0', 'cc']
  const other = ['aa', 'ba', 'cb', 'cd']
  const plain = await openWith({ bloomFilter: 'NONE' })
  const filtered = await openWith({ bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 3 })
  for (const test of [plain, filtered]) {
    for (const file of [rows.slice(0, 5), rows.slice(5), other]) {
      for (const row of file) test.database.table('table').putSync({ row, cells: { 'f:q': row } })
      await test.flush()
    }
  }
  const bounds = [...rows, ...other, 'abd', 'ac', 'bc', 'd', 'ab\0y']
  const scans: Scan[] = bounds.flatMap((startRow): Scan[] => [
    { prefix: startRow },
    { prefix: startRow, reversed: true },
    ...bounds.map((stopRow) => ({ startRow, stopRow, stopInclusive: true })),
    ...bounds.map((stopRow) => ({ startRow, stopRow, startInclusive: false, reversed: true })),
  ])
  for (const scan of scans) {
    t.same(await show(filtered, scan), await show(plain, scan), JSON.stringify(scan))
  }
  for (const row of bounds) {
    const get = (test: TestDatabase): unknown => test.database.table('table').getSync({ row }).size
    t.equal(get(filtered), get(plain))
  }
  await plain.close()
  await filtered.close()
})

void t.test('a scan of a prefix reads no block of a file without it', async (t) => {
  const test = await openWith({ bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 2 }, 0)
  const table = test.database.table('table')
  for (const prefix of ['aa', 'ab', 'ac']) {
    table.putSync({ row: 'A', cells: { 'f:q': 'low' } })
    table.putSync({ row: 'z', cells: { 'f:q': 'high' } })
    await load(test, prefix, 100)
  }
  const before = test.database.statistics().blocksRead
  t.equal([...table.scanSync({ prefix: 'ad' })].length, 0)
  t.equal(test.database.statistics().blocksRead, before, 'in no file')
  t.equal([...table.scanSync({ prefix: 'ab' })].length, 100)
  t.equal([...table.scanSync({ prefix: 'ab', reversed: true })].length, 100)
  t.ok(test.database.statistics().filterNegatives >= 7)
  await test.close()
})

void t.test('a scan reads no block of a file outside of its bounds', async (t) => {
  const test = await openWith({ bloomFilter: 'NONE' }, 0)
  for (const prefix of ['a', 'b', 'c']) await load(test, prefix, 10)
  const before = test.database.statistics().blocksRead
  const table = test.database.table('table')
  t.equal([...table.scanSync({ startRow: 'b', stopRow: 'c' })].length, 10)
  t.equal(test.database.statistics().blocksRead - before, 1)
  t.equal([...table.scanSync({ startRow: 'c', stopRow: 'b', reversed: true })].length, 10)
  t.equal(test.database.statistics().blocksRead - before, 2, 'a scan keeps no block')
  await test.close()
})

for (const form of forms) {
  void t.test(`reads of a family without block cache leave nothing in it (${form})`, async (t) => {
    const test = await openWith({ blockCache: false, blockBytes: 1024 })
    await load(test, 'r', 500)
    const calls = callsOf(test.database.table('table'), form)
    t.equal((await calls.get({ row: 'r00100' })).size, 1)
    t.equal((await calls.scan()).length, 500)
    t.equal((await calls.scan({ reversed: true })).length, 500)
    t.equal(test.database.statistics().blockCache.bytesUsed, 0)
    await test.database.alterTable('table', { families: { f: { blockCache: true } } })
    t.equal((await callsOf(test.database.table('table'), form).scan()).length, 500)
    t.ok(test.database.statistics().blockCache.bytesUsed > 0, 'the alteration counts at once')
    await test.close()
  })

  void t.test(`a read with cacheBlocks false leaves nothing in the cache (${form})`, async (t) => {
    const test = await openWith({ blockBytes: 1024 })
    await load(test, 'r', 500)
    // What the flush has left in the cache is gone then.
    await test.reopen()
    const calls = callsOf(test.database.table('table'), form)
    t.equal((await calls.get({ row: 'r00100', cacheBlocks: false })).size, 1)
    t.equal((await calls.scan({ cacheBlocks: false })).length, 500)
    t.equal(test.database.statistics().blockCache.bytesUsed, 0)
    await test.close()
  })
}

void t.test('blocks of a family in memory outlast scans of another', async (t) => {
  const hotBlocksRead = async (inMemory: boolean): Promise<number> => {
    const options = { blockCacheBytesMax: 64 * 1024, memtableBytesMax: 64 * 1024 * 1024 }
    const test = await TestDatabase.open({ options })
    const cold = { blockBytes: 1024 }
    const families = { cold, hot: { blockBytes: 1024, inMemory } }
    const table = await test.database.createTable('table', { families })
    for (let i = 0; i < 2000; i++) {
      const row = numbered('r', i)
      table.putSync({ row, cells: { 'cold:q': row.repeat(20), 'cold:p': row.repeat(10) } })
      if (i < 200) table.putSync({ row, cells: { 'hot:q': row.repeat(8) } })
    }
    await test.flush()
    const readHot = (): number => [...table.scanSync({ columns: ['hot'] })].length
    const readCold = (): number => [...table.scanSync({ columns: ['cold'] })].length
    readHot()
    readCold()
    const before = test.database.statistics().blocksRead
    readHot()
    const read = test.database.statistics().blocksRead - before
    await test.close()
    return read
  }
  t.equal(await hotBlocksRead(true), 0)
  t.ok((await hotBlocksRead(false)) > 0)
})

void t.test(
  'gets of what is not there read blocks only where the filter is for others',
  async (t) => {
    const kinds: readonly [FamilyOptions, Get, number][] = [
      [{ bloomFilter: 'NONE' }, { row: 'r00007x' }, 1],
      [{ bloomFilter: 'ROW' }, { row: 'r00007x' }, 0],
      [{ bloomFilter: 'ROW' }, { row: 'r00007', columns: ['f:r'] }, 1],
      [{ bloomFilter: 'ROWCOL' }, { row: 'r00007', columns: ['f:r'] }, 0],
      [{ bloomFilter: 'ROWCOL' }, { row: 'r00007', columns: ['f:q'] }, 1],
      [{ bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 3 }, { row: 'r0x' }, 0],
      [{ bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 3 }, { row: 'r00007x' }, 1],
    ]
    for (const [family, get, blocks] of kinds) {
      const test = await openWith(family, 0)
      await load(test, 'r', 20)
      test.database.table('table').putSync({ row: 'r1', cells: { 'f:q': 'behind' } })
      await test.flush()
      const before = test.database.statistics().blocksRead
      test.database.table('table').getSync(get)
      const read = test.database.statistics().blocksRead - before
      t.equal(read, blocks, `${family.bloomFilter} ${JSON.stringify(get)}`)
      await test.close()
    }
  },
)

const hasZstd = 'zstdCompressSync' in zlib

for (const compression of ['NONE', 'LZ4', 'GZ', 'ZSTD'] as const) {
  const skip = compression === 'ZSTD' && !hasZstd && 'the zlib of this Node has no zstd'
  void t.test(`cells come back from files with compression ${compression}`, { skip }, async (t) => {
    const test = await openWith({ compression })
    await load(test, 'r', 300)
    const expected = await show(test, {})
    const bytes = test.database.statistics().tableFileBytes
    await test.reopen()
    t.same(await show(test, {}), expected)
    const { families } = await test.database.alterTable('table', {
      families: { f: { compression: compression === 'NONE' ? 'GZ' : 'NONE' } },
    })
    t.not(families['f'].compression, compression)
    t.same(await show(test, {}), expected, 'files of both codecs side by side')
    await load(test, 's', 1)
    await test.compact(true)
    t.same((await show(test, {})).slice(0, 300), expected)
    const rewritten = test.database.statistics().tableFileBytes
    t.ok(compression === 'NONE' ? rewritten < bytes : rewritten > bytes, 'a major rewrites them')
    await test.close()
  })
}

void t.test('ZSTD is refused at once where zlib lacks it', { skip: hasZstd }, async (t) => {
  const test = await TestDatabase.open()
  const families = { f: { compression: 'ZSTD' as const } }
  await t.rejects(test.database.createTable('table', { families }), {
    code: 'ERR_MISSING_PACKAGE',
  })
  t.same(test.database.listTables(), [])
  await test.database.createTable('table', { families: { f: {} } })
  await t.rejects(test.database.alterTable('table', { families }), { code: 'ERR_MISSING_PACKAGE' })
  t.equal(test.database.describeTable('table').families['f'].compression, 'LZ4')
  await test.close()
})

void t.test('an alteration takes effect on cells that are stored already', async (t) => {
  const test = await openWith({ versions: 5 })
  const { database } = test
  for (const timestamp of [1, 2, 3, 4, 5]) {
    database.table('table').putSync({ row: 'r', cells: { 'f:q': `${timestamp}` }, timestamp })
  }
  await test.flush()
  const versions = (): string[] =>
    database
      .table('table')
      .getSync({ row: 'r', versions: 'all' })
      .cells()
      .map(({ value }) => value.toString())
  const alter = (options: FamilyOptions): Promise<unknown> =>
    database.alterTable('table', { families: { f: options } })
  t.same(versions(), ['5', '4', '3', '2', '1'])
  await alter({ versions: 2 })
  t.same(versions(), ['5', '4'])
  await alter({ versions: 4 })
  t.same(versions(), ['5', '4', '3', '2'], 'nothing was compacted in between')
  test.clock.milliseconds = 6003
  await alter({ ttlMilliseconds: 6000 })
  t.same(versions(), ['5', '4', '3'])
  await alter({ ttlMilliseconds: Infinity, keepDeletedCells: true })
  database.table('table').deleteSync({ row: 'r', timestamp: 4 })
  t.equal(database.table('table').getSync({ row: 'r', timeRange: [0, 4] }).size, 1)
  await alter({ keepDeletedCells: false })
  t.equal(database.table('table').getSync({ row: 'r', timeRange: [0, 4] }).size, 0)
  database.table('table').putSync({ row: 'r', cells: { 'f:q': 'late' }, timestamp: 2 })
  t.same(versions(), ['5'])
  await alter({ newVersionBehavior: true })
  t.same(versions(), ['5', 'late'], 'the marker is older than the put')
  await test.close()
})

for (const newVersionBehavior of [false, true]) {
  const how = newVersionBehavior ? 'in the order of writing' : 'by timestamp'
  void t.test(`a major compaction keeps young markers, which mask ${how}`, async (t) => {
    const test = await openWith({ timeToPurgeDeletesMilliseconds: 10_000, newVersionBehavior })
    const { database, clock } = test
    const table = database.table('table')
    const raw = (): string[] => {
      const cells = [...table.scanSync({ raw: true, versions: 'all' })].flatMap((row) =>
        row.cells(),
      )
      return cells.map(({ type, timestamp }) => `${type}@${timestamp}`)
    }
    const major = async (): Promise<void> => {
      await test.flush()
      await test.compact(true)
    }
    clock.milliseconds = 50_000
    table.putSync({ row: 'r', cells: { 'f:q': 'v' }, timestamp: 41_000 })
    table.deleteSync({ row: 'r', timestamp: 42_000 })
    await major()
    t.same(raw(), ['DeleteFamily@42000'], 'what it masks goes')
    const families = { f: { timeToPurgeDeletesMilliseconds: 8000 } }
    await database.alterTable('table', { families })
    clock.milliseconds = 50_000
    await major()
    t.same(raw(), ['DeleteFamily@42000'], 'exactly so old it stays')
    table.putSync({ row: 'r', cells: { 'f:q': 'late' }, timestamp: 41_500 })
    const seen = table.getSync({ row: 'r' }).value('f:q')?.toString()
    t.equal(seen, newVersionBehavior ? 'late' : undefined)
    clock.milliseconds = 50_001
    await major()
    t.same(raw(), newVersionBehavior ? ['Put@41500'] : [])
    await test.close()
  })
}

void t.test('a table option can ask for smaller memtables', async (t) => {
  const test = await TestDatabase.open({
    options: { memtableBytesMax: 64 * 1024 * 1024, flushBytes: 16 * 1024 * 1024 },
  })
  const families = { f: {} }
  const table = await test.database.createTable('table', { families, flushBytes: 64 * 1024 })
  const flushed = new Promise((resolve) => test.database.once('flush', resolve))
  for (let i = 0; i < 200; i++) table.putSync({ row: `${i}`, cells: { 'f:q': 'x'.repeat(1000) } })
  await flushed
  t.ok(test.database.statistics().flushes >= 1)
  await test.close()
})

void t.test('descriptions have every option, also after a reopen', async (t) => {
  const test = await TestDatabase.open()
  const options: TableOptions = {
    durability: 'FSYNC_WAL',
    readOnly: false,
    flushBytes: 100_000,
    metadata: { owner: 'me' },
    families: {
      f: {
        versions: 7,
        minVersions: 2,
        ttlMilliseconds: 100_000,
        newVersionBehavior: true,
        timeToPurgeDeletesMilliseconds: 1234,
        bloomFilter: 'ROWPREFIX_FIXED_LENGTH',
        rowPrefixBytes: 4,
        blockBytes: 2048,
        compression: 'GZ',
        blockCache: false,
        inMemory: true,
        metadata: { note: 'text' },
      },
    },
  }
  await test.database.createTable('table', options)
  t.match(test.database.describeTable('table'), options)
  await test.reopen()
  t.match(test.database.describeTable('table'), options)
  await test.database.alterTable('table', { metadata: {}, readOnly: true, flushBytes: Infinity })
  await test.reopen()
  const { metadata, readOnly, flushBytes, families } = test.database.describeTable('table')
  t.same([metadata, readOnly, flushBytes], [{}, true, Infinity])
  t.match(families, options.families)
  await test.close()
})

const refused: readonly (readonly [FamilyOptions, RegExp])[] = [
  [{ versions: 0 }, /versions must be an integer from 1/],
  [{ versions: 1, minVersions: 2 }, /minVersions 2 is above versions 1/],
  [{ ttlMilliseconds: 0 }, /ttlMilliseconds must be/],
  [{ ttlMilliseconds: -1000 }, /ttlMilliseconds must be/],
  [{ timeToPurgeDeletesMilliseconds: -1 }, /timeToPurgeDeletesMilliseconds must be/],
  [{ blockBytes: 1023 }, /blockBytes must be/],
  [{ blockBytes: 16 * 1024 * 1024 + 1 }, /blockBytes must be/],
  [{ compression: 'LZO' as 'LZ4' }, /compression must be one of/],
  [{ bloomFilter: 'SOME' as 'ROW' }, /bloomFilter must be one of/],
  [{ bloomFilter: 'ROWPREFIX_FIXED_LENGTH' }, /needs rowPrefixBytes/],
  [{ rowPrefixBytes: 3 }, /and no other, needs rowPrefixBytes/],
  [{ rowPrefixBytes: 40_000 }, /rowPrefixBytes must be/],
  [{ newVersionBehavior: true, keepDeletedCells: true }, /exclude each other/],
  [{ newVersionBehavior: 1 as unknown as boolean }, /newVersionBehavior must be true or false/],
  [{ keepDeletedCells: 'YES' as 'TTL' }, /keepDeletedCells must be/],
  [{ inMemory: 'yes' as unknown as boolean }, /inMemory must be/],
  [{ metadata: { a: 1 as unknown as string } }, /metadata 'a' is no string/],
  [{ metadata: [] as unknown as Record<string, string> }, /metadata must be an object/],
  [{ scope: 1 } as FamilyOptions, /unknown option 'scope' of a column family; it has: versions/],
  [{ mob: 1 as unknown as boolean }, /mob must be true or false/],
  [{ mobThreshold: -1 }, /mobThreshold must be an integer from 0/],
]

void t.test('the checks of the schema refuse what HBase refuses, and change nothing', async (t) => {
  const test = await TestDatabase.open()
  await test.database.createTable('table', { families: { f: {} } })
  const before = test.database.describeTable('table')
  for (const [family, message] of refused) {
    const families = { f: family }
    const error = { code: 'ERR_INVALID_ARGUMENT', message }
    await t.rejects(test.database.createTable('other', { families }), error)
    await t.rejects(test.database.alterTable('table', { families }), error)
  }
  for (const options of [{ flushBytes: 1000 }, { flushBytes: '1' }, { metadata: 'x' }]) {
    const alteration = options as object
    await t.rejects(test.database.alterTable('table', alteration), { code: 'ERR_INVALID_ARGUMENT' })
  }
  await t.rejects(test.database.createTable('other', { families: {} }), /at least one family/)
  t.same(test.database.describeTable('table'), before)
  t.same(test.database.listTables(), ['table'])
  await test.close()
})
