/**
 * Calls of the system that fail while a directory is locked or released: a living owner is never
 * taken for a dead one, and no LOCK stays that excludes others without an owner.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lockFileName } from '../../../../src/storage/fs/lock-file.js'
import { lockDirectory } from '../../../../src/storage/fs/lock.js'
import { syntheticError } from '../../../../src/storage/fs/errors.js'

/** Without sockets, as on systems other than Linux: then LOCK alone decides. */
const options = { sockets: false }

/**
 * Makes a function of `node:fs` fail for paths with an end, until the returned call. `after` is the
 * number of calls that succeed before.
 */
function fail(
  t: Test,
  name: 'lstatSync' | 'openSync' | 'readdirSync',
  end: string,
  code: string,
  after = 0,
): () => void {
  const functions = fs as unknown as Record<string, (...values: unknown[]) => unknown>
  const original = functions[name]
  let passed = 0
  functions[name] = (path: unknown, ...others: unknown[]) => {
    if (String(path).endsWith(end) && passed++ >= after) throw syntheticError(code)
    return original(path, ...others)
  }
  syncBuiltinESMExports()
  const undo = (): void => {
    functions[name] = original
    syncBuiltinESMExports()
  }
  t.teardown(undo)
  return undo
}

for (const code of ['EMFILE', 'EIO', 'EACCES']) {
  void t.test(`a LOCK that cannot be read because of ${code} excludes`, async (t) => {
    const directory = t.testdir({})
    const path = join(directory, lockFileName)
    const own = await lockDirectory(directory, options)
    const owner = JSON.parse(fs.readFileSync(path, 'utf8')) as object
    await own.release()
    // A living process that does not tell its start.
    const text = JSON.stringify({ ...owner, pid: process.ppid, startTime: undefined })
    fs.writeFileSync(path, text)
    const undo = fail(t, 'openSync', lockFileName, code)
    const wanted = { code: code === 'EACCES' ? 'ERR_READ_ONLY' : 'ERR_IO', cause: { code } }
    await t.rejects(lockDirectory(directory, options), wanted)
    undo()
    t.equal(fs.readFileSync(path, 'utf8'), text, 'it is still there')
    t.same(fs.readdirSync(directory), [lockFileName])
    await t.rejects(lockDirectory(directory, options), { code: 'ERR_LOCKED' })
  })
}

void t.test('a LOCK that cannot be removed is told', async (t) => {
  const directory = t.testdir({})
  const lock = await lockDirectory(directory, options)
  const undo = fail(t, 'openSync', lockFileName, 'EMFILE')
  await t.rejects(lock.release(), { code: 'ERR_IO', cause: { code: 'EMFILE' } })
  undo()
  t.same(fs.readdirSync(directory), [lockFileName])
})

void t.test('an opener that fails after it took LOCK leaves none', async (t) => {
  const directory = t.testdir({})
  // The path of the directory, or that of its descriptor.
  const undo = fail(t, 'readdirSync', '', 'EMFILE')
  await t.rejects(lockDirectory(directory, options), { code: 'ERR_IO', cause: { code: 'EMFILE' } })
  undo()
  t.same(fs.readdirSync(directory), [])
  const lock = await lockDirectory(directory, options)
  await lock.release()
})

void t.test('an opener that fails at any look at LOCK leaves none, and no claim', async (t) => {
  const directory = t.testdir({})
  const path = join(directory, lockFileName)
  const own = await lockDirectory(directory, options)
  const owner = JSON.parse(fs.readFileSync(path, 'utf8')) as object
  await own.release()
  const dead = JSON.stringify({ ...owner, id: 'd'.repeat(32), startTime: 'before' })
  for (const text of [dead, undefined]) {
    for (const name of ['lstatSync', 'openSync'] as const) {
      for (let after = 0, isLocked = false; !isLocked && after < 10; after++) {
        fs.rmSync(path, { force: true })
        if (text !== undefined) fs.writeFileSync(path, text)
        const undo = fail(t, name, lockFileName, 'EMFILE', after)
        const lock = await lockDirectory(directory, options).catch((error: unknown) => {
          t.match(error, { code: 'ERR_IO', cause: { code: 'EMFILE' } })
        })
        undo()
        isLocked = lock !== undefined
        await lock?.release()
        const left = fs.readdirSync(directory)
        const isThere = text !== undefined && left.includes(lockFileName)
        if (isThere) t.equal(fs.readFileSync(path, 'utf8'), text, `${name} ${after}`)
        t.strictSame(left, isThere ? [lockFileName] : [], `${name} ${after}`)
      }
    }
  }
})
