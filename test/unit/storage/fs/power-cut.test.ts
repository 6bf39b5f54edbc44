/**
 * The files that a power cut leaves on the simulated disk.
 *
 * @runs long
 */
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { crashPolicies } from '../../../doubles/power-cut.js'
import type { CrashPolicy } from '../../../doubles/power-cut.js'
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

/** All files of the root as one line of text. */
function describe(fileSystem: SimulatedDisk): string {
  const names = fileSystem.listSync('/').sort()
  return names.map((name) => `${name}=${content(fileSystem, `/${name}`)}`).join(' ')
}

/** Every different image that a policy makes of a file system, in 400 draws. */
function images(fileSystem: SimulatedDisk, policy: CrashPolicy): Set<string> {
  const random = generator(seed)
  const found = new Set<string>()
  for (let i = 0; i < 400; i++) found.add(describe(fileSystem.crash(policy, random)))
  return found
}

function withFile(name: string, text: string): { fileSystem: SimulatedDisk; file: File } {
  const fileSystem = new SimulatedDisk()
  const file = fileSystem.openSync(`/${name}`, 'create')
  write(file, text, 0)
  return { fileSystem, file }
}

function durable(fileSystem: SimulatedDisk, file: File): void {
  file.syncSync()
  fileSystem.syncDirectorySync('/')
}

for (const policy of crashPolicies) {
  void t.test(`${policy} never loses what is synced and leaves the old one usable`, async (t) => {
    const { fileSystem, file } = withFile('a', 'hello')
    durable(fileSystem, file)
    t.same([...images(fileSystem, policy)], ['a=hello'])
    const image = fileSystem.crash(policy, generator(seed))
    const copy = image.openSync('/a', 'write')
    write(copy, 'JELLO!', 0)
    image.unlinkSync('/a')
    write(file, ' world', 5)
    t.equal(content(fileSystem, '/a'), 'hello world', 'the two share nothing that changes')
    const target = Buffer.alloc(20)
    t.equal(copy.readSync(target, 0, 20, 0), 6)
  })

  void t.test(`${policy} leaves an image with nothing un-synced and no locks`, async (t) => {
    const { fileSystem, file } = withFile('a', 'x'.repeat(5000))
    write(file, 'y', 100)
    await fileSystem.lock('/')
    const image = fileSystem.crash(policy, generator(seed))
    await image.lock('/')
    const again = image.crash('dropUnsynced', generator(seed))
    t.equal(describe(again), describe(image))
  })

  void t.test(`${policy} makes the same image of the same random numbers`, async (t) => {
    const { fileSystem, file } = withFile('a', 'x'.repeat(5000))
    durable(fileSystem, file)
    write(file, 'y'.repeat(3000), 4000)
    fileSystem.renameSync('/a', '/b')
    withFile('c', 'text')
    const first = describe(fileSystem.crash(policy, generator(seed)))
    t.equal(describe(fileSystem.crash(policy, generator(seed))), first)
  })

  void t.test(`${policy} never invents a state of a directory`, async (t) => {
    const { fileSystem, file } = withFile('old', 'o')
    durable(fileSystem, file)
    const next = fileSystem.openSync('/temporary', 'create')
    write(next, 'n', 0)
    next.syncSync()
    fileSystem.renameSync('/temporary', '/new')
    fileSystem.unlinkSync('/old')
    for (const image of images(fileSystem, policy)) {
      t.match(image, /^(new=n)? ?(old=o)? ?(temporary=n)?$/)
    }
  })
}

void t.test('an un-synced file is lost, and with a synced directory it is empty', async (t) => {
  const { fileSystem } = withFile('a', 'hello')
  t.same([...images(fileSystem, 'dropUnsynced')], [''])
  t.same([...images(fileSystem, 'keepAll')], ['a=hello'])
  fileSystem.syncDirectorySync('/')
  t.same([...images(fileSystem, 'dropUnsynced')], ['a='])
})

void t.test('a synced file without a synced directory is lost', async (t) => {
  const { fileSystem, file } = withFile('a', 'hello')
  file.syncSync()
  t.same([...images(fileSystem, 'dropUnsynced')], [''])
  t.same([...images(fileSystem, 'anyDirectoryOperations')].sort(), ['', 'a=hello'])
})

void t.test('an un-synced append to a durable file leaves its old bytes', async (t) => {
  const { fileSystem, file } = withFile('a', 'hello')
  durable(fileSystem, file)
  write(file, ' world', 5)
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=hello'])
  t.same([...images(fileSystem, 'sizeWithoutData')], ['a=hello\0\0\0\0\0\0'])
  t.same([...images(fileSystem, 'orderedDirectoryOperations')].sort(), ['a=hello', 'a=hello world'])
})

void t.test('an un-synced overwrite may or may not be there', async (t) => {
  const { fileSystem, file } = withFile('a', 'hello')
  durable(fileSystem, file)
  write(file, 'J', 0)
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=hello'])
  t.same([...images(fileSystem, 'sizeWithoutData')], ['a=hello'])
  t.same([...images(fileSystem, 'keepRandomBlocks')].sort(), ['a=Jello', 'a=hello'])
})

void t.test('a directory that its parent has not synced is lost with all in it', async (t) => {
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync('/x')
  const file = fileSystem.openSync('/x/a', 'create')
  file.syncSync()
  fileSystem.syncDirectorySync('/x')
  t.same(fileSystem.crash('dropUnsynced', generator(seed)).listSync('/'), [])
  fileSystem.syncDirectorySync('/')
  t.same(fileSystem.crash('dropUnsynced', generator(seed)).listSync('/x'), ['a'])
})

void t.test('an un-synced rename leaves the old name and the old target', async (t) => {
  const { fileSystem, file } = withFile('a', 'old')
  durable(fileSystem, file)
  const next = fileSystem.openSync('/b', 'create')
  write(next, 'new', 0)
  durable(fileSystem, next)
  fileSystem.renameSync('/b', '/a')
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=old b=new'])
  t.same([...images(fileSystem, 'keepAll')], ['a=new'])
  t.same(
    [...images(fileSystem, 'anyDirectoryOperations')].sort(),
    ['a=new', 'a=new b=new', 'a=old b=new'],
    'P4 leaves old only, new only, or both',
  )
  t.same(
    [...images(fileSystem, 'orderedDirectoryOperations')].sort(),
    ['a=new', 'a=old b=new'],
    'P4o does not split it',
  )
  fileSystem.syncDirectorySync('/')
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=new'])
})

void t.test('a rename before the sync of its file leaves an empty file', async (t) => {
  const { fileSystem } = withFile('a', 'text')
  fileSystem.renameSync('/a', '/b')
  fileSystem.syncDirectorySync('/')
  t.same([...images(fileSystem, 'dropUnsynced')], ['b='])
})

void t.test('an un-synced unlink leaves the file', async (t) => {
  const { fileSystem, file } = withFile('a', 'text')
  durable(fileSystem, file)
  fileSystem.unlinkSync('/a')
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=text'])
  t.same([...images(fileSystem, 'keepAll')], [''])
  fileSystem.syncDirectorySync('/')
  t.same([...images(fileSystem, 'dropUnsynced')], [''])
})

void t.test('P4 keeps any subset and P4o only the first ones', async (t) => {
  const fileSystem = new SimulatedDisk()
  for (const name of ['a', 'b', 'c']) fileSystem.openSync(`/${name}`, 'create').syncSync()
  t.equal(images(fileSystem, 'anyDirectoryOperations').size, 8)
  t.same([...images(fileSystem, 'orderedDirectoryOperations')].sort(), [
    '',
    'a=',
    'a= b=',
    'a= b= c=',
  ])
})

void t.test('P2 keeps whole blocks of 512 bytes and fills the rest with zeros', async (t) => {
  const { fileSystem, file } = withFile('a', 'o'.repeat(700))
  durable(fileSystem, file)
  write(file, 'n'.repeat(1500), 700)
  const found = images(fileSystem, 'keepRandomBlocks')
  t.equal(found.size, 16, 'four blocks have changed')
  for (const image of found) {
    t.equal(image.length, 'a='.length + 2200)
    t.match(image, /^a=o{700}(n{324}|\0{324})(n{512}|\0{512})(n{512}|\0{512})(n{152}|\0{152})$/)
  }
})

void t.test('P2 draws how much it keeps for each crash', async (t) => {
  const { fileSystem } = withFile('a', 'n'.repeat(512 * 1000))
  const random = generator(seed)
  const shares = new Set<number>()
  for (let i = 0; i < 50; i++) {
    const image = content(fileSystem.crash('keepRandomBlocks', random), '/a')
    const kept = image.replaceAll('\0', '').length / image.length
    shares.add(Math.round(kept * 10))
  }
  t.same([...shares].sort(), [1, 5, 9])
})

void t.test('P2g fills what is lost of the new bytes with garbage, never old ones', async (t) => {
  const { fileSystem, file } = withFile('a', 'o'.repeat(700))
  durable(fileSystem, file)
  write(file, 'n'.repeat(1500), 700)
  const found = images(fileSystem, 'keepRandomBlocksGarbage')
  t.ok(found.size > 100)
  for (const image of found) {
    t.ok(image.startsWith(`a=${'o'.repeat(700)}`))
    t.equal(image.length, 2202)
  }
  t.ok([...found].some((image) => /[^on\0]/.test(image.slice(2))))
})

void t.test('P2 may lose the cut of a file, so that an old tail comes back', async (t) => {
  const { fileSystem, file } = withFile('a', 'o'.repeat(1024))
  durable(fileSystem, file)
  file.truncateSync(512)
  write(file, 'n'.repeat(100), 512)
  const found = images(fileSystem, 'keepRandomBlocks')
  t.ok(found.has(`a=${'o'.repeat(512)}${'n'.repeat(100)}${'o'.repeat(412)}`), 'the tail is back')
  t.ok(found.has(`a=${'o'.repeat(512)}${'n'.repeat(100)}`))
  file.syncSync()
  t.same([...images(fileSystem, 'keepRandomBlocks')], [`a=${'o'.repeat(512)}${'n'.repeat(100)}`])
})

void t.test('an un-synced cut is lost or kept', async (t) => {
  const { fileSystem, file } = withFile('a', 'hello')
  durable(fileSystem, file)
  file.truncateSync(2)
  t.same([...images(fileSystem, 'dropUnsynced')], ['a=hello'])
  t.same([...images(fileSystem, 'keepAll')], ['a=he'])
  t.same([...images(fileSystem, 'tornLastWrite')], ['a=he'])
  t.same([...images(fileSystem, 'keepRandomBlocks')].sort(), ['a=he', 'a=hello'])
})

void t.test('P5 cuts the last un-synced append at every byte and keeps all others', async (t) => {
  const { fileSystem, file } = withFile('a', 'one')
  const other = fileSystem.openSync('/b', 'create')
  write(other, 'xyz', 0)
  write(file, 'two', 3)
  t.same([...images(fileSystem, 'tornLastWrite')].sort(), [
    'a=one b=xyz',
    'a=onet b=xyz',
    'a=onetw b=xyz',
  ])
  file.syncSync()
  t.same(
    [...images(fileSystem, 'tornLastWrite')].sort(),
    ['a=onetwo b=', 'a=onetwo b=x', 'a=onetwo b=xy'],
    'once it is synced, the write before is the last one',
  )
})

void t.test('P5 restores what the torn part of the last write had overwritten', async (t) => {
  const { fileSystem, file } = withFile('a', 'hello')
  write(file, 'WORLD', 3)
  t.same([...images(fileSystem, 'tornLastWrite')].sort(), [
    'a=helWO',
    'a=helWOR',
    'a=helWORL',
    'a=helWo',
    'a=hello',
  ])
})

void t.test('P5 of a write behind the end leaves the gap only with a byte of it', async (t) => {
  const { fileSystem, file } = withFile('a', 'x')
  write(file, 'yz', 3)
  t.same([...images(fileSystem, 'tornLastWrite')].sort(), ['a=x', 'a=x\0\0y'])
})

void t.test('a thousand images of a synced big file take no copies', async (t) => {
  const { fileSystem, file } = withFile('a', 'x')
  file.truncateSync(32 * 1024 * 1024)
  durable(fileSystem, file)
  const before = process.memoryUsage().arrayBuffers
  const kept: SimulatedDisk[] = []
  for (let i = 0; i < 1000; i++) kept.push(fileSystem.crash('keepRandomBlocks', generator(i)))
  t.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024)
  t.equal(kept.length, 1000)
})
