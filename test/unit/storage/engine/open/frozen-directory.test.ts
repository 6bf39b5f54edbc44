/** The view that a read-only open reads does not change beside a writer. */
import t from 'tap'
import { freezeDirectory } from '../../../../../src/storage/engine/catalog/frozen-directory.js'
import { MemoryFileSystem, type FileSystem } from '../../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import { withMembers } from '../../../../helpers/planted.js'
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

void t.test('a view that fails at any call leaves no file open', async (t) => {
  const memory = new MemoryFileSystem()
  const test = await TestDatabase.open({ fileSystem: memory })
  const { database, directory } = test
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:q': 'v' } })
  await test.flush()
  let open = 0
  const counted = withMembers<FileSystem>(memory, {
    openSync: (path, mode) => {
      const file = memory.openSync(path, mode)
      open++
      return withMembers(file, { closeSync: () => void (open--, file.closeSync()) })
    },
  })
  const faulty = new FaultyFileSystem(counted)
  for (let failAt = 1, failures = 1; failures > 0; failAt++) {
    faulty.arm({ failAt, errno: 'EIO', only: ({ kind }) => kind !== 'close' })
    const view = await freezeDirectory(faulty, directory).catch(() => undefined)
    failures = faulty.failures
    view?.closeSync()
    t.equal(open, 0, `call ${failAt}`)
  }
  await test.close()
})
