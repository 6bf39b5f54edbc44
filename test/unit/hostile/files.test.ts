/**
 * Files of a database are for their owner alone, links do not lead out of its directory, and blocks
 * that claim to be large take no memory.
 *
 * @runs campaign
 */
import { spawnSync } from 'node:child_process'
import {
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { CodecId, loadCodecs } from '../../../src/storage/codec/codec.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../helpers/project-root.js'

const cli = join(projectRoot, 'build/package/cellar.js')
const posixOnly = process.platform === 'win32' && 'modes and links are of POSIX'

// What is made is for the owner alone, whatever the umask allows.
const umask = process.umask(0)
t.teardown(() => process.umask(umask))

/** Everything below a path whose mode lets others in, but for the socket of the lock. */
function open(path: string): string[] {
  const stat = lstatSync(path)
  if (stat.isSocket()) return []
  const wanted = stat.isDirectory() ? 0o700 : 0o600
  const here = (stat.mode & 0o777) === wanted ? [] : [`${path} ${(stat.mode & 0o777).toString(8)}`]
  if (!stat.isDirectory()) return here
  return [...here, ...readdirSync(path).flatMap((name) => open(join(path, name)))]
}

/** A database with files of every kind; closed. */
async function fill(directory: string): Promise<void> {
  const database = await Database.open(directory, { executor: 'inline' })
  const family = { mob: true, mobThreshold: 10 }
  const table = await database.createTable('t', { families: { f: family } })
  for (let i = 0; i < 50; i++) await table.put({ row: `r${i}`, cells: { 'f:q': 'v'.repeat(i) } })
  await database.flush()
  await database.admin.snapshot('kept', 't')
  for (let i = 0; i < 50; i++) await table.put({ row: `r${i}`, cells: { 'f:q': 'w'.repeat(i) } })
  await database.compact(undefined, { major: true })
  await table.put({ row: 'r', cells: { 'f:q': 'in the log' } })
  await database.close()
}

function cellar(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], {
    encoding: 'utf8',
    env: childEnvironment,
  })
  return `${status} ${status === 0 ? stdout : stderr}`
}

void t.test('everything that is made is for its owner alone', { skip: posixOnly }, async (t) => {
  const home = t.testdir({})
  const [directory, backup, restored, saved, folder, dump] = [
    'made/here/db',
    'backup',
    'restored',
    'saved',
    'backups',
    'dump',
  ].map((name) => join(home, name))
  await fill(directory)
  const database = await Database.open(directory, { executor: 'inline' })
  await database.backup(backup)
  const whileOpen = [...open(join(home, 'made')), ...open(backup)]
  await database.close()
  await Database.restore(backup, restored)
  await Database.salvage(directory, saved)
  await Database.repair(restored)
  t.match(cellar('backup', folder, '--directory', directory, '--keep', '2'), /^0 /)
  t.match(cellar('dump', 't', '--output', dump, '--directory', directory), /^0 /)
  const closed = [directory, backup, restored, saved, folder, dump].flatMap(open)
  t.strictSame([...whileOpen, ...closed], [])
  const names = readdirSync(directory).map((name) => name.replace(/^.*\./, '.'))
  t.ok(names.includes('.log') && names.includes('.sst'), names.join(' '))
})

void t.test('a link in place of a file leads nowhere', { skip: posixOnly }, async (t) => {
  const home = t.testdir({})
  const [directory, backup] = ['db', 'backup'].map((name) => join(home, name))
  await fill(directory)
  const database = await Database.open(directory, { executor: 'inline' })
  await database.backup(backup)
  await database.close()
  for (const [place, names] of [
    [directory, readdirSync(directory)],
    [backup, readdirSync(backup)],
  ] as const) {
    // The note of the last backup does not keep an open from going on, which makes a new manifest.
    const isHidden = (name: string): number => Number(name.startsWith('.'))
    names.sort((a, b) => isHidden(a) - isHidden(b))
    for (const name of names) {
      const path = join(place, name)
      const outside = join(home, 'outside')
      if (!lstatSync(path).isFile() || name === 'LOCK') continue
      renameSync(path, outside)
      symlinkSync(outside, path)
      const before = readFileSync(outside)
      const to = join(home, `to-${place === backup}-${name}`)
      const attempts =
        place === backup
          ? [() => Database.restore(backup, to)]
          : [
              () => Database.open(directory, { executor: 'inline' }).then((db) => db.close()),
              () => Database.salvage(directory, to),
            ]
      for (const attempt of attempts) await attempt().catch(() => undefined)
      t.ok(readFileSync(outside).equals(before), `${name} of ${place}: not written through`)
      const copies = lstatSync(to, { throwIfNoEntry: false }) === undefined ? [] : readdirSync(to)
      t.notOk(
        copies.some((copy) => lstatSync(join(to, copy)).isSymbolicLink()),
        'no link is copied',
      )
      const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      if (isLink) renameSync(outside, path)
    }
  }
})

void t.test(
  'a backup and a salvage follow no link at their target',
  { skip: posixOnly },
  async (t) => {
    const home = t.testdir({ outside: {} })
    const directory = join(home, 'db')
    await fill(directory)
    const backup = join(home, 'backup')
    const database = await Database.open(directory, { executor: 'inline' })
    await database.backup(backup)
    const [manifest] = readdirSync(backup).filter((name) => name.startsWith('MANIFEST'))
    const outside = join(home, 'outside', 'file')
    writeFileSync(outside, 'precious')
    for (const name of readdirSync(backup)) {
      if (name === manifest || !lstatSync(join(backup, name)).isFile()) continue
      renameSync(join(backup, name), join(home, 'gone'))
      symlinkSync(outside, join(backup, name))
    }
    await database.backup(backup).catch(() => undefined)
    await database.close()
    await Database.salvage(directory, backup).catch(() => undefined)
    t.equal(readFileSync(outside, 'utf8'), 'precious')
  },
)

void t.test('a block that holds more than it says is refused, in the memory it has', (t) => {
  const codecs = loadCodecs()
  const bomb = deflateSync(Buffer.alloc(256 << 20))
  const target = Buffer.alloc(200, 7)
  const before = process.memoryUsage().arrayBuffers
  const lz4 = codecs.byId(CodecId.lz4)!
  const packed = Buffer.alloc(1 << 20, 0xff)
  packed[0] = 0x1f
  const gz = codecs.byId(CodecId.gz)!
  t.throws(() => gz.decompress(bomb, 0, bomb.length, target, 100))
  t.throws(() => lz4.decompress(packed, 0, packed.length, target, 100))
  const grown = process.memoryUsage().arrayBuffers - before
  t.ok(grown < 8 << 20, `${grown} bytes more`)
  t.ok(
    target.subarray(100).every((byte) => byte === 7),
    'nothing behind the target',
  )
  t.end()
})
