/**
 * The first reads of a new SSTable find its blocks in the cache, where its job has left them.
 *
 * @runs long
 */
import t from 'tap'
import { TestDatabase } from '../../../helpers/test-database.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import type { EmbeddedTable } from '../../../../src/entries/index.js'

const rowCount = 2000

function load(table: EmbeddedTable, version: number): void {
  for (let i = 0; i < rowCount; i++) {
    table.putSync({ row: `r${i}`, cells: { 'f:a': `${version}.${i}`, 'f:b': 'v'.repeat(50) } })
  }
}

function count(table: EmbeddedTable, version: number): number {
  let right = 0
  for (let i = 0; i < rowCount; i++) {
    right +=
      table
        .getSync({ row: `r${i}` })
        .value('f:a')
        ?.toString() === `${version}.${i}`
        ? 1
        : 0
  }
  return right
}

for (const executor of ['inline', 'worker'] as const) {
  void t.test(`blocks of flushes and compactions, executor ${executor}`, async (t) => {
    const fileSystem = new NodeFileSystem()
    const options = { executor, blockCacheBytesMax: 16 << 20, compactionEnabled: false }
    const test = await TestDatabase.open({ options, fileSystem, directory: t.testdir() })
    const table = await test.database.createTable('t', { families: { f: {}, g: {} } })
    for (let version = 0; version < 3; version++) {
      load(table, version)
      await test.flush()
      t.equal(count(table, version), rowCount)
      const { blocksRead, blockCache } = test.database.statistics()
      t.same([blocksRead, blockCache.misses], [0, 0], 'nothing is read from the file')
    }
    await test.compact(true)
    t.equal(count(table, 2), rowCount)
    t.equal(table.scanSync({ cacheBlocks: false }).nextBatch(rowCount).length, rowCount)
    t.same(test.database.statistics().blocksRead, 0, 'nor from the output of the compaction')
    const { bytesUsed } = test.database.statistics().blockCache
    await test.reopen()
    t.ok(bytesUsed > 300_000, 'the cache counts the blocks')
    t.equal(count(test.database.table('t'), 2), rowCount)
    t.ok(test.database.statistics().blocksRead > 10, 'the file has the same content')
    await test.close()
  })
}

void t.test('a family without a block cache, and a cache without room, keep none', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 4 << 20 } })
  const table = await test.database.createTable('t', { families: { f: { blockCache: false } } })
  load(table, 0)
  await test.flush()
  t.equal(test.database.statistics().blockCache.bytesUsed, 0)
  t.equal(count(table, 0), rowCount)
  await test.close()
  const bare = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  const other = await bare.database.createTable('t', { families: { f: {} } })
  load(other, 0)
  await bare.flush()
  t.equal(bare.database.statistics().blockCache.bytesUsed, 0)
  t.equal(count(other, 0), rowCount)
  await bare.close()
})
