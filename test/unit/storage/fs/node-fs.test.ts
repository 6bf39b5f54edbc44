import { execFileSync } from 'node:child_process'
import * as nodeFs from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import type { SystemCalls } from '../../../../src/storage/fs/node-file.js'
import { syntheticError } from '../../../../src/storage/fs/errors.js'
import { childEnvironment } from '../../../helpers/child-environment.js'
import { generator, seed } from './random.js'

/** The system with some functions replaced. */
function system(replaced: Partial<Record<keyof SystemCalls, unknown>>): NodeFileSystem {
  return new NodeFileSystem({ ...nodeFs, ...replaced } as SystemCalls)
}

function failing(code: string): () => never {
  return () => {
    throw syntheticError(code)
  }
}

const posixOnly = process.platform === 'win32' ? 'needs POSIX' : false

void t.test('files are private to their owner', { skip: posixOnly }, async (t) => {
  const directory = t.testdir({})
  const fileSystem = new NodeFileSystem()
  fileSystem.makeDirectorySync(join(directory, 'x', 'y'))
  fileSystem.openSync(join(directory, 'x', 'a'), 'create').closeSync()
  t.equal(nodeFs.statSync(join(directory, 'x')).mode & 0o777, 0o700)
  t.equal(nodeFs.statSync(join(directory, 'x', 'y')).mode & 0o777, 0o700)
  t.equal(nodeFs.statSync(join(directory, 'x', 'a')).mode & 0o777, 0o600)
  t.equal(fileSystem.shareable, true)
})

void t.test('a directory that cannot be made says why', { skip: posixOnly }, async (t) => {
  const directory = t.testdir({ file: 'text', full: { inner: {} } })
  const fileSystem = new NodeFileSystem()
  const made = join(directory, 'a', 'b', 'c')
  fileSystem.makeDirectorySync(made)
  fileSystem.makeDirectorySync(made)
  fileSystem.makeDirectorySync(join(directory, 'full', 'inner'))
  t.equal(nodeFs.statSync(made).isDirectory(), true)
  const refused = (...parts: string[]) => fileSystem.makeDirectorySync(join(directory, ...parts))
  t.throws(() => refused('file'), { code: 'ERR_IO', cause: { code: 'EEXIST' } })
  t.throws(() => refused('file', 'x'), { code: 'ERR_IO', cause: { code: 'ENOTDIR' } })
})

const hasProc = nodeFs.existsSync('/proc/self')
void t.test('a system that makes no directories is refused', { skip: !hasProc }, async (t) => {
  // In a process of its own: a call that never returns would hold up this one.
  const module = new URL('../../../../src/storage/fs/node-fs.js', import.meta.url).href
  const program = `const { NodeFileSystem } = await import(${JSON.stringify(module)})
    try { new NodeFileSystem().makeDirectorySync('/proc/none/x') } catch (error) {
      console.log(error.code, error.cause.code)
    }`
  const words = ['--input-type=module', '--eval', program]
  const answer = execFileSync(process.execPath, words, { timeout: 20_000, env: childEnvironment })
  t.equal(String(answer), 'ERR_IO ENOENT\n')
})

void t.test('a symbolic link in place of a file is refused', { skip: posixOnly }, async (t) => {
  const directory = t.testdir({ target: 'text', link: t.fixture('symlink', 'target') })
  const fileSystem = new NodeFileSystem()
  const link = join(directory, 'link')
  t.throws(() => fileSystem.openSync(link, 'read'), { code: 'ERR_IO', cause: { code: 'ELOOP' } })
  t.throws(() => fileSystem.openSync(link, 'write'), { cause: { code: 'ELOOP' } })
  t.throws(() => fileSystem.openSync(link, 'create'), { cause: { code: 'EEXIST' } })
  t.match(fileSystem.statSync(link), { kind: 'other' })
})

void t.test('a pipe in place of a file is refused and not waited for', async (t) => {
  const pipe = join(t.testdir({}), 'pipe')
  try {
    execFileSync('mkfifo', [pipe])
  } catch {
    t.comment('no mkfifo here')
    return
  }
  const fileSystem = new NodeFileSystem()
  t.throws(() => fileSystem.openSync(pipe, 'read'), { code: 'ERR_IO' })
  t.throws(() => fileSystem.openSync(pipe, 'write'), { message: 'not a regular file' })
})

void t.test(`short and interrupted calls are continued, seed ${seed}`, async (t) => {
  const random = generator(seed)
  let interruptions = 0
  const maybeInterrupt = (): Error | undefined => {
    if (random() >= 0.3) return undefined
    interruptions++
    return syntheticError(random() < 0.5 ? 'EINTR' : 'EAGAIN')
  }
  const part = (length: number): number => 1 + Math.floor(random() * length)
  const guarded = <T>(call: () => T): T => {
    const error = maybeInterrupt()
    if (error !== undefined) throw error
    return call()
  }
  const fileSystem = system({
    writeSync: (fd: number, source: Uint8Array, start: number, length: number, at: number) =>
      guarded(() => nodeFs.writeSync(fd, source, start, part(length), at)),
    readSync: (fd: number, target: Uint8Array, start: number, length: number, at: number) =>
      guarded(() => nodeFs.readSync(fd, target, start, part(length), at)),
    read: (
      fd: number,
      target: Uint8Array,
      start: number,
      length: number,
      at: number,
      done: (error: Error | null, count: number) => void,
    ) => {
      const error = maybeInterrupt()
      if (error !== undefined) setImmediate(() => done(error, 0))
      else nodeFs.read(fd, target, start, part(length), at, done)
    },
  })
  const file = fileSystem.openSync(join(t.testdir({}), 'a'), 'create')
  const bytes = Buffer.from(Array.from({ length: 3000 }, () => Math.floor(random() * 256)))
  for (let i = 0; i < 200; i++) {
    file.writeSync(bytes, i, 3000, i)
    const target = Buffer.alloc(4000)
    t.equal(file.readSync(target, 5, 3500, 0), 3000)
    if (!target.subarray(5, 3005).equals(bytes)) t.fail('other bytes read')
    t.equal(await file.read(target, 0, 700, 2500), 500)
    if (!target.subarray(0, 500).equals(bytes.subarray(2500))) t.fail('other bytes read')
  }
  t.ok(interruptions > 1000)
  file.closeSync()
})

void t.test('a call that is interrupted for ever fails in the end', async (t) => {
  const fileSystem = system({
    readSync: failing('EAGAIN'),
    writeSync: () => 0,
    read: (...values: unknown[]) => {
      const done = values.at(-1) as (error: Error, count: number) => void
      setImmediate(() => done(syntheticError('EINTR'), 0))
    },
  })
  const file = fileSystem.openSync(join(t.testdir({}), 'a'), 'create')
  const bytes = Buffer.alloc(8)
  t.throws(() => file.readSync(bytes, 0, 8, 0), { code: 'ERR_IO', cause: { code: 'EAGAIN' } })
  t.throws(() => file.writeSync(bytes, 0, 8, 0), { code: 'ERR_IO' })
  await t.rejects(file.read(bytes, 0, 8, 0), { code: 'ERR_IO', cause: { code: 'EINTR' } })
  file.closeSync()
})

void t.test('a failed sync is reported and never repeated', async (t) => {
  let calls = 0
  const fileSystem = system({
    fdatasyncSync: () => {
      calls++
      throw syntheticError('EINTR')
    },
    fdatasync: (_: number, done: (error: Error) => void) => {
      calls++
      setImmediate(() => done(syntheticError('EIO')))
    },
  })
  const path = join(t.testdir({}), 'a')
  const file = fileSystem.openSync(path, 'create')
  t.throws(() => file.syncSync(), { code: 'ERR_IO', message: path })
  await t.rejects(file.sync(), { code: 'ERR_IO', message: path, cause: { code: 'EIO' } })
  t.equal(calls, 2)
  file.closeSync()
})

const codes = [
  ['ENOSPC', 'ERR_NO_SPACE'],
  ['EDQUOT', 'ERR_NO_SPACE'],
  ['EFBIG', 'ERR_NO_SPACE'],
  ['EROFS', 'ERR_READ_ONLY'],
  ['EACCES', 'ERR_READ_ONLY'],
  ['EPERM', 'ERR_READ_ONLY'],
  ['EIO', 'ERR_IO'],
  ['EMFILE', 'ERR_IO'],
] as const
for (const [code, expected] of codes) {
  void t.test(`${code} becomes ${expected}, naming operation and path`, async (t) => {
    const path = join(t.testdir({}), 'a')
    const wanted = { code: expected, cause: { code } }
    t.throws(() => system({ openSync: failing(code) }).openSync(path, 'create'), wanted)
    const file = system({
      writeSync: failing(code),
      ftruncateSync: failing(code),
      fdatasyncSync: failing(code),
    }).openSync(path, 'create')
    const bytes = Buffer.alloc(1)
    t.throws(() => file.writeSync(bytes, 0, 1, 0), { ...wanted, message: `write of ${path}` })
    t.throws(() => file.truncateSync(0), { ...wanted, message: `truncate of ${path}` })
    t.throws(() => file.syncSync(), { ...wanted, message: `sync of ${path}` })
    file.closeSync()
  })
}

void t.test('a directory that cannot be synced as such is passed over', async (t) => {
  const directory = t.testdir({})
  for (const code of ['EINVAL', 'EISDIR', 'EPERM']) {
    system({ fsyncSync: failing(code) }).syncDirectorySync(directory)
  }
  system({ openSync: failing('EISDIR') }).syncDirectorySync(directory)
  t.pass()
})

void t.test('a real failure to sync a directory is an error', async (t) => {
  const directory = t.testdir({})
  const wanted = { message: directory }
  for (const [code, expected] of [
    ['EIO', 'ERR_IO'],
    ['ENOSPC', 'ERR_NO_SPACE'],
  ]) {
    const fileSystem = system({ fsyncSync: failing(code) })
    t.throws(() => fileSystem.syncDirectorySync(directory), { ...wanted, code: expected })
  }
  for (const code of ['EIO', 'EMFILE', 'ENOENT']) {
    const fileSystem = system({ openSync: failing(code) })
    t.throws(() => fileSystem.syncDirectorySync(directory), { ...wanted, code: 'ERR_IO' })
  }
})

void t.test('the close of a directory that fails, fails nothing', async (t) => {
  const directory = t.testdir({})
  let closes = 0
  const closeSync = (descriptor: number): never => {
    closes++
    nodeFs.closeSync(descriptor)
    throw syntheticError('EIO')
  }
  const fileSystem = system({ closeSync })
  fileSystem.syncDirectorySync(directory)
  await fileSystem.syncDirectory(directory)
  const refused = { code: 'ERR_IO', cause: { code: 'EISDIR' } }
  t.throws(() => fileSystem.openSync(directory, 'read'), refused, 'the first error stays')
  const failed = system({ closeSync, fsyncSync: failing('ENOSPC') })
  t.throws(() => failed.syncDirectorySync(directory), { code: 'ERR_NO_SPACE' })
  t.equal(closes, 4)
})

void t.test('no descriptor is left open', { skip: process.platform !== 'linux' }, async (t) => {
  const directory = t.testdir({ a: 'text' })
  const count = (): number => nodeFs.readdirSync('/proc/self/fd').length
  const fileSystem = new NodeFileSystem()
  const before = count()
  for (let i = 0; i < 20; i++) {
    const file = fileSystem.openSync(join(directory, 'a'), 'write')
    const reading = file.read(Buffer.alloc(4), 0, 4, 0)
    file.closeSync()
    await reading
    fileSystem.syncDirectorySync(directory)
    await fileSystem.syncDirectory(directory)
    t.throws(() => fileSystem.openSync(directory, 'read'))
    const lock = await fileSystem.lock(directory)
    await t.rejects(fileSystem.lock(directory))
    await lock.release()
  }
  t.ok(count() <= before + 1, 'but for what the runtime opens once')
})
