import t from 'tap'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'

/** Calls everything that can fail, once. */
async function scenario(fileSystem: FileSystem): Promise<void> {
  fileSystem.makeDirectorySync('/db')
  const lock = await fileSystem.lock('/db')
  const file = fileSystem.openSync('/db/a', 'create')
  file.writeSync(Buffer.from('hello'), 0, 5, 0)
  file.readSync(Buffer.alloc(5), 0, 5, 0)
  await file.read(Buffer.alloc(5), 0, 5, 0)
  file.truncateSync(3)
  file.sizeSync()
  file.syncSync()
  await file.sync()
  file.closeSync()
  file.closeSync()
  fileSystem.renameSync('/db/a', '/db/b')
  fileSystem.syncDirectorySync('/db')
  fileSystem.listSync('/db')
  fileSystem.statSync('/db/b')
  fileSystem.unlinkSync('/db/b')
  await lock.release()
}

const kinds = [
  'makeDirectory',
  'lock',
  'open',
  'write',
  'read',
  'read',
  'truncate',
  'size',
  'sync',
  'sync',
  'close',
  'rename',
  'syncDirectory',
  'list',
  'stat',
  'unlink',
]

void t.test('every call that can fail is counted and logged', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk(), undefined, { log: true })
  await scenario(fileSystem)
  t.same(
    fileSystem.log.map(({ kind }) => kind),
    kinds,
  )
  t.equal(fileSystem.callCount, kinds.length)
  t.equal(fileSystem.failures, 0)
  t.equal(fileSystem.shareable, false)
})

void t.test('there is no log unless it is asked for', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  await scenario(fileSystem)
  t.same(fileSystem.log, [])
})

void t.test('a scenario can be failed at each of its calls in turn', async (t) => {
  let failAt = 0
  let failures = 0
  do {
    failAt++
    const fileSystem = new FaultyFileSystem(new SimulatedDisk(), { failAt, errno: 'EIO' })
    const running = scenario(fileSystem)
    if (failAt <= kinds.length) {
      await t.rejects(running, { code: 'ERR_IO', message: kinds[failAt - 1] })
      t.equal(fileSystem.callCount, failAt)
    } else {
      await running
    }
    failures = fileSystem.failures
  } while (failures > 0)
  t.equal(failAt, kinds.length + 1)
})

void t.test('errors have the codes of real ones', async (t) => {
  for (const [errno, code] of [
    ['EIO', 'ERR_IO'],
    ['ENOSPC', 'ERR_NO_SPACE'],
    ['EACCES', 'ERR_READ_ONLY'],
    ['EMFILE', 'ERR_IO'],
  ] as const) {
    const fileSystem = new FaultyFileSystem(new SimulatedDisk(), { failAt: 1, errno })
    t.throws(() => fileSystem.listSync('/'), { code, message: '/', cause: { code: errno } })
  }
})

void t.test('a single fault fails one call and a persistent one all from there', async (t) => {
  const inner = new SimulatedDisk()
  const once = new FaultyFileSystem(inner, { failAt: 2, errno: 'EIO' })
  once.listSync('/')
  t.throws(() => once.listSync('/'))
  once.listSync('/')
  t.equal(once.failures, 1)
  const always = new FaultyFileSystem(inner, { failAt: 2, persistent: true, errno: 'ENOSPC' })
  always.listSync('/')
  t.throws(() => always.listSync('/'))
  t.throws(() => always.listSync('/'))
  t.equal(always.failures, 2)
  always.disarm()
  always.listSync('/')
  always.arm({ failAt: 1, errno: 'EIO' })
  t.equal(always.callCount, 0)
  t.throws(() => always.listSync('/'))
})

void t.test('a filter restricts what is counted and what fails', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk(), {
    failAt: 2,
    errno: 'EIO',
    only: ({ kind, path }) => kind === 'open' && path.endsWith('.log'),
  })
  fileSystem.openSync('/a.log', 'create')
  fileSystem.openSync('/a.table', 'create')
  fileSystem.listSync('/')
  t.equal(fileSystem.callCount, 1)
  t.throws(() => fileSystem.openSync('/b.log', 'create'), { message: '/b.log' })
})

void t.test('asynchronous calls reject and never throw', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const file = fileSystem.openSync('/a', 'create')
  fileSystem.arm({ failAt: 1, persistent: true, errno: 'EIO' })
  const calls = [file.read(Buffer.alloc(1), 0, 1, 0), file.sync(), fileSystem.lock('/')]
  const settled = await Promise.allSettled(calls)
  t.same(
    settled.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
})

void t.test('a failed call does not reach the file system, but a close does', async (t) => {
  const inner = new SimulatedDisk()
  const fileSystem = new FaultyFileSystem(inner)
  const file = fileSystem.openSync('/a', 'create')
  fileSystem.arm({ failAt: 1, persistent: true, errno: 'EIO' })
  t.throws(() => file.writeSync(Buffer.from('hello'), 0, 5, 0))
  t.throws(() => fileSystem.unlinkSync('/a'))
  t.same(inner.statSync('/a'), { kind: 'file', size: 0 })
  t.throws(() => file.closeSync(), { code: 'ERR_IO' })
  file.closeSync()
  fileSystem.disarm()
  t.throws(() => file.sizeSync(), { cause: { code: 'EBADF' } })
})

void t.test('a failing write may reach the file in part', async (t) => {
  const inner = new SimulatedDisk()
  const fileSystem = new FaultyFileSystem(inner)
  const file = fileSystem.openSync('/a', 'create')
  fileSystem.arm({ failAt: 1, errno: 'ENOSPC', partialWrite: true })
  t.throws(() => file.writeSync(Buffer.from('hello'), 0, 5, 0), { code: 'ERR_NO_SPACE' })
  t.equal(inner.statSync('/a')!.size, 2)
})

for (const [syncFailure, size, stored] of [
  ['keep', 5, 5],
  ['revert', 0, 0],
  ['clean', 5, 0],
] as const) {
  void t.test(`a failed sync in the mode ${syncFailure} leaves what it says`, async (t) => {
    const inner = new SimulatedDisk()
    const fileSystem = new FaultyFileSystem(inner)
    const file = fileSystem.openSync('/a', 'create')
    fileSystem.syncDirectorySync('/')
    file.writeSync(Buffer.from('hello'), 0, 5, 0)
    fileSystem.arm({ failAt: 1, errno: 'EIO', syncFailure })
    await t.rejects(file.sync(), { code: 'ERR_IO' })
    t.equal(file.sizeSync(), size)
    await file.sync()
    const image = inner.crash('dropUnsynced', () => 0)
    const target = Buffer.alloc(5)
    image.openSync('/a', 'read').readSync(target, 0, 5, 0)
    t.equal(target.toString('latin1').replaceAll('\0', '').length, stored)
  })
}

void t.test('dropping needs a file system that can drop', async (t) => {
  const fileSystem = new FaultyFileSystem(new NodeFileSystem())
  const file = fileSystem.openSync(fileSystem.join(t.testdir({}), 'a'), 'create')
  fileSystem.arm({ failAt: 1, errno: 'EIO', syncFailure: 'revert' })
  t.throws(() => file.syncSync(), { name: 'TypeError' })
  file.closeSync()
})
