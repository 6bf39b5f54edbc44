/** Backups and restores: what they hold, what is kept, and what is refused. */
import t from 'tap'
import { fileError, syntheticError } from '../../../../../src/storage/fs/errors.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import { NodeFileSystem } from '../../../../../src/storage/fs/node-fs.js'
import { Database, type CellarError } from '../../../../../src/entries/index.js'
import { TestDatabase } from '../../../../helpers/test-database.js'

const families = { f: { versions: 3 }, g: { mob: true, mobThreshold: 100 } }

async function fill(test: TestDatabase, mark: string): Promise<void> {
  const table = await test.database.ensureTable('t', { families })
  for (let i = 0; i < 20; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:v': mark, 'g:v': mark.repeat(100) } })
  }
}

/** The content of a restored database: rows and marks. */
async function restored(test: TestDatabase, directory: string): Promise<string[]> {
  const { fileSystem } = test
  await Database.restore('/backup', directory, { fileSystem })
  const db = await Database.open(directory, test.options)
  const rows = await db.table('t').scan({ versions: 'all' }).all()
  const marks = rows.map((row) => `${row.value('f:v', 'utf8')} ${row.value('g:v')?.length}`)
  await db.close()
  return marks
}

/** Where names of one directory lie on another disk. */
class TwoDisks extends SimulatedDisk {
  override linkSync(from: string, to: string): void {
    const disk = (path: string): boolean => path.startsWith('/backup')
    if (disk(from) !== disk(to)) throw fileError('link', from, syntheticError('EXDEV'))
    super.linkSync(from, to)
  }
}

for (const [place, fileSystem] of [
  ['by links', new SimulatedDisk()],
  ['by copies', new TwoDisks()],
] as const) {
  void t.test(`a backup has the tables of its moment, ${place}`, async (t) => {
    const test = await TestDatabase.open({ fileSystem })
    await fill(test, 'one')
    await test.database.admin.createNamespace('n')
    await test.database.admin.snapshot('s', 't')
    await test.database.table('t').put({
      row: 'unlogged',
      cells: { 'f:v': 'one', 'g:v': 'x'.repeat(300) },
      durability: 'SKIP_WAL',
    })
    const parts: number[] = []
    const first = await test.database.backup('/backup', { onProgress: (part) => parts.push(part) })
    t.equal(parts.at(-1), 1)
    t.equal(first.filesKept, 0)
    t.equal(first.files, place === 'by links' ? first.filesLinked : first.filesCopied)
    t.ok(first.files >= 2 && first.bytes > 1000)
    await fill(test, 'two')
    await test.database.dropTable('t')
    t.same(await restored(test, '/first'), Array(21).fill('one 300'))
    const db = await Database.open('/first', test.options)
    t.same(db.admin.listNamespaces().includes('n'), true)
    await db.admin.cloneSnapshot('s', 'c')
    t.equal((await db.table('c').scan().all()).length, 20)
    t.ok((db.table('t').putSync({ row: 'new', cells: { 'f:v': 'three' } }).sequence ?? 0) > 0)
    await db.close()
    await test.database.admin.restoreSnapshot('s')
    await fill(test, 'two')
    const second = await test.database.backup('/backup')
    t.ok(second.filesKept >= 1, `${second.filesKept} files kept`)
    t.ok(second.sequence > first.sequence)
    t.same(await restored(test, '/second'), Array(20).fill('two 300'))
    const third = await test.database.backup('/backup')
    t.equal(third.filesKept, third.files)
    await test.close()
  })
}

void t.test('a backup that is there is opened read-only, not for writing', async (t) => {
  const test = await TestDatabase.open()
  await fill(test, 'one')
  await test.database.backup('/backup')
  await t.rejects(Database.open('/backup', test.options), { code: 'ERR_NOT_A_DATABASE' })
  const names = test.fileSystem.listSync('/backup').sort()
  const db = await Database.open('/backup', { ...test.options, readOnly: true })
  t.equal((await db.table('t').scan().all()).length, 20)
  await t.rejects(db.backup('/other'), { code: 'ERR_READ_ONLY' })
  await db.close()
  t.same(test.fileSystem.listSync('/backup').sort(), names)
  await test.close()
})

void t.test('what is no backup of the database is refused and stays', async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  await fill(test, 'one')
  const other = await TestDatabase.open({ fileSystem, directory: '/other' })
  await fill(other, 'two')
  const { database } = test
  const code = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'none',
      (error: unknown) => (error as CellarError).code,
    )
  fileSystem.makeDirectorySync('/foreign')
  fileSystem.openSync('/foreign/notes', 'create').closeSync()
  t.equal(await code(database.backup('/foreign')), 'ERR_NOT_A_BACKUP')
  t.equal(await code(database.backup('/foreign/notes')), 'ERR_NOT_A_BACKUP')
  t.same(fileSystem.listSync('/foreign'), ['notes'])
  t.equal(await code(database.backup('/database')), 'ERR_NOT_A_BACKUP')
  t.equal(await code(database.backup('/other')), 'ERR_NOT_A_BACKUP')
  await other.database.backup('/of-other')
  t.equal(await code(database.backup('/of-other')), 'ERR_NOT_A_BACKUP')
  t.equal(await code(database.backup('')), 'ERR_INVALID_ARGUMENT')
  t.equal(await code(database.backup('/b', { onProgres: 1 } as never)), 'ERR_INVALID_ARGUMENT')
  const signal = AbortSignal.abort()
  t.equal(await code(database.backup('/aborted', { signal })), 'ERR_ABORTED')
  const restore = (from: string, to: string): Promise<string> =>
    code(Database.restore(from, to, { fileSystem }))
  t.equal(await restore('/aborted', '/r'), 'ERR_BACKUP_INCOMPLETE')
  t.equal(await restore('/absent', '/r'), 'ERR_NOT_A_BACKUP')
  t.equal(await restore('/foreign', '/r'), 'ERR_NOT_A_BACKUP')
  await database.backup('/backup')
  t.equal(await restore('/backup', '/foreign'), 'ERR_DIRECTORY_NOT_EMPTY')
  t.equal(await restore('/backup', '/foreign/notes'), 'ERR_DIRECTORY_NOT_EMPTY')
  t.equal(await restore('/backup', '/database'), 'ERR_DIRECTORY_NOT_EMPTY')
  t.equal(fileSystem.statSync('/r'), undefined)
  const lock = await fileSystem.lock('/backup')
  t.equal(await code(database.backup('/backup')), 'ERR_LOCKED')
  await lock.release()
  const all = [database.backup('/twice'), database.backup('/twice')].map(code)
  t.same((await Promise.all(all)).sort(), ['ERR_LOCKED', 'none'])
  const late = code(database.backup('/late'))
  await test.close()
  t.equal(await late, 'ERR_CLOSED')
  t.equal(await code(database.backup('/closed')), 'ERR_CLOSED')
  await other.close()
})

void t.test('a damaged backup is refused with the file, and nothing is made', async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  await fill(test, 'one')
  await test.database.backup('/backup')
  // Links share their bytes, so the backup is damaged on its own.
  await test.close()
  for (const name of fileSystem.listSync('/backup')) {
    const path = `/backup/${name}`
    const { size } = fileSystem.statSync(path)!
    const bytes = Buffer.alloc(size)
    const file = fileSystem.openSync(path, 'write')
    file.readSync(bytes, 0, size, 0)
    const damages = [
      (): void => file.writeSync(Buffer.from([bytes[50] ^ 1]), 0, 1, 50),
      (): void => file.truncateSync(size - (name.startsWith('MANIFEST') ? size - 100 : 1)),
    ]
    for (const damage of damages) {
      damage()
      const failure = await Database.restore('/backup', '/r', { fileSystem }).catch(
        (error: unknown) => error as CellarError,
      )
      t.equal(failure?.code, 'ERR_CORRUPTION', `${name}: ${failure?.message}`)
      t.match(failure?.corruption?.file, name)
      t.equal(fileSystem.statSync('/r'), undefined)
      file.truncateSync(0)
      file.writeSync(bytes, 0, size, 0)
    }
    file.closeSync()
  }
  await Database.restore('/backup', '/r', { fileSystem })
})

void t.test('histories that parted do not mix in one backup', async (t) => {
  const test = await TestDatabase.open({ fileSystem: new TwoDisks() })
  await fill(test, 'one')
  await test.database.backup('/backup')
  await test.close()
  const { fileSystem, options, clock } = test
  await Database.restore('/backup', '/left', { fileSystem })
  await Database.restore('/backup', '/right', { fileSystem })
  const outcomes: unknown[] = []
  // Both number their files alike from here on.
  for (const [directory, mark] of Object.entries({ '/left': 'two', '/right': 'six' })) {
    const one = await TestDatabase.open({ fileSystem, options, clock, directory })
    await fill(one, mark)
    outcomes.push(await one.database.backup('/backup').catch((e: unknown) => e))
    await one.close()
  }
  t.match(outcomes, [{ filesKept: 3 }, { code: 'ERR_NOT_A_BACKUP' }])
  t.same(await restored(test, '/again'), Array(20).fill('two 300'))
})

void t.test('writes go on while a backup copies, on the disk of the machine', async (t) => {
  const root = t.testdir()
  class NoLinks extends NodeFileSystem {
    override linkSync(from: string): void {
      throw fileError('link', from, syntheticError('EXDEV'))
    }
  }
  const fileSystem = new NoLinks()
  const test = await TestDatabase.open({ fileSystem, directory: `${root}/database` })
  const table = await test.database.createTable('t', { families })
  const put = (i: number): void => {
    table.putSync({ row: String(i).padStart(6, '0'), cells: { 'f:v': Buffer.alloc(5000, i) } })
  }
  let written = 0
  while (written < 200) put(written++)
  let ended = false
  const backup = test.database.backup(`${root}/backup`).finally(() => (ended = true))
  const before = written
  while (!ended) {
    for (let n = 0; n < 5; n++) put(written++)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { sequence } = await backup
  t.ok(written > before, `${written - before} puts meanwhile`)
  await Database.restore(`${root}/backup`, `${root}/restored`)
  const restored = await Database.open(`${root}/restored`, test.options)
  const rows = await restored.table('t').scan().all()
  const names = Array.from({ length: rows.length }, (_, i) => String(i).padStart(6, '0'))
  t.same(
    rows.map((row) => String(row.row)),
    names,
    `a prefix of the history up to ${sequence}`,
  )
  t.ok(rows.length >= before && rows.length <= written)
  await restored.close()
  await test.close()
})
