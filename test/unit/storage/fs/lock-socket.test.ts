import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askSocket, LockSocket } from '../../../../src/storage/fs/lock-socket.js'

const skip = process.platform === 'linux' ? false : 'the lock uses sockets on Linux only'

function newPath(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-socket-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'socket')
}

void t.test('a socket answers until it is closed, and leaves nothing', { skip }, async (t) => {
  const path = newPath(t)
  t.equal(await askSocket(path), 'dead', 'none is there')
  const socket = await LockSocket.listen(path)
  t.equal(await askSocket(path), 'alive')
  t.equal(await socket!.ask(), 'alive')
  await socket!.close()
  t.equal(await askSocket(path), 'dead')
  t.notOk(existsSync(path))
})

void t.test('a name that is taken is not had, and the other one keeps it', { skip }, async (t) => {
  const path = newPath(t)
  const first = await LockSocket.listen(path)
  t.equal(await LockSocket.listen(path), undefined)
  t.equal(await first!.ask(), 'alive', 'the first one still answers by its name')
  await first!.close()
  writeFileSync(path, 'a plain file')
  t.equal(await LockSocket.listen(path), undefined)
  t.ok(existsSync(path), 'it is left alone')
  t.equal(await askSocket(path), 'dead', 'a plain file does not answer')
})

void t.test('many may ask at once, before anybody is answered', { skip }, async (t) => {
  const path = newPath(t)
  const socket = await LockSocket.listen(path)
  const answers = await Promise.all(Array.from({ length: 600 }, () => askSocket(path)))
  t.same([...new Set(answers)], ['alive'])
  await socket!.close()
})

void t.test('a path that systems would cut is not used', { skip }, async (t) => {
  const path = `${newPath(t)}${'x'.repeat(100)}`
  t.equal(await LockSocket.listen(path), undefined)
  t.equal(await askSocket(path), 'unknown')
})
