/** The view that a read-only open reads does not change beside a writer. */
import t from 'tap'
import { freezeDirectory } from '../../../../../src/storage/engine/catalog/frozen-directory.js'
import { MemoryFileSystem, type FileSystem } from '../../../../../src/entries/index.js'
import { TestDatabase } from '../../../../helpers/test-database.js'

function contentOf(fileSystem: FileSystem, directory: string): Record<string, string> {
  const content: Record<string, string> = {}
  for (const name of fileSystem.listSync(directory)) {
    const file = fileSystem.openSync(fileSystem.join(directory, name), 'read')
    const bytes = Buffer.alloc(file.sizeSync())
    content[name] = bytes.toString('hex', 0, file.readSync(bytes, 0, bytes.length, 0))
    file.closeSync()
  }
  return content
}

void t.test('what a writer appends, flushes and removes is not in the view', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const test = await TestDatabase.open({ fileSystem })
  const { database, directory } = test
  const table = await database.createTable('t', { families: { f: {} } })
  const put = (row: string): Promise<unknown> => table.put({ row, cells: { 'f:q': row } })
  await put('flushed')
  await test.flush()
  await put('logged')
  const view = await freezeDirectory(fileSystem, directory)
  const before = contentOf(view, directory)
  t.ok(Object.keys(before).some((name) => name.endsWith('.log')))
  await put('later')
  t.same(contentOf(view, directory), before, 'a put')
  await test.flush()
  await database.compact()
  t.same(contentOf(view, directory), before, 'a flush and a compaction')
  view.closeSync()
  await test.close()
})
