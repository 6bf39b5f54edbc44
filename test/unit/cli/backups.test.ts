/** Folders of backups: their names, and what is no such folder. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { makeBackup } from '../../../src/cli/database/backups.js'
import { Database, NodeFileSystem } from '../../../src/entries/index.js'
import { temporary } from './support.js'

const home = temporary(t)

void t.test('the newest backup stays, also if the clock was set back', async (t) => {
  const database = await Database.open(join(home, 'db'))
  t.teardown(() => database.close())
  await database.createTable('t', { families: { f: {} } })
  const folder = join(home, 'backups')
  const run = (directory: string) => database.backup(directory)
  const backUp = () => makeBackup(folder, 1, { run, verify: undefined })
  const { now } = Date
  t.teardown(() => (Date.now = now))
  Date.now = () => now() + 3_600_000
  const first = await backUp()
  Date.now = now
  const second = await backUp()
  t.strictSame(second.removed, [first.directory.slice(folder.length + 1)])
  t.strictSame(readdirSync(folder), [second.directory.slice(folder.length + 1)])
  t.ok((await Database.verify(second.directory)).sound)
})

void t.test('a backup takes no other backups in', async (t) => {
  const database = await Database.open(join(home, 'other'))
  t.teardown(() => database.close())
  const target = join(home, 'backup')
  await database.backup(target)
  const names = readdirSync(target)
  const run = (directory: string) => database.backup(directory)
  const refusal = { code: 'ERR_INVALID_ARGUMENT', message: /is a backup/ }
  await t.rejects(makeBackup(target, 2, { run, verify: undefined }), refusal)
  t.strictSame(readdirSync(target), names)
})

void t.test('the name of a backup is on the disk before an older one is removed', async (t) => {
  const database = await Database.open(join(home, 'durable'))
  t.teardown(() => database.close())
  const folder = join(home, 'new', 'durable-backups')
  const run = (directory: string) => database.backup(directory)
  const synced = new Map<string, string[]>()
  const { syncDirectorySync } = NodeFileSystem.prototype as {
    syncDirectorySync: (this: NodeFileSystem, path: string) => void
  }
  t.teardown(() => (NodeFileSystem.prototype.syncDirectorySync = syncDirectorySync))
  NodeFileSystem.prototype.syncDirectorySync = function (path) {
    syncDirectorySync.call(this, path)
    synced.set(path, readdirSync(path))
  }
  const first = await makeBackup(folder, 1, { run, verify: undefined })
  t.strictSame(synced.get(dirname(folder)), ['durable-backups'])
  t.ok(synced.get(home)?.includes('new'), 'also those of new folders above')
  synced.clear()
  const second = await makeBackup(folder, 1, { run, verify: undefined })
  const names = [first, second].map(({ directory }) => directory.slice(folder.length + 1))
  t.strictSame(synced.get(folder), names)
  t.ok(synced.has(dirname(folder)))
})

void t.test('a removal that was killed is ended by the next backup', async (t) => {
  const database = await Database.open(join(home, 'killed'))
  t.teardown(() => database.close())
  const folder = join(home, 'killed-backups')
  const run = (directory: string) => database.backup(directory)
  const { directory: first } = await makeBackup(folder, 2, { run, verify: undefined })
  // The folder has lost its name and its first file.
  renameSync(first, `${first}.removing`)
  rmSync(join(`${first}.removing`, 'BACKUP'))
  mkdirSync(join(folder, 'notes.removing'))
  const { directory, removed } = await makeBackup(folder, 2, { run, verify: undefined })
  t.strictSame(removed, [])
  const names = readdirSync(folder).sort()
  t.strictSame(names, [directory.slice(folder.length + 1), 'notes.removing'])
})

void t.test('a folder of backups that cannot be made is told', async (t) => {
  const run = () => Promise.reject(new Error('it was made'))
  const file = join(home, 'file')
  writeFileSync(file, '')
  for (const folder of [join(file, 'backups'), '/proc/none/backups']) {
    const making = makeBackup(folder, 1, { run, verify: undefined })
    await t.rejects(making, { name: 'CellarError', message: /^makeDirectory of / })
  }
})
