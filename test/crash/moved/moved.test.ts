/**
 * A database whose directory is moved while open, and a second one at its old path.
 *
 * @runs campaign
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Database } from '../../../src/entries/index.js'
import { lockDirectory, type NodeDirectoryLock } from '../../../src/storage/fs/lock.js'
import { NodeFileSystem } from '../../../src/storage/fs/node-fs.js'
import { hasPool } from '../../../src/storage/job/threads/worker-executor.js'

const linuxOnly =
  process.platform === 'linux' ? false : 'a moved directory is followed on Linux only'

function newHome(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'cellar-moved-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  return home
}

const rows = 300

/** Puts, flushes and merges, so that files of all kinds are made, renamed and removed. */
async function load(database: Database, mark: string, round: number): Promise<void> {
  const table = database.table('t')
  for (let i = 0; i < rows; i++) {
    const cells = { 'f:v': `${mark} ${round}`, 'g:large': `${mark} `.repeat(200) }
    const durability = i % 50 === 0 ? 'FSYNC_WAL' : 'SYNC_WAL'
    await table.put({ row: `${mark}${i}`, cells, durability })
  }
  await database.flush()
  if (round % 2 === 1) await database.compact('t')
  database.admin.rollWALWriter()
}

async function check(t: Test, database: Database, mark: string, round: number): Promise<void> {
  const found = [...database.table('t').scanSync()]
  t.equal(found.length, rows, `${mark} has its rows`)
  const wrong = found.filter((result) => {
    const large = result.value('g:large')?.toString()
    return (
      result.value('f:v')?.toString() !== `${mark} ${round}` || large !== `${mark} `.repeat(200)
    )
  })
  t.equal(wrong.length, 0, `${mark} has its values`)
}

for (const executor of ['inline', 'worker'] as const) {
  const noThreads = executor === 'worker' && !hasPool() && 'piscina is not installed'
  const skip = linuxOnly || noThreads
  void t.test(
    `a moved database goes on, beside one at its old path (${executor})`,
    { skip },
    async (t) => {
      const home = newHome(t)
      const [path, moved] = [join(home, 'db'), join(home, 'old')]
      const options = { executor, manifestBytesMax: 1024, blockCacheBytesMax: 65536 }
      const families = { f: {}, g: { mob: true, mobThreshold: 100 } }
      const first = await Database.open(path, options)
      await first.createTable('t', { families })
      await load(first, 'first', 0)
      renameSync(path, moved)
      await load(first, 'first', 1)
      mkdirSync(path)
      const second = await Database.open(path, options)
      await second.createTable('t', { families })
      t.equal(first.directory, second.directory)
      for (let round = 2; round < 6; round++) {
        await load(first, 'first', round)
        await load(second, 'second', round)
      }
      await t.rejects(Database.open(moved, options), { code: 'ERR_LOCKED' })
      await t.rejects(Database.open(path, options), { code: 'ERR_LOCKED' })
      await check(t, first, 'first', 5)
      await check(t, second, 'second', 5)
      await Promise.all([first.close(), second.close()])
      for (const [place, mark] of [
        [moved, 'first'],
        [path, 'second'],
      ]) {
        const database = await Database.open(place, options)
        await check(t, database, mark, 5)
        await database.close()
        t.same(
          readdirSync(place).filter((name) => name.startsWith('LOCK')),
          [],
        )
      }
    },
  )
}

void t.test(
  'a database whose directory was removed fails, and makes no new one',
  { skip: linuxOnly },
  async (t) => {
    const home = newHome(t)
    const path = join(home, 'db')
    const database = await Database.open(path, { executor: 'inline' })
    const table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:v': 'value' } })
    rmSync(path, { recursive: true })
    mkdirSync(path)
    await t.rejects(database.flush(), { code: 'ERR_IO' })
    t.equal(table.getSync({ row: 'r' }).value('f:v')?.toString(), 'value')
    t.throws(() => database.admin.rollWALWriter(), { code: 'ERR_IO' })
    await database.close().catch(() => undefined)
    t.same(readdirSync(path), [])
  },
)

/** A file system that cannot follow a directory, as on other systems than Linux. */
class WithoutDescriptors extends NodeFileSystem {
  override lock(directory: string): Promise<NodeDirectoryLock> {
    return lockDirectory(directory, { descriptors: false })
  }
}

void t.test(
  'where a moved directory cannot be followed, writes fail and touch nothing',
  async (t) => {
    const home = newHome(t)
    const [path, moved] = [join(home, 'db'), join(home, 'old')]
    const options = { executor: 'inline' as const, fileSystem: new WithoutDescriptors() }
    const first = await Database.open(path, options)
    const table = await first.createTable('t', { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:v': 'first' }, durability: 'FSYNC_WAL' })
    renameSync(path, moved)
    mkdirSync(path)
    const second = await Database.open(path, options)
    await second.createTable('t', { families: { f: {} } })
    const names = readdirSync(path).sort()
    await t.rejects(first.flush(), { code: 'ERR_DIRECTORY_MOVED' })
    t.throws(() => first.admin.rollWALWriter(), { code: 'ERR_DIRECTORY_MOVED' })
    await t.rejects(table.put({ row: 's', cells: { 'f:v': 'late' } }), { code: 'ERR_POISONED' })
    await first.close().catch(() => undefined)
    t.same(readdirSync(path).sort(), names, 'the second directory is as it was')
    await second.table('t').put({ row: 'r', cells: { 'f:v': 'second' } })
    await second.close()
    for (const [place, value] of [
      [moved, 'first'],
      [path, 'second'],
    ]) {
      const database = await Database.open(place, options)
      t.equal(database.table('t').getSync({ row: 'r' }).value('f:v')?.toString(), value)
      await database.close()
    }
  },
)
