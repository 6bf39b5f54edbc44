import t from 'tap'
import { crashPolicies } from '../../../doubles/power-cut.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { FileOperation } from '../../../doubles/simulated-disk.js'
import type { File } from '../../../../src/storage/fs/types.js'
import { generator, seed } from './random.js'

function write(file: File, text: string, position: number): void {
  file.writeSync(Buffer.from(text, 'latin1'), 0, text.length, position)
}

function content(fileSystem: SimulatedDisk, path: string): string {
  const file = fileSystem.openSync(path, 'read')
  const target = Buffer.alloc(file.sizeSync())
  file.readSync(target, 0, target.length, 0)
  return target.toString('latin1')
}

/** A file system whose file `/a` holds `text` durably. */
function withDurableFile(text: string): { fileSystem: SimulatedDisk; file: File } {
  const fileSystem = new SimulatedDisk()
  const file = fileSystem.openSync('/a', 'create')
  write(file, text, 0)
  file.syncSync()
  fileSystem.syncDirectorySync('/')
  return { fileSystem, file }
}

void t.test('every mutating or syncing operation is announced before it happens', async (t) => {
  const fileSystem = new SimulatedDisk()
  const seen: FileOperation[] = []
  const sizes: (number | undefined)[] = []
  fileSystem.beforeOperation = (operation) => {
    seen.push(operation)
    sizes.push(fileSystem.statSync('/x/y/a')?.size)
  }
  fileSystem.makeDirectorySync('/x/y')
  const file = fileSystem.openSync('/x/y/a', 'create')
  write(file, 'hello', 0)
  file.truncateSync(2)
  file.syncSync()
  await file.sync()
  fileSystem.renameSync('/x/y/a', '/x/y/b')
  fileSystem.syncDirectorySync('/x/y')
  fileSystem.unlinkSync('/x/y/b')
  t.same(
    seen.map(({ kind, path, to }) => [kind, path, to].filter(Boolean).join(' ')),
    [
      'makeDirectory /x',
      'makeDirectory /x/y',
      'create /x/y/a',
      'write /x/y/a',
      'truncate /x/y/a',
      'sync /x/y/a',
      'sync /x/y/a',
      'rename /x/y/a /x/y/b',
      'syncDirectory /x/y',
      'unlink /x/y/b',
    ],
  )
  t.same(sizes.slice(0, 7), [undefined, undefined, undefined, 0, 5, 2, 2])
  t.equal(fileSystem.operationCount, seen.length)
  t.equal(fileSystem.shareable, false)
})

void t.test('reading announces nothing', async (t) => {
  const { fileSystem } = withDurableFile('hello')
  fileSystem.beforeOperation = () => t.fail('announced')
  t.equal(content(fileSystem, '/a'), 'hello')
  fileSystem.listSync('/')
  const lock = await fileSystem.lock('/')
  await lock.release()
})

void t.test('what the hook throws is the failure of the operation', async (t) => {
  const { fileSystem, file } = withDurableFile('hello')
  fileSystem.beforeOperation = () => {
    throw new Error('stop')
  }
  t.throws(() => write(file, 'J', 0), { message: 'stop' })
  t.throws(() => fileSystem.unlinkSync('/a'), { message: 'stop' })
  await t.rejects(file.sync(), { message: 'stop' })
  t.equal(content(fileSystem, '/a'), 'hello')
})

void t.test('an asynchronous sync covers what was written before it, once settled', async (t) => {
  const { fileSystem, file } = withDurableFile('')
  write(file, 'before', 0)
  const syncing = file.sync()
  write(file, 'after', 6)
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), '', 'not yet')
  await syncing
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), 'before')
  t.equal(content(fileSystem.crash('keepAll', generator(seed)), '/a'), 'beforeafter')
  file.syncSync()
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), 'beforeafter')
})

void t.test('an asynchronous sync that settles late does not undo a later one', async (t) => {
  const { fileSystem, file } = withDurableFile('')
  write(file, 'one', 0)
  const syncing = file.sync()
  write(file, 'two', 3)
  file.syncSync()
  await syncing
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), 'onetwo')
})

void t.test('overlapping asynchronous syncs each make their part durable', async (t) => {
  const { fileSystem, file } = withDurableFile('')
  write(file, 'one', 0)
  const first = file.sync()
  write(file, 'two', 3)
  const second = file.sync()
  write(file, 'XX', 1)
  await Promise.all([first, second])
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), 'onetwo')
  t.equal(content(fileSystem, '/a'), 'oXXtwo')
})

void t.test('a rename to another directory never loses both names', async (t) => {
  const random = generator(seed)
  const found = new Set<string>()
  for (const policy of crashPolicies) {
    for (let i = 0; i < 20; i++) {
      const { fileSystem } = withDurableFile('hello')
      fileSystem.makeDirectorySync('/x')
      fileSystem.syncDirectorySync('/')
      fileSystem.renameSync('/a', '/x/b')
      t.equal(content(fileSystem, '/x/b'), 'hello')
      const image = fileSystem.crash(policy, random)
      const paths = ['/a', '/x/b'].filter((path) => image.statSync(path) !== undefined)
      found.add(paths.join(' '))
      for (const path of paths) t.equal(content(image, path), 'hello')
    }
  }
  t.same([...found].sort(), ['/a', '/a /x/b', '/x/b'])
})

void t.test('a sync of either directory keeps the new name of a moved file', async (t) => {
  for (const [synced, left] of [
    ['/', ['/x/b']],
    ['/x', ['/a', '/x/b']],
  ] as const) {
    const { fileSystem } = withDurableFile('hello')
    fileSystem.makeDirectorySync('/x')
    fileSystem.syncDirectorySync('/')
    fileSystem.renameSync('/a', '/x/b')
    fileSystem.syncDirectorySync(synced)
    const image = fileSystem.crash('dropUnsynced', generator(seed))
    t.same(
      ['/a', '/x/b'].filter((path) => image.statSync(path) !== undefined),
      left,
    )
  }
})

void t.test('a power cut after a kill loses what the killed process has not synced', (t) => {
  const { fileSystem, file } = withDurableFile('old')
  write(file, 'new and longer', 0)
  write(fileSystem.openSync('/b', 'create'), 'unsynced', 0)
  fileSystem.linkSync('/a', '/c')
  fileSystem.unlinkSync('/a')
  const killed = fileSystem.kill()
  t.same(killed.runIdentity(), fileSystem.runIdentity())
  t.same(killed.listSync('/').sort(), ['b', 'c'])
  t.equal(content(killed, '/c'), 'new and longer')
  const cut = killed.crash('dropUnsynced', () => 0)
  t.same(cut.listSync('/'), ['a'])
  t.equal(content(cut, '/a'), 'old')

  const reopened = killed.openSync('/c', 'write')
  write(reopened, 'N', 0)
  t.equal(content(fileSystem, '/c'), 'new and longer', 'the source does not change')
  write(file, 'O', 0)
  t.equal(content(killed, '/c'), 'New and longer')
  reopened.syncSync()
  killed.syncDirectorySync('/')
  const later = killed.crash('dropUnsynced', () => 0)
  t.same(later.listSync('/').sort(), ['b', 'c'])
  t.equal(content(later, '/c'), 'New and longer', 'a sync stores what the killed process wrote')
  t.equal(content(later, '/b'), '', 'its other file has its name alone')
  t.end()
})

void t.test('a dropped file reads as the disk holds it', async (t) => {
  const { fileSystem, file } = withDurableFile('hello')
  write(file, 'J', 0)
  write(file, ' world', 5)
  fileSystem.dropUnsynced('/a')
  t.equal(content(fileSystem, '/a'), 'hello')
  write(file, '!', 5)
  file.syncSync()
  t.equal(content(fileSystem.crash('dropUnsynced', generator(seed)), '/a'), 'hello!')
  fileSystem.dropUnsynced('/missing')
})

void t.test('pages dropped as clean read as new but are never stored', async (t) => {
  const { fileSystem, file } = withDurableFile('hello')
  write(file, 'JELLO world', 0)
  fileSystem.dropUnsynced('/a', 'clean')
  t.equal(content(fileSystem, '/a'), 'JELLO world')
  write(file, '!', 11)
  file.syncSync()
  t.equal(content(fileSystem, '/a'), 'JELLO world!')
  const image = fileSystem.crash('keepAll', generator(seed))
  t.equal(content(image, '/a'), 'hello\0\0\0\0\0\0!')
})

void t.test('a drop in the middle of an asynchronous sync prevails', async (t) => {
  const { fileSystem, file } = withDurableFile('hello')
  write(file, 'J', 0)
  const syncing = file.sync()
  fileSystem.dropUnsynced('/a')
  await syncing
  t.equal(content(fileSystem.crash('keepAll', generator(seed)), '/a'), 'hello')
})

void t.test(
  `random writes, cuts, syncs and crashes agree with a model, seed ${seed}`,
  async (t) => {
    const random = generator(seed)
    const below = (limit: number): number => Math.floor(random() * limit)
    let { fileSystem, file } = withDurableFile('')
    let now = Buffer.alloc(0)
    let synced = Buffer.alloc(0)
    for (let step = 0; step < 20_000; step++) {
      const draw = below(100)
      if (draw < 60) {
        const bytes = Buffer.alloc(below(700), 97 + below(26))
        const position = draw < 40 ? now.length : below(now.length + 50)
        file.writeSync(bytes, 0, bytes.length, position)
        const length = bytes.length === 0 ? 0 : position + bytes.length
        const next = Buffer.alloc(Math.max(now.length, length))
        now.copy(next)
        bytes.copy(next, position)
        now = next
      } else if (draw < 70) {
        const next = Buffer.alloc(below(now.length + 30))
        now.copy(next)
        now = next
        file.truncateSync(now.length)
      } else if (draw < 85) {
        file.syncSync()
        synced = Buffer.from(now)
      } else if (draw < 88) {
        fileSystem.dropUnsynced('/a')
        now = Buffer.from(synced)
      } else if (draw < 94) {
        const kept = draw < 90
        fileSystem = fileSystem.crash(kept ? 'keepAll' : 'dropUnsynced', random)
        file = fileSystem.openSync('/a', 'write')
        now = Buffer.from(kept ? now : synced)
        synced = Buffer.from(now)
      }
      if (content(fileSystem, '/a') !== now.toString('latin1')) t.fail(`differs at step ${step}`)
      if (!t.passing()) return
      const lost = fileSystem.crash('dropUnsynced', random)
      if (content(lost, '/a') !== synced.toString('latin1')) t.fail(`image differs at step ${step}`)
    }
  },
)

void t.test('a sync of a directory off the loop covers what came before the call', async (t) => {
  const fileSystem = new SimulatedDisk()
  const names = () => fileSystem.crash('dropUnsynced', () => 0).listSync('/')
  fileSystem.openSync('/a', 'create').closeSync()
  const sync = fileSystem.syncDirectory('/')
  fileSystem.openSync('/b', 'create').closeSync()
  t.same(names(), [], 'nothing is durable while it runs')
  await sync
  t.same(names(), ['a'])
  fileSystem.syncDirectorySync('/')
  t.same(names(), ['a', 'b'])
})
