/**
 * Read-only databases: what they show, that they change nothing, and that a writer beside them does
 * not disturb them.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test as Tap } from 'tap'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import { NodeFileSystem } from '../../../../../src/storage/fs/node-fs.js'
import type { File, FileSystem } from '../../../../../src/storage/fs/types.js'
import { Database, type CellarError } from '../../../../../src/entries/index.js'
import { TestDatabase } from '../../../../helpers/test-database.js'
import { randomFrom, seed } from '../../version/fixtures.js'

/** Names, bytes and times of a directory. */
function contentOf(directory: string): unknown[] {
  return readdirSync(directory)
    .sort()
    .map((name) => {
      const { mtimeMs, ctimeMs, size, ino, mode } = statSync(join(directory, name))
      const isFile = statSync(join(directory, name)).isFile()
      const bytes = isFile ? readFileSync(join(directory, name)).toString('base64') : ''
      return { name, mtimeMs, ctimeMs, size, ino, mode, bytes }
    })
    .concat([{ ...contentless, mtimeMs: statSync(directory).mtimeMs }])
}
const contentless = { name: '.', ctimeMs: 0, size: 0, ino: 0, mode: 0, bytes: '' }

/** Some rows in files, in value files and in the log alone. */
async function fill(db: Database): Promise<void> {
  const mob = { mob: true, mobThreshold: 100 }
  const table = await db.ensureTable('t', { families: { f: { versions: 2 }, g: mob } })
  for (let i = 0; i < 50; i++) table.putSync({ row: `r${i}`, cells: { 'f:v': `${i}` } })
  table.putSync({ row: 'large', cells: { 'g:v': 'x'.repeat(5000) } })
  await db.flush()
  for (let i = 50; i < 60; i++) await table.put({ row: `r${i}`, cells: { 'f:v': `${i}` } })
}

async function check(t: Tap, db: Database): Promise<void> {
  const table = db.table('t')
  t.equal((await table.scan({ columns: ['f'] }).all()).length, 60)
  t.equal((await table.get({ row: 'r59' })).value('f:v', 'utf8'), '59')
  t.equal(table.getSync({ row: 'large' }).value('g:v')?.length, 5000)
}

void t.test('a read-only database writes nothing to its directory', async (t) => {
  const directory = t.testdir()
  const writer = await Database.open(directory, { compactionEnabled: false })
  await fill(writer)
  for (const state of ['beside a writer', 'after a clean close']) {
    if (state === 'after a clean close') await writer.close()
    const before = contentOf(directory)
    const db = await Database.open(directory, { readOnly: true })
    const other = await Database.open(directory, { readOnly: true })
    t.ok(db.isReadOnly)
    t.equal(db.recovery.closedCleanly, state === 'after a clean close')
    await check(t, db)
    await check(t, other)
    db.statistics()
    await db.close()
    await other.close()
    t.strictSame(contentOf(directory), before, state)
  }
  const again = await Database.open(directory)
  await check(t, again)
  await again.close()
})

void t.test('a directory without write permission is read', async (t) => {
  const directory = t.testdir()
  const writer = await Database.open(directory)
  await fill(writer)
  await writer.close()
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o400)
  chmodSync(directory, 0o500)
  const db = await Database.open(directory, { readOnly: true, fileSystem: new ReadingOnly() })
  await check(t, db)
  await db.close()
  chmodSync(directory, 0o700)
})

/** Refuses what changes something, because a test may run as a user whom no permission stops. */
class ReadingOnly extends NodeFileSystem {
  override openSync(path: string, mode: 'read' | 'create' | 'write'): File {
    if (mode !== 'read') throw new Error(`opened ${path} to ${mode}`)
    return super.openSync(path, mode)
  }

  override lock(): never {
    throw new Error('took a lock')
  }

  override makeDirectorySync(): never {
    throw new Error('made a directory')
  }

  override renameSync(): never {
    throw new Error('renamed a file')
  }

  override unlinkSync(): never {
    throw new Error('removed a file')
  }
}

void t.test('every call that writes fails with ERR_READ_ONLY', async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  await fill(test.database)
  await test.database.admin.snapshot('s', 't')
  await test.close()
  const db = await Database.open('/database', { ...test.options, readOnly: true })
  const table = db.table('t')
  const { admin } = db
  const put = { cells: { 'f:v': 'x' } }
  const row = 'r1'
  const calls: Record<string, () => unknown> = {
    put: () => table.put({ row, ...put }),
    putSync: () => table.putSync({ row, ...put }),
    putList: () => table.putList([{ row, ...put }]),
    delete: () => table.delete({ row }),
    deleteSync: () => table.deleteSync({ row }),
    increment: () => table.increment({ row, columns: { 'f:n': 1 } }),
    append: () => table.append({ row, columns: { 'f:v': 'x' } }),
    checkAndMutate: () => table.checkAndMutate({ row, column: 'f:v', equals: '1' }, { put }),
    mutateRow: () => table.mutateRow({ row, mutations: [{ put }] }),
    atomic: () => db.atomic({ mutations: [{ table: 't', row, mutations: [{ put }] }] }),
    atomicSync: () => db.atomicSync({ mutations: [{ table: 't', row, mutations: [{ put }] }] }),
    createTable: () => db.createTable('u', { families: { f: {} } }),
    ensureTable: () => db.ensureTable('t', { families: { f: {}, h: {} } }),
    alterTable: () => db.alterTable('t', { families: { h: {} } }),
    dropTable: () => db.dropTable('t'),
    truncateTable: () => db.truncateTable('t'),
    flush: () => db.flush(),
    compact: () => db.compact(),
    snapshot: () => admin.snapshot('n', 't'),
    restoreSnapshot: () => admin.restoreSnapshot('s'),
    cloneSnapshot: () => admin.cloneSnapshot('s', 'c'),
    deleteSnapshot: () => admin.deleteSnapshot('s'),
    createNamespace: () => admin.createNamespace('n'),
    disableTable: () => admin.disableTable('t'),
  }
  for (const [name, call] of Object.entries(calls)) {
    await t.rejects(async () => call(), { code: 'ERR_READ_ONLY' }, name)
  }
  await check(t, db)
  t.equal((await db.ensureTable('t', { families: { f: {} } })).name, 't')
  await db.close()
  await t.rejects(async () => table.put({ row, ...put }), { code: 'ERR_CLOSED' })
})

void t.test('what is no database is refused, and nothing is made', async (t) => {
  const directory = t.testdir({ empty: {}, foreign: { 'notes.txt': 'mine' }, file: 'text' })
  const open = (name: string): Promise<Database> =>
    Database.open(join(directory, name), { readOnly: true })
  for (const name of ['absent', 'empty', 'foreign', 'file']) {
    await t.rejects(open(name), { code: 'ERR_NOT_A_DATABASE' }, name)
  }
  t.strictSame(readdirSync(directory).sort(), ['empty', 'file', 'foreign'])
  t.strictSame(readdirSync(join(directory, 'empty')), [])
  mkdirSync(join(directory, 'torn'))
  writeFileSync(join(directory, 'torn', '000001.sst'), 'x')
  await t.rejects(open('torn'), { code: 'ERR_CORRUPTION' })
  t.throws(() => readFileSync(join(directory, 'torn', 'LOCK')))
})

/** Lets a writer go on in front of some calls of a reader. */
class Interrupted {
  readonly fileSystem: FileSystem
  step: () => void = () => undefined

  constructor(below: FileSystem) {
    this.fileSystem = new Proxy(below, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...given: unknown[]): unknown => {
          this.step()
          const result: unknown = Reflect.apply(value, target, given)
          return name === 'openSync' ? this.file(result as File) : result
        }
      },
    })
  }

  private file(file: File): File {
    return new Proxy(file, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...given: unknown[]): unknown => {
          this.step()
          return Reflect.apply(value, target, given)
        }
      },
    })
  }
}

void t.test('beside a writer every view is a prefix of the history and stays', async (t) => {
  t.comment(`seed ${seed}`)
  const random = randomFrom(seed)
  const fileSystem = new SimulatedDisk()
  const options = { logBytesMax: 64 * 1024, flushBytes: 64 * 1024, manifestBytesMax: 1024 }
  const test = await TestDatabase.open({ fileSystem, options })
  const mob = { mob: true, mobThreshold: 1000 }
  const table = await test.database.createTable('t', { families: { f: {}, g: mob } })
  let written = 0
  const write = (): void => {
    const value = Buffer.alloc(2000, written)
    const row = String(written++).padStart(6, '0')
    table.putSync({ row, cells: { 'f:v': value, 'g:v': value } })
  }
  const interrupted = new Interrupted(fileSystem)
  const views: { db: Database; count: number }[] = []
  const verify = async ({ db, count }: { db: Database; count: number }): Promise<void> => {
    const rows = await db.table('t').scan().all()
    t.equal(rows.length, count)
    for (const [i, row] of rows.entries()) {
      if (Number(String(row.row)) !== i) t.fail(`row ${i} is ${String(row.row)}`)
      if (row.value('g:v')?.equals(Buffer.alloc(2000, i)) !== true) t.fail(`value ${i}`)
    }
  }
  let interruptions = 0
  for (let i = 0; i < 9; i++) {
    for (let n = random() * 20; n > 0; n--) write()
    const before = written
    const likely = random() * 0.5
    let left = 15
    interrupted.step = () => {
      if (left <= 0 || random() > likely) return
      left--
      interruptions++
      for (let n = random() * 8; n > 0; n--) write()
    }
    const fields = { ...test.options, fileSystem: interrupted.fileSystem, readOnly: true }
    const db = await Database.open('/database', fields)
    interrupted.step = () => undefined
    const count = (await db.table('t').scan().all()).length
    t.ok(count >= before && count <= written, `${before} <= ${count} <= ${written}`)
    views.push({ db, count })
    if (i % 4 === 3) await test.database.compact()
    if (views.length > 3) {
      const oldest = views.shift()!
      await verify(oldest)
      await oldest.db.close()
    }
  }
  t.ok(interruptions > 10, 'the writer came in between')
  await test.database.compact()
  for (const view of views) {
    await verify(view)
    await view.db.close()
  }
  await test.close()
})

void t.test('a directory that never rests is ERR_LOCKED', async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  await test.close()
  const manifest = fileSystem.listSync('/database').find((name) => name.startsWith('MANIFEST'))
  const interrupted = new Interrupted(fileSystem)
  interrupted.step = () => {
    const file = fileSystem.openSync(`/database/${manifest}`, 'write')
    file.writeSync(Buffer.from([1]), 0, 1, file.sizeSync())
    file.closeSync()
  }
  const options = { ...test.options, fileSystem: interrupted.fileSystem, readOnly: true }
  const error = (await Database.open('/database', options).catch((e: unknown) => e)) as CellarError
  t.equal(error.code, 'ERR_LOCKED')
})
