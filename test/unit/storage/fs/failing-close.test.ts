/**
 * Closes that fail: every other file is closed too, a close of a file that was only read fails
 * nothing, and the first error of a step stays the one that is reported.
 */
import t from 'tap'
import { quietly } from '../../../../src/storage/fs/quietly.js'
import { Database } from '../../../../src/entries/index.js'
import { copyFile } from '../../../../src/storage/fs/copy-file.js'
import type { DirectoryLock, File, OpenMode } from '../../../../src/storage/fs/types.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

/** Files in memory. The close of those opened in `modes` fails while `fails` is set. */
class FailingCloses extends SimulatedDisk {
  readonly modes: readonly OpenMode[]
  fails = false
  failures = 0
  readonly opened = new Set<File>()

  constructor(modes: readonly OpenMode[]) {
    super()
    this.modes = modes
  }

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    this.opened.add(file)
    const close = file.closeSync.bind(file)
    file.closeSync = () => {
      if (!this.opened.delete(file)) return
      close()
      if (!this.fails || !this.modes.includes(mode)) return
      this.failures++
      throw new Error(`close of ${path}`)
    }
    return file
  }
}

void t.test('jobs and a close of the database do without closes of read files', async (t) => {
  const fileSystem = new FailingCloses(['read'])
  const options = { fileSystem, executor: 'inline' as const, compactionEnabled: false }
  const database = await Database.open('/db', options)
  const families = { f: { mob: true, mobThreshold: 100 } }
  const table = await database.createTable('t', { families })
  for (let i = 0; i < 4; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:v': String(i).repeat(200) } })
    await database.flush()
  }
  fileSystem.fails = true
  await database.compact('t', { major: true })
  t.ok(fileSystem.failures >= 4, 'the closes of the inputs failed')
  t.equal(table.getSync({ row: 'r3' }).value('f:v')?.toString(), '3'.repeat(200))
  await database.close()
  t.strictSame(
    [...fileSystem.opened].map(({ path }) => path),
    [],
    'no file stays open',
  )
})

void t.test('a read-only database closes all files, also after a close that fails', async (t) => {
  const fileSystem = new FailingCloses(['read'])
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 3; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:v': '1' } })
    await database.flush()
  }
  await database.close()
  const reader = await Database.open('/db', { fileSystem, readOnly: true })
  fileSystem.fails = true
  await reader.close()
  t.ok(fileSystem.failures >= 3, 'the closes failed')
  t.strictSame(
    [...fileSystem.opened].map(({ path }) => path),
    [],
    'no file stays open',
  )
})

void t.test('a copy that fails leaves no file, also if its close fails', async (t) => {
  const inner = new FailingCloses(['create', 'read'])
  const source = inner.openSync('/source', 'create')
  source.writeSync(Buffer.from('content'), 0, 7, 0)
  source.closeSync()
  inner.fails = true
  const fileSystem = new FaultyFileSystem(inner)
  fileSystem.arm({ failAt: 1, errno: 'ENOSPC', only: ({ kind }) => kind === 'write' })
  await t.rejects(copyFile(fileSystem, '/source', '/copy'), /write of .*ENOSPC/)
  t.equal(inner.statSync('/copy'), undefined)
  t.equal(inner.failures, 2)
  t.equal(inner.opened.size, 0)
})

void t.test('quietly drops the error of a step', (t) => {
  let steps = 0
  quietly(() => {
    steps++
    throw new Error('refused')
  })
  t.equal(steps, 1)
  t.end()
})

/** Files in memory whose directory cannot be released, as one whose LOCK cannot be removed. */
class FailingRelease extends SimulatedDisk {
  override async lock(): Promise<DirectoryLock> {
    return { release: () => Promise.reject(new Error('unlock')) }
  }
}

void t.test('an open that fails tells its own reason, not that of the release', async (t) => {
  const fileSystem = new FailingRelease()
  const faulty = new FaultyFileSystem(fileSystem)
  faulty.arm({ failAt: 1, errno: 'ENOSPC', only: ({ kind }) => kind === 'write' })
  const opening = Database.open('/db', { fileSystem: faulty, executor: 'inline' })
  await t.rejects(opening, { code: 'ERR_NO_SPACE' })
})
