/** @runs long */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import * as nodeFs from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import type { Test } from 'tap'
import { lockFileName, socketPathOf } from '../../../../src/storage/fs/lock-file.js'
import { LockSocket } from '../../../../src/storage/fs/lock-socket.js'
import { lockDirectory, type LockOptions } from '../../../../src/storage/fs/lock.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'

// The tests wait for what other processes do, never for a time: a busy machine may need minutes.
t.setTimeout(600_000)

const moduleUrl = new URL('../../../../src/storage/fs/lock.js', import.meta.url).href
const linuxOnly = process.platform === 'linux' ? false : 'needs Linux'
// Two ways to guard: sockets, where the system has them, and the LOCK file alone.
const guards = [
  ['default guard', {}],
  ['LOCK file alone', { sockets: false }],
] as const

const environment = { ...process.env, NODE_OPTIONS: '' }

/** Starts a process that runs `body` with `lockDirectory` and `directory` in scope. */
function start(body: string, directory: string, flags: string[] = []): ChildProcess {
  const script = `import { lockDirectory } from ${JSON.stringify(moduleUrl)}
    const directory = ${JSON.stringify(directory)}
    ${body}`
  const values = [...flags, '--input-type=module', '-e', script]
  return spawn(process.execPath, values, { env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Takes the lock, says so, and holds it until the process is killed. */
function holder(options: object): string {
  return `try {
    await lockDirectory(directory, ${JSON.stringify(options)})
    console.log('locked')
    setInterval(() => {}, 1000)
  } catch (error) {
    console.log(error.code)
  }`
}

function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.stdout!.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()))
  })
}

function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)))
}

const openPlaces = [tmpdir(), '/tmp', '/var/tmp', '/dev/shm']

/** Whether a user who is not the owner may go there. */
function everybodyReaches(path: string): boolean {
  const stat = nodeFs.statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || (process.platform !== 'win32' && (stat.mode & 0o001) === 0))
    return false
  const parent = dirname(path)
  return parent === path || everybodyReaches(parent)
}

function ownerOf(directory: string): Record<string, unknown> {
  const text = nodeFs.readFileSync(join(directory, lockFileName), 'utf8')
  return JSON.parse(text) as Record<string, unknown>
}

for (const [name, options] of guards) {
  void t.test(`${name}: a second open in the same process is refused`, async (t) => {
    const directory = t.testdir({})
    const lock = await lockDirectory(directory, options)
    const wanted = { code: 'ERR_LOCKED', message: `process ${process.pid} (this process)` }
    await t.rejects(lockDirectory(directory, options), wanted)
    await lock.release()
    await lock.release()
    await (await lockDirectory(directory, options)).release()
    t.same(nodeFs.readdirSync(directory), [], 'the LOCK file is gone')
  })

  void t.test(`${name}: of two opens at the same time one wins`, async (t) => {
    const directory = t.testdir({})
    const opens = [1, 2, 3].map(() => lockDirectory(directory, options))
    const settled = await Promise.allSettled(opens)
    t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
    await (await opens[0]).release()
  })

  void t.test(`${name}: every path to the directory is the same directory`, async (t) => {
    const root = t.testdir({ real: {}, link: t.fixture('symlink', 'real') })
    const lock = await lockDirectory(join(root, 'real'), options)
    for (const path of [join(root, 'link'), `${root}/real/../real/.`]) {
      await t.rejects(lockDirectory(path, options), { code: 'ERR_LOCKED' }, path)
    }
    await lock.release()
  })

  void t.test(`${name}: another process is refused until the owner is killed`, async (t) => {
    const directory = t.testdir({})
    const owner = start(holder(options), directory)
    t.equal(await firstOutput(owner), 'locked')
    const wanted = { code: 'ERR_LOCKED', message: `held by process ${owner.pid}, thread 0 on ` }
    await t.rejects(lockDirectory(directory, options), wanted)
    t.equal(await firstOutput(start(holder(options), directory)), 'ERR_LOCKED')
    owner.kill('SIGKILL')
    await ended(owner)
    t.equal(ownerOf(directory).pid, owner.pid, 'the killed process left its file')
    const lock = await lockDirectory(directory, options)
    t.equal(ownerOf(directory).pid, process.pid)
    await lock.release()
  })

  void t.test(`${name}: of four processes one wins`, async (t) => {
    const directory = t.testdir({})
    for (let round = 0; round < 2; round++) {
      const children = Array.from({ length: 4 }, () => start(holder(options), directory))
      const outputs = await Promise.all(children.map(firstOutput))
      t.same(outputs.sort(), [...Array<string>(3).fill('ERR_LOCKED'), 'locked'])
      // The second round finds the stale file of the first.
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(children.map(ended))
    }
  })

  void t.test(`${name}: a worker thread is refused, and can hold the lock`, async (t) => {
    const directory = t.testdir({})
    const script = `import { parentPort } from 'node:worker_threads'
      import { lockDirectory } from ${JSON.stringify(moduleUrl)}
      try {
        await lockDirectory(${JSON.stringify(directory)}, ${JSON.stringify(options)})
        parentPort.postMessage('locked')
        setInterval(() => {}, 1000)
      } catch (error) {
        parentPort.postMessage(error.code)
      }`
    const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`)
    const run = (): { worker: Worker; message: Promise<unknown> } => {
      const worker = new Worker(url)
      return { worker, message: new Promise((resolve) => worker.once('message', resolve)) }
    }
    const lock = await lockDirectory(directory, options)
    const refused = run()
    t.equal(await refused.message, 'ERR_LOCKED')
    await refused.worker.terminate()
    await lock.release()
    const owner = run()
    t.equal(await owner.message, 'locked')
    await t.rejects(lockDirectory(directory, options), { code: 'ERR_LOCKED' })
    await owner.worker.terminate()
    if ('sockets' in options || linuxOnly) return
    await (await lockDirectory(directory, options)).release()
  })

  void t.test(`${name}: the lock does not keep the process alive`, async (t) => {
    const child = start(`await lockDirectory(directory, ${JSON.stringify(options)})`, t.testdir({}))
    t.equal(await ended(child), 0)
  })

  void t.test(`${name}: releasing leaves a LOCK file of somebody else alone`, async (t) => {
    const directory = t.testdir({})
    const lock = await lockDirectory(directory, options)
    nodeFs.writeFileSync(join(directory, lockFileName), 'other')
    await lock.release()
    t.equal(nodeFs.readFileSync(join(directory, lockFileName), 'utf8'), 'other')
  })

  void t.test(`${name}: a damaged LOCK file is replaced`, async (t) => {
    for (const text of ['', '{', 'null', '{"pid":-1,"hostname":"x"}', 'x'.repeat(100_000)]) {
      const directory = t.testdir({ [lockFileName]: text })
      const lock = await lockDirectory(directory, options)
      t.equal(ownerOf(directory).pid, process.pid)
      await lock.release()
    }
  })

  void t.test(`${name}: a symbolic link named LOCK is not followed`, async (t) => {
    const directory = t.testdir({ LOCK: t.fixture('symlink', 'precious'), precious: 'text' })
    const lock = await lockDirectory(directory, options)
    t.equal(nodeFs.readFileSync(join(directory, 'precious'), 'utf8'), 'text')
    await lock.release()
    t.same(nodeFs.readdirSync(directory), ['precious'])
  })

  const place = openPlaces.find(everybodyReaches)
  const skip = place === undefined && 'no folder for temporary files is open to everybody'
  void t.test(`${name}: a directory that may not be written is refused`, { skip }, async (t) => {
    // Root may write everywhere, so the attempt runs as somebody else, in a place that everybody
    // reaches: the folder of the tests may lie below one that only root may enter.
    const home = nodeFs.mkdtempSync(join(place!, 'cellar-unwritable-'))
    t.teardown(() => nodeFs.rmSync(home, { recursive: true, force: true }))
    const directory = join(home, 'db')
    nodeFs.mkdirSync(directory)
    nodeFs.chmodSync(directory, 0o555)
    nodeFs.chmodSync(home, 0o755)
    const body = `const isRoot = process.getuid?.() === 0
      if (isRoot) process.seteuid(65534)
      await lockDirectory(directory, ${JSON.stringify(options)}).catch((error) => {
        console.log(error.code, error.message)
      })
      if (isRoot) process.seteuid(0)`
    const output = await firstOutput(start(body, directory))
    t.match(output, /^ERR_READ_ONLY lock of .*db failed: EACCES.*needs a directory/)
    t.same(nodeFs.readdirSync(directory), [])
  })
}

void t.test('NodeFileSystem.lock takes this lock', async (t) => {
  const directory = t.testdir({})
  const lock = await new NodeFileSystem().lock(directory)
  await t.rejects(lockDirectory(directory), { code: 'ERR_LOCKED' })
  t.match(ownerOf(directory), { pid: process.pid, threadId: 0, hostname: hostname() })
  t.equal(nodeFs.statSync(join(directory, lockFileName)).mode & 0o777, 0o600)
  await lock.release()
})

void t.test('something that is no directory cannot be locked', async (t) => {
  const directory = t.testdir({ file: '' })
  await t.rejects(lockDirectory(join(directory, 'file')), { code: 'ERR_IO' })
  await t.rejects(lockDirectory(join(directory, 'missing')), { code: 'ERR_IO' })
})

const variants = [
  ['a socket', {}],
  ['no socket', { sockets: false }],
  ['a path without descriptor', { descriptors: false }],
] as const

for (const [firstName, first] of variants) {
  for (const [secondName, second] of variants) {
    void t.test(`an owner with ${firstName} excludes an opener with ${secondName}`, async (t) => {
      const directory = shortDirectory(t)
      const owner = start(holder(first), directory)
      t.equal(await firstOutput(owner), 'locked')
      await t.rejects(lockDirectory(directory, second), { code: 'ERR_LOCKED' })
      owner.kill('SIGKILL')
      await ended(owner)
      await (await lockDirectory(directory, second)).release()
      t.same(nodeFs.readdirSync(directory), [], 'what the dead owner left is gone')
    })
  }
}

/** A directory whose sockets have short paths, also without descriptor. */
function shortDirectory(t: Test): string {
  const directory = nodeFs.mkdtempSync(join(tmpdir(), 'cellar-lock-'))
  t.teardown(() => nodeFs.rmSync(directory, { recursive: true, force: true }))
  return directory
}

const otherKernel = { bootId: 'other', hostname: 'other' }
const otherContainer = { pidNamespace: 'pid:[1]', hostname: 'other' }
/** The process of this test, with which no other test's owner is confused. */
const here = { pid: process.pid, startTime: 'of this process' }
const earlier = { startTime: '1' }

/** What LOCK says, changed; how; whether it excludes. `answers`: somebody listens on its socket. */
const records: readonly (readonly [
  string,
  object,
  LockOptions & { answers?: boolean },
  boolean,
])[] = [
  ['a living process without socket', { socket: false }, {}, true],
  // As between Node 20 and newer versions, which did not find each other's sockets.
  ['a living process whose socket is silent', { socket: true }, {}, true],
  ['a living process, to an opener without sockets', { socket: true }, { sockets: false }, true],
  ['a living process under another host name', { hostname: 'other' }, {}, true],
  ['an earlier process of the same id', earlier, {}, false],
  ['an earlier process, to an opener without sockets', earlier, { sockets: false }, false],
  ['no such process', { pid: 4_194_305, ...earlier }, {}, false],
  ['a living process that does not tell its start', { startTime: undefined }, {}, true],
  ['a process before the machine was started again', { bootId: 'other' }, {}, false],
  ['another boot and name on a local disk', otherKernel, { localDisk: true }, false],
  ['another machine on a shared disk', otherKernel, { localDisk: false }, true],
  ['another container that answers', { ...otherContainer, socket: true }, { answers: true }, true],
  ['another container that is silent', { ...otherContainer, socket: true }, {}, false],
  ['another container without socket', { ...otherContainer, socket: false }, {}, true],
  ['an ended process whose socket answers', { ...earlier, socket: true }, { answers: true }, true],
  ['the original of a copied directory', { inode: '1', socket: true }, {}, false],
  ['the original of a copy, without socket', { inode: '1', socket: false }, {}, true],
  ['a thread of this process that has ended', { ...here, socket: true }, {}, false],
  ['a thread of this process without socket', { ...here, socket: false }, {}, true],
]

void t.test('the LOCK file tells living owners from dead ones', { skip: linuxOnly }, async (t) => {
  const home = t.testdir({})
  const neighbour = start(holder({ sockets: false }), home)
  await firstOutput(neighbour)
  const living = ownerOf(home)
  const self = await ownerTemplate(t)
  for (const [name, change, { answers, ...options }, held] of records) {
    const directory = shortDirectory(t)
    const inode = String(nodeFs.statSync(directory, { bigint: true }).ino)
    const owner: Record<string, unknown> = { ...living, inode, ...change }
    if (owner.startTime === here.startTime) owner.startTime = self.startTime
    nodeFs.writeFileSync(join(directory, lockFileName), JSON.stringify(owner))
    const path = socketPathOf(directory, String(owner.id))
    const socket = answers ? await LockSocket.listen(path) : undefined
    const taking = lockDirectory(directory, options)
    if (held) {
      await t.rejects(taking, { code: 'ERR_LOCKED' }, name)
      await socket?.close()
      t.same(nodeFs.readdirSync(directory), [lockFileName], 'the refused opener leaves nothing')
    } else {
      await (await taking).release()
      t.same(nodeFs.readdirSync(directory), [], name)
    }
  }
  neighbour.kill('SIGKILL')
})

/** What the LOCK file of this process says. */
async function ownerTemplate(t: Test): Promise<Record<string, unknown>> {
  const directory = t.testdir({})
  const lock = await lockDirectory(directory, { sockets: false })
  const owner = ownerOf(directory)
  await lock.release()
  return owner
}

void t.test('a LOCK file without text excludes by its socket', { skip: linuxOnly }, async (t) => {
  const directory = shortDirectory(t)
  nodeFs.writeFileSync(join(directory, lockFileName), '')
  const path = socketPathOf(directory, '0'.repeat(32))
  const socket = await LockSocket.listen(path)
  await t.rejects(lockDirectory(directory), { code: 'ERR_LOCKED' })
  await socket!.close()
  await (await lockDirectory(directory)).release()
  t.same(nodeFs.readdirSync(directory), [])
})

void t.test('heirs of dead owners: the last one counts', { skip: linuxOnly }, async (t) => {
  const self = await ownerTemplate(t)
  const ids = ['a', 'b', 'c'].map((digit) => digit.repeat(32))
  const dead = ids.map((id) => JSON.stringify({ ...self, id, startTime: '1' }))
  const alive = JSON.stringify({ ...self, id: ids[2], socket: false })
  for (const [last, held] of [
    [alive, true],
    [dead[2], false],
    ['damaged', false],
  ] as const) {
    const directory = t.testdir({
      LOCK: dead[0],
      [`LOCK.${ids[0]}.heir`]: dead[1],
      [`LOCK.${ids[1]}.heir`]: last,
      // Of an owner that is in no chain: somebody was too late and died.
      [`LOCK.${'d'.repeat(32)}.heir`]: alive,
      [`LOCK.${'e'.repeat(32)}.new`]: dead[0],
    })
    if (held) {
      await t.rejects(lockDirectory(directory), { code: 'ERR_LOCKED' })
    } else {
      const lock = await lockDirectory(directory)
      t.same(
        nodeFs.readdirSync(directory).filter((name) => !name.endsWith('.socket')),
        ['LOCK'],
      )
      await lock.release()
      t.same(nodeFs.readdirSync(directory), [])
    }
  }
})

void t.test('a lock goes with its directory and leaves the next one alone', async (t) => {
  const home = shortDirectory(t)
  const [place, moved] = [join(home, 'db'), join(home, 'moved')]
  nodeFs.mkdirSync(place)
  const lock = await lockDirectory(place)
  nodeFs.renameSync(place, moved)
  await t.rejects(lockDirectory(moved), { code: 'ERR_LOCKED' })
  nodeFs.mkdirSync(place)
  const second = await lockDirectory(place)
  await lock.release()
  await t.rejects(lockDirectory(place), { code: 'ERR_LOCKED' }, 'the second is held')
  if (linuxOnly === false) t.same(nodeFs.readdirSync(moved), [])
  await second.release()
  t.same(nodeFs.readdirSync(place), [])
})
