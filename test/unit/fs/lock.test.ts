import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import * as nodeFs from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import type { Test } from 'tap'
import { lockDirectory, lockFileName } from '../../../src/fs/lock.js'
import { NodeFileSystem } from '../../../src/fs/node-fs.js'

const moduleUrl = new URL('../../../src/fs/lock.js', import.meta.url).href
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

  void t.test(`${name}: a directory that may not be written is refused`, async (t) => {
    const directory = t.testdir({ db: {} })
    nodeFs.chmodSync(join(directory, 'db'), 0o555)
    // Root may write everywhere, so the attempt runs as somebody else.
    const body = `if (process.getuid?.() === 0) process.setuid(65534)
      lockDirectory(directory, ${JSON.stringify(options)}).catch((error) => {
        console.log(error.code, error.message)
      })`
    const output = await firstOutput(start(body, join(directory, 'db')))
    t.match(output, /^ERR_READ_ONLY lock of .*db failed: EACCES.*needs a directory/)
    nodeFs.chmodSync(join(directory, 'db'), 0o755)
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

void t.test('an opener with a socket respects one without, and the reverse', async (t) => {
  const directory = t.testdir({})
  for (const [first, second] of [
    [{}, { sockets: false }],
    [{ sockets: false }, {}],
  ]) {
    const owner = start(holder(first), directory)
    t.equal(await firstOutput(owner), 'locked')
    await t.rejects(lockDirectory(directory, second), { code: 'ERR_LOCKED' })
    owner.kill('SIGKILL')
    await ended(owner)
  }
})

/** What the LOCK file of this process says, changed. */
async function ownerTemplate(t: Test): Promise<Record<string, unknown>> {
  const directory = t.testdir({})
  const lock = await lockDirectory(directory, { sockets: false })
  const owner = ownerOf(directory)
  await lock.release()
  return owner
}

void t.test(
  'the LOCK file alone tells living owners from dead ones',
  { skip: linuxOnly },
  async (t) => {
    const own = await ownerTemplate(t)
    const cases: readonly (readonly [string, object, boolean])[] = [
      ['this process, another thread', {}, true],
      ['an earlier process of the same id', { startTime: '1' }, false],
      ['no such process', { pid: 4_194_305, startTime: '1' }, false],
      ['a process before the machine was started again', { bootId: 'other' }, false],
      ['another machine', { bootId: 'other', hostname: 'other' }, true],
      ['the same machine under another name', { hostname: 'other' }, true],
      ['a process that does not tell its start', { startTime: undefined }, true],
    ]
    for (const [name, change, held] of cases) {
      const directory = t.testdir({ [lockFileName]: JSON.stringify({ ...own, ...change }) })
      const taking = lockDirectory(directory, { sockets: false })
      if (held) {
        await t.rejects(taking, { code: 'ERR_LOCKED' }, name)
      } else {
        await (await taking).release()
        t.pass(name)
      }
    }
  },
)

void t.test(
  'behind a socket the file matters only across namespaces',
  { skip: linuxOnly },
  async (t) => {
    const own = { ...(await ownerTemplate(t)), guard: 'socket' }
    const cases: readonly (readonly [string, object, boolean])[] = [
      ['a thread of ours that is gone', {}, false],
      ['a living process in another network namespace', { networkNamespace: 'net:[1]' }, true],
      ['a dead one there', { networkNamespace: 'net:[1]', startTime: '1' }, false],
      ['another machine', { networkNamespace: 'net:[1]', bootId: 'b', hostname: 'h' }, false],
      ['one that had no sockets', { guard: 'file' }, true],
      ['a dead one that had no sockets', { guard: 'file', startTime: '1' }, false],
    ]
    for (const [name, change, held] of cases) {
      const directory = t.testdir({ [lockFileName]: JSON.stringify({ ...own, ...change }) })
      const taking = lockDirectory(directory)
      if (held) {
        await t.rejects(taking, { code: 'ERR_LOCKED' }, name)
      } else {
        await (await taking).release()
        t.pass(name)
      }
    }
  },
)

void t.test('a refused opener leaves no lock behind', { skip: linuxOnly }, async (t) => {
  const own = await ownerTemplate(t)
  const directory = t.testdir({ [lockFileName]: JSON.stringify(own) })
  await t.rejects(lockDirectory(directory), { code: 'ERR_LOCKED' })
  nodeFs.unlinkSync(join(directory, lockFileName))
  await (await lockDirectory(directory)).release()
  t.same(nodeFs.readdirSync(directory), [])
})
