import * as nodeFs from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DirectoryHandle } from '../../../../src/storage/fs/directory-handle.js'
import { lockDirectory } from '../../../../src/storage/fs/lock.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'

const linuxOnly = process.platform === 'linux' ? false : 'needs Linux'

/** Every operation of a file system that names a file, each of which would change a directory. */
const changes: readonly (readonly [string, (fs: FileSystem, directory: string) => unknown])[] = [
  ['create', (fs, directory) => fs.openSync(fs.join(directory, 'made'), 'create').closeSync()],
  ['rename', (fs, directory) => fs.renameSync(fs.join(directory, 'a'), fs.join(directory, 'b'))],
  ['link', (fs, directory) => fs.linkSync(fs.join(directory, 'b'), fs.join(directory, 'c'))],
  ['unlinkSync', (fs, directory) => fs.unlinkSync(fs.join(directory, 'c'))],
  ['unlink', (fs, directory) => fs.unlink(fs.join(directory, 'b'))],
  ['makeDirectory', (fs, directory) => fs.makeDirectorySync(fs.join(directory, 'd'))],
  ['syncDirectory', (fs, directory) => fs.syncDirectory(directory)],
  ['syncDirectorySync', (fs, directory) => fs.syncDirectorySync(directory)],
  ['list', (fs, directory) => fs.listSync(directory)],
  ['stat', (fs, directory) => fs.statSync(fs.join(directory, 'made'))],
]

const foreign = { a: 'foreign a', b: 'foreign b', c: 'foreign c' }

for (const spelling of ['db', './db/', 'db/../db'] as const) {
  void t.test(
    `a held directory is followed when it moves (${spelling})`,
    { skip: linuxOnly },
    async (t) => {
      const home = t.testdir({ db: { a: 'own' }, other: foreign })
      const directory = `${home}/${spelling}`
      const lock = await lockDirectory(directory)
      const fileSystem = new NodeFileSystem().boundTo(lock)
      nodeFs.renameSync(join(home, 'db'), join(home, 'moved'))
      nodeFs.renameSync(join(home, 'other'), join(home, 'db'))
      for (const [name, change] of changes) {
        await change(fileSystem, directory)
        for (const [file, text] of Object.entries(foreign)) {
          t.equal(nodeFs.readFileSync(join(home, 'db', file), 'utf8'), text, `${name}: ${file}`)
        }
      }
      t.same(nodeFs.readdirSync(join(home, 'db')).sort(), ['a', 'b', 'c'])
      const own = nodeFs.readdirSync(join(home, 'moved')).filter((name) => !name.startsWith('LOCK'))
      t.same(own.sort(), ['d', 'made'])
      t.same(fileSystem.statSync(directory), { kind: 'directory', size: 0 })
      t.equal(
        fileSystem.statSync(join(home, 'db', 'no', 'such')),
        undefined,
        'deeper paths are not its',
      )
      t.throws(() => fileSystem.openSync(join(directory, 'a'), 'read'), {
        code: 'ERR_IO',
        message: `open of ${join(directory, 'a')} failed: ENOENT`,
      })
      await lock.release()
      t.throws(() => fileSystem.listSync(directory), { code: 'ERR_IO', message: 'EBADF' })
    },
  )
}

void t.test('without descriptors a moved directory is refused, and nothing changes', async (t) => {
  const home = t.testdir({ db: { a: 'own' }, other: foreign })
  const directory = join(home, 'db')
  const lock = await lockDirectory(directory, { descriptors: false })
  const fileSystem = new NodeFileSystem().boundTo(lock)
  fileSystem.openSync(join(directory, 'made'), 'create').closeSync()
  nodeFs.renameSync(directory, join(home, 'moved'))
  const refused = async (message: RegExp): Promise<void> => {
    for (const [name, change] of changes) {
      const attempt = (async () => change(fileSystem, directory))()
      await t.rejects(attempt, { code: 'ERR_DIRECTORY_MOVED', message }, name)
    }
  }
  await refused(/db is gone/)
  nodeFs.renameSync(join(home, 'other'), directory)
  await refused(/db is another directory now/)
  for (const [file, text] of Object.entries(foreign)) {
    t.equal(nodeFs.readFileSync(join(directory, file), 'utf8'), text)
  }
  t.same(nodeFs.readdirSync(directory).sort(), ['a', 'b', 'c'])
  nodeFs.renameSync(directory, join(home, 'other'))
  nodeFs.renameSync(join(home, 'moved'), directory)
  t.ok(fileSystem.listSync(directory).includes('made'), 'back at its place it is good again')
  await lock.release()
})

void t.test('a thread reaches a held directory by its binding', { skip: linuxOnly }, async (t) => {
  const home = t.testdir({ db: { a: 'own' } })
  const directory = join(home, 'db')
  const handle = DirectoryHandle.openSync(directory, true)
  const copy = structuredClone(handle.binding)
  nodeFs.renameSync(directory, join(home, 'moved'))
  const fileSystem = new NodeFileSystem(undefined, copy)
  t.same(fileSystem.listSync(directory), ['a'])
  t.same(new NodeFileSystem().statSync(directory), undefined)
  handle.closeSync()
  handle.closeSync()
})
