/** What every file system must do: those in memory and the one of the machine. */
import t from 'tap'
import type { Test } from 'tap'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'

interface Place {
  readonly fileSystem: FileSystem
  readonly directory: string
}

function memoryPlace(fileSystem: FileSystem): Place {
  fileSystem.makeDirectorySync('/db')
  return { fileSystem, directory: '/db' }
}

const places: readonly (readonly [string, (t: Test) => Place])[] = [
  ['memory', () => memoryPlace(new MemoryFileSystem())],
  ['simulated disk', () => memoryPlace(new SimulatedDisk())],
  ['node', (t) => ({ fileSystem: new NodeFileSystem(), directory: t.testdir({}) })],
  [
    'faulty without a fault',
    () => {
      const { fileSystem, directory } = memoryPlace(new SimulatedDisk())
      return { fileSystem: new FaultyFileSystem(fileSystem), directory }
    },
  ],
]

function put({ fileSystem, directory }: Place, name: string, text: string): string {
  const path = fileSystem.join(directory, name)
  const file = fileSystem.openSync(path, 'create')
  const bytes = Buffer.from(text)
  file.writeSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return path
}

function content(fileSystem: FileSystem, path: string): string {
  const file = fileSystem.openSync(path, 'read')
  const target = Buffer.alloc(file.sizeSync() + 10)
  const count = file.readSync(target, 0, target.length, 0)
  file.closeSync()
  return target.toString('latin1', 0, count)
}

function openModes(t: Test, place: Place): void {
  const { fileSystem } = place
  const path = put(place, 'a', 'text')
  t.throws(() => fileSystem.openSync(path, 'create'), { code: 'ERR_IO', message: path })
  const missing = fileSystem.join(place.directory, 'missing')
  t.throws(() => fileSystem.openSync(missing, 'read'), { code: 'ERR_IO', message: missing })
  t.throws(() => fileSystem.openSync(missing, 'write'), { cause: { code: 'ENOENT' } })
  t.throws(() => fileSystem.openSync(fileSystem.join(missing, 'b'), 'create'), { code: 'ERR_IO' })
  t.throws(() => fileSystem.openSync(place.directory, 'read'), { cause: { code: 'EISDIR' } })
  const file = fileSystem.openSync(path, 'write')
  file.writeSync(Buffer.from('XY'), 0, 2, 1)
  t.equal(file.path, path)
  file.closeSync()
  t.equal(content(fileSystem, path), 'tXYt', 'opening for writing does not cut the file')
  const reader = fileSystem.openSync(path, 'read')
  t.throws(() => reader.writeSync(Buffer.from('Z'), 0, 1, 0), { code: 'ERR_IO' })
  reader.closeSync()
}

async function ranges(t: Test, place: Place): Promise<void> {
  const { fileSystem } = place
  const file = fileSystem.openSync(fileSystem.join(place.directory, 'a'), 'create')
  file.writeSync(Buffer.from('..hello..'), 2, 7, 3)
  t.equal(file.sizeSync(), 8)
  const target = Buffer.alloc(6, '-')
  t.equal(file.readSync(target, 1, 3, 2), 3)
  t.equal(target.toString('latin1'), '-\0he--')
  t.equal(await file.read(target, 0, 6, 5), 3, 'fewer at the end of the file')
  t.equal(target.toString('latin1'), 'lloe--')
  t.equal(file.readSync(target, 0, 6, 8), 0, 'nothing at the end')
  t.equal(await file.read(target, 0, 6, 100), 0, 'nothing behind the end')
  t.equal(await file.read(target, 0, 0, 0), 0, 'nothing asked')
  const plain = new Uint8Array([104, 105])
  file.writeSync(plain, 0, 2, 0)
  const plainTarget = new Uint8Array(2)
  t.equal(file.readSync(plainTarget, 0, 2, 0), 2)
  t.same([...plainTarget], [104, 105], 'plain arrays work as well')
  file.closeSync()
}

function truncates(t: Test, place: Place): void {
  const path = put(place, 'a', 'hello')
  const file = place.fileSystem.openSync(path, 'write')
  file.truncateSync(2)
  t.equal(file.sizeSync(), 2)
  file.truncateSync(4)
  file.writeSync(Buffer.from('!'), 0, 1, 5)
  file.closeSync()
  t.equal(content(place.fileSystem, path), 'he\0\0\0!', 'cut bytes never come back')
}

async function directories(t: Test, place: Place): Promise<void> {
  const { fileSystem, directory } = place
  const inner = fileSystem.join(fileSystem.join(directory, 'x'), 'y')
  fileSystem.makeDirectorySync(inner)
  fileSystem.makeDirectorySync(inner)
  put(place, 'a', 'four')
  t.same(fileSystem.listSync(directory).sort(), ['a', 'x'])
  t.same(fileSystem.listSync(inner), [])
  t.match(fileSystem.statSync(inner), { kind: 'directory' })
  t.same(fileSystem.statSync(fileSystem.join(directory, 'a')), { kind: 'file', size: 4 })
  t.equal(fileSystem.statSync(fileSystem.join(directory, 'b')), undefined)
  const below = fileSystem.join(fileSystem.join(directory, 'a'), 'c')
  t.equal(fileSystem.statSync(below), undefined, 'nothing is below a file')
  t.throws(() => fileSystem.makeDirectorySync(fileSystem.join(directory, 'a')), { code: 'ERR_IO' })
  t.throws(() => fileSystem.makeDirectorySync(below), { code: 'ERR_IO' })
  t.throws(() => fileSystem.listSync(fileSystem.join(directory, 'a')), { code: 'ERR_IO' })
  fileSystem.syncDirectorySync(inner)
  await fileSystem.syncDirectory(inner)
  await t.rejects(fileSystem.syncDirectory(fileSystem.join(directory, 'b')), { code: 'ERR_IO' })
  fileSystem.syncDirectorySync(fileSystem.join(inner, '..'))
  t.throws(() => fileSystem.syncDirectorySync(fileSystem.join(directory, 'b')), { code: 'ERR_IO' })
}

function renames(t: Test, place: Place): void {
  const { fileSystem, directory } = place
  const from = put(place, 'a', 'new')
  const to = put(place, 'b', 'old')
  fileSystem.renameSync(from, to)
  t.same(fileSystem.listSync(directory), ['b'])
  t.equal(content(fileSystem, to), 'new')
  fileSystem.renameSync(to, to)
  t.equal(content(fileSystem, to), 'new', 'a rename to itself changes nothing')
  t.throws(() => fileSystem.renameSync(from, to), { code: 'ERR_IO', cause: { code: 'ENOENT' } })
  fileSystem.makeDirectorySync(fileSystem.join(directory, 'x'))
  t.throws(() => fileSystem.renameSync(to, fileSystem.join(directory, 'x')), { code: 'ERR_IO' })
}

async function unlinks(t: Test, place: Place): Promise<void> {
  const { fileSystem, directory } = place
  const path = put(place, 'a', 'text')
  const file = fileSystem.openSync(path, 'read')
  fileSystem.unlinkSync(path)
  const target = Buffer.alloc(4)
  t.equal(file.readSync(target, 0, 4, 0), 4, 'an open file outlives its name')
  file.closeSync()
  t.same(fileSystem.listSync(directory), [])
  t.throws(() => fileSystem.unlinkSync(path), { code: 'ERR_IO', message: path })
  await fileSystem.unlink(put(place, 'b', 'text'))
  t.same(fileSystem.listSync(directory), [])
  await t.rejects(fileSystem.unlink(path), { code: 'ERR_IO', message: path })
}

function links(t: Test, place: Place): void {
  const { fileSystem, directory } = place
  const from = put(place, 'a', 'text')
  const to = fileSystem.join(directory, 'b')
  fileSystem.linkSync(from, to)
  t.same(fileSystem.listSync(directory).sort(), ['a', 'b'])
  fileSystem.unlinkSync(from)
  t.equal(content(fileSystem, to), 'text', 'a file lives as long as one of its names')
  t.throws(() => fileSystem.linkSync(from, to), { code: 'ERR_IO', cause: { code: 'ENOENT' } })
  const other = put(place, 'c', 'other')
  t.throws(() => fileSystem.linkSync(other, to), { code: 'ERR_IO', cause: { code: 'EEXIST' } })
  t.equal(content(fileSystem, to), 'text', 'a link replaces nothing')
  fileSystem.makeDirectorySync(fileSystem.join(directory, 'x'))
  const inner = fileSystem.join(fileSystem.join(directory, 'x'), 'd')
  fileSystem.linkSync(to, inner)
  t.equal(content(fileSystem, inner), 'text', 'into another directory')
}

async function closes(t: Test, place: Place): Promise<void> {
  const path = put(place, 'a', 'hello')
  const file = place.fileSystem.openSync(path, 'write')
  const target = Buffer.alloc(5)
  const reading = file.read(target, 0, 5, 0)
  const syncing = file.sync()
  file.closeSync()
  file.closeSync()
  t.equal(await reading, 5, 'a read under way when the file is closed still succeeds')
  await syncing
  t.equal(target.toString(), 'hello')
  t.throws(() => file.readSync(target, 0, 5, 0), { code: 'ERR_IO', message: path })
  t.throws(() => file.writeSync(target, 0, 5, 0), { code: 'ERR_IO' })
  t.throws(() => file.syncSync(), { code: 'ERR_IO' })
  t.throws(() => file.sizeSync(), { code: 'ERR_IO' })
  t.throws(() => file.truncateSync(0), { code: 'ERR_IO' })
  await t.rejects(file.read(target, 0, 5, 0), { code: 'ERR_IO' })
  await t.rejects(file.sync(), { code: 'ERR_IO' })
}

async function wrongRanges(t: Test, place: Place): Promise<void> {
  const file = place.fileSystem.openSync(put(place, 'a', 'hello'), 'write')
  const bytes = Buffer.alloc(4)
  t.throws(() => file.readSync(bytes, 2, 3, 0), { name: 'InvariantError' })
  await t.rejects(file.read(bytes, 2, 3, 0), { name: 'InvariantError' })
  t.throws(() => file.writeSync(bytes, 0, 5, 0), { name: 'InvariantError' })
  t.throws(() => file.writeSync(bytes, 3, 2, 0), { name: 'InvariantError' })
  file.closeSync()
}

async function locks(t: Test, place: Place): Promise<void> {
  const { fileSystem, directory } = place
  const lock = await fileSystem.lock(directory)
  await t.rejects(fileSystem.lock(directory), { code: 'ERR_LOCKED', message: directory })
  await lock.release()
  const second = await fileSystem.lock(directory)
  await lock.release()
  await t.rejects(fileSystem.lock(directory), { code: 'ERR_LOCKED' }, 'an old lock frees nothing')
  await second.release()
  const missing = fileSystem.join(directory, 'missing')
  await t.rejects(fileSystem.lock(missing), { code: 'ERR_IO' })
}

for (const [name, makePlace] of places) {
  const rules = {
    'opening demands or forbids the file as its mode says': openModes,
    'reads and writes move exactly the bytes asked for': ranges,
    'truncating cuts and extends with zeros': truncates,
    'directories are made, listed, looked at and synced': directories,
    'a rename replaces its target': renames,
    'an unlinked file has no name any more': unlinks,
    'a linked file has two names': links,
    'closing is final, lets calls under way finish, and can be repeated': closes,
    'ranges outside of the array are refused': wrongRanges,
    'a directory is locked once at a time': locks,
  }
  for (const [rule, check] of Object.entries(rules)) {
    void t.test(`${name}: ${rule}`, async (t) => {
      await check(t, makePlace(t))
    })
  }
}
