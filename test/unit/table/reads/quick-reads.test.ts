/** Awaited reads take missing blocks at once while that is quick, and never if it is forbidden. */
import t from 'tap'
import { ContentFile } from '../../../../src/storage/fs/content.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import { TestDatabase } from '../../../helpers/test-database.js'

for (const quickReads of [true, false]) {
  void t.test(`gets and scans that miss the cache, quickReads ${quickReads}`, async (t) => {
    // Reads through another thread, in a file system without threads.
    const { read } = ContentFile.prototype as {
      read: (this: ContentFile, ...args: never) => unknown
    }
    const reads = t.capture(ContentFile.prototype, 'read', read as never)
    const options = { quickReads, blockCacheBytesMax: 0 }
    const test = await TestDatabase.open({ fileSystem: new MemoryFileSystem(), options })
    const table = await test.database.createTable('t', { families: { f: { blockBytes: 1024 } } })
    for (let i = 0; i < 500; i++) await table.put({ row: `r${i}`, cells: { 'f:a': `value ${i}` } })
    await test.flush()
    reads()
    await table.get({ row: 'r77' })
    const awaited = reads().length
    t.equal(awaited, quickReads ? 0 : 1, 'reads of the first get that went through another thread')
    for (let i = 0; i < 500; i++) {
      const value = (await table.get({ row: `r${i}` })).value('f:a')
      if (value?.toString() !== `value ${i}`) t.fail(`row ${i}`)
    }
    let rows = 0
    for await (const result of table.scan({})) rows += result.size
    t.equal(rows, 500)
    if (!quickReads) t.ok(reads().length + awaited > 50)
    await test.close()
  })
}
