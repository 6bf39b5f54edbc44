/**
 * Steps of backups and restores whose loss would show in rare cases only.
 *
 * @runs campaign
 */
import t from 'tap'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import { fileError, syntheticError } from '../../../../../src/storage/fs/errors.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import {
  Database,
  type File,
  type FileSystem,
  type OpenMode,
} from '../../../../../src/entries/index.js'
import { randomFrom, seed } from '../../version/fixtures.js'

const inline = { executor: 'inline', compactionEnabled: false } as const

/** A database with several SSTables and the rows `r0`, `r1` and so on. */
async function open(fileSystem: FileSystem, files: number): Promise<Database> {
  const database = await Database.open('/db', { ...inline, fileSystem })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < files; i++) {
    await table.put({ row: `r${i}`, cells: { 'f:q': `v${i}` } })
    await database.flush()
  }
  return database
}

/** The rows of the backup in `/backup`. */
async function rowsOf(fileSystem: FileSystem): Promise<string[]> {
  const database = await Database.open('/backup', { ...inline, fileSystem, readOnly: true })
  const rows = [...database.table('t').scanSync()].map(({ row }) => String(row))
  await database.close()
  return rows
}

const codeOf = (error: unknown): string => (error as { code: string }).code

void t.test(`a power cut never leaves a backup without its files, seed ${seed}`, async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, 3)
  const random = randomFrom(seed)
  const images: SimulatedDisk[] = []
  fileSystem.beforeOperation = () => {
    for (let i = 0; i < 8; i++) images.push(fileSystem.crash('anyDirectoryOperations', random))
  }
  await database.backup('/backup')
  fileSystem.beforeOperation = undefined
  await database.close()
  const incomplete = new Set([
    'ERR_BACKUP_INCOMPLETE',
    'ERR_NOT_A_DATABASE',
    'ERR_NOT_A_BACKUP',
    'ERR_IO',
  ])
  let whole = 0
  for (const image of images) {
    try {
      await Database.restore('/backup', '/again', { fileSystem: image })
    } catch (error) {
      t.ok(incomplete.has(codeOf(error)), codeOf(error))
      continue
    }
    whole++
    const again = await Database.open('/again', { ...inline, fileSystem: image })
    t.equal([...again.table('t').scanSync()].length, 3)
    await again.close()
  }
  t.ok(whole > 0, `${whole} of ${images.length} images hold the backup`)
})

void t.test('a file that was cut is not backed up', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, 2)
  await database.backup('/backup')
  await database.table('t').put({ row: 'r2', cells: { 'f:q': 'v2' } })
  await database.flush()
  const last = fileSystem
    .listSync('/db')
    .filter((name) => name.endsWith('.sst'))
    .sort()
    .at(-1)!
  const file = fileSystem.openSync(`/db/${last}`, 'write')
  file.truncateSync(100)
  file.closeSync()
  const wanted = { code: 'ERR_CORRUPTION', corruption: { file: `/db/${last}`, offset: 100 } }
  await t.rejects(database.backup('/backup'), wanted)
  await t.rejects(database.backup('/another'), wanted)
  t.same(await rowsOf(fileSystem), ['r0', 'r1'], 'the earlier backup is in force')
  await database.close()
})

/** A file system without hard links, in which copies of SSTables wait for `gate`. */
class SlowCopies extends SimulatedDisk {
  gate: Promise<unknown> = Promise.resolve()

  override linkSync(from: string): void {
    throw fileError('link', from, syntheticError('EXDEV'))
  }

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    if (mode !== 'read' || !path.endsWith('.sst')) return file
    const read = file.read.bind(file)
    return Object.assign(file, {
      read: async (...call: Parameters<File['read']>) => {
        await this.gate
        return read(...call)
      },
    })
  }
}

void t.test(`copies of a backup that was killed are durable, seed ${seed}`, async (t) => {
  const random = randomFrom(seed)
  for (let dieAt = 1, isWhole = false; !isWhole; dieAt++) {
    const fileSystem = new SlowCopies()
    const database = await open(fileSystem, 2)
    let operations = 0
    fileSystem.beforeOperation = () => {
      // Not even a cleanup works any more, as after a kill.
      if (++operations >= dieAt) throw fileError('write', '/backup', syntheticError('EIO'))
    }
    isWhole = await database.backup('/backup').then(
      () => operations < dieAt,
      () => false,
    )
    fileSystem.beforeOperation = undefined
    await database.backup('/backup')
    for (const policy of ['dropUnsynced', 'sizeWithoutData'] as const) {
      const image = fileSystem.crash(policy, random)
      await Database.restore('/backup', '/again', { fileSystem: image })
      t.ok(image.statSync('/again'), `killed at operation ${dieAt}, ${policy}`)
    }
    await database.close()
  }
})

void t.test('a compaction beside a backup removes no file that is to be copied', async (t) => {
  const fileSystem = new SlowCopies()
  const database = await open(fileSystem, 5)
  let compacted: Promise<void> | undefined
  await database.backup('/backup', {
    onProgress: () => {
      // Behind the first file: the others wait until they would be gone.
      compacted ??= database.compact('t')
      fileSystem.gate = compacted
    },
  })
  await compacted
  t.same(await rowsOf(fileSystem), ['r0', 'r1', 'r2', 'r3', 'r4'])
  await database.close()
})

void t.test('the backup of a database with lower file numbers becomes the new one', async (t) => {
  const fileSystem = new SimulatedDisk()
  let database = await open(fileSystem, 2)
  await database.backup('/early')
  for (let i = 0; i < 20; i++) {
    await database.close()
    database = await Database.open('/db', { ...inline, fileSystem })
  }
  await database.backup('/backup')
  await database.close()
  await Database.restore('/early', '/again', { fileSystem })
  const again = await Database.open('/again', { ...inline, fileSystem })
  await again.table('t').put({ row: 'new', cells: { 'f:q': 'v' } })
  await again.backup('/backup')
  await again.close()
  t.same(await rowsOf(fileSystem), ['new', 'r0', 'r1'])
})

void t.test('a restore that fails leaves an empty directory', async (t) => {
  const inner = new SimulatedDisk()
  const database = await open(inner, 3)
  await database.backup('/backup')
  await database.close()
  const only = ({ kind, path }: { kind: string; path: string }): boolean =>
    ['link', 'write', 'sync', 'rename', 'syncDirectory'].includes(kind) &&
    !path.includes('LOCK') &&
    !path.endsWith('/')
  for (let failAt = 1; ; failAt++) {
    const fault = { failAt, errno: 'ENOSPC', only } as const
    const fileSystem = new FaultyFileSystem(inner.kill(), fault)
    try {
      await Database.restore('/backup', '/again', { fileSystem })
    } catch (error) {
      t.equal(codeOf(error), 'ERR_NO_SPACE')
    }
    if (fileSystem.failures === 0) break
    const isThere = fileSystem.statSync('/again') !== undefined
    t.same(isThere ? fileSystem.listSync('/again') : [], [], `call ${failAt} failed`)
    await Database.restore('/backup', '/again', { fileSystem })
  }
})

void t.test('a restore leaves alone what has filled its directory meanwhile', async (t) => {
  for (const isRestored of [true, false]) {
    const fileSystem = new SimulatedDisk()
    const database = await open(fileSystem, 3)
    await database.backup('/backup')
    await database.close()
    const lock = fileSystem.lock.bind(fileSystem)
    // While the restore checked the backup, another one has ended, and its database was used.
    fileSystem.lock = async (directory) => {
      fileSystem.lock = lock
      if (isRestored) await Database.restore('/backup', '/again', { fileSystem })
      const other = await Database.open('/again', { ...inline, fileSystem })
      const table = await other.ensureTable('t', { families: { f: {} } })
      await table.put({ row: 'new', cells: { 'f:q': 'v' } })
      await other.flush()
      await other.close()
      return lock(directory)
    }
    const restoring = Database.restore('/backup', '/again', { fileSystem })
    await t.rejects(restoring, { code: 'ERR_DIRECTORY_NOT_EMPTY' })
    const again = await Database.open('/again', { ...inline, fileSystem })
    const rows = [...again.table('t').scanSync()].map(({ row }) => String(row))
    t.same(rows, isRestored ? ['new', 'r0', 'r1', 'r2'] : ['new'])
    await again.close()
  }
})

void t.test('a signal ends a restore before, and after the last file', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, 1)
  await database.backup('/backup')
  await database.truncateTable('t')
  await database.backup('/empty')
  await database.close()
  const signal = AbortSignal.abort()
  for (const from of ['/backup', '/empty']) {
    const restoring = Database.restore(from, '/again', { fileSystem, signal })
    await t.rejects(restoring, { code: 'ERR_ABORTED' }, from)
    t.equal(fileSystem.statSync('/again'), undefined, 'nothing was made')
  }
  const abort = new AbortController()
  const link = fileSystem.linkSync.bind(fileSystem)
  fileSystem.linkSync = (one, other) => {
    link(one, other)
    abort.abort()
  }
  const late = Database.restore('/backup', '/again', { fileSystem, signal: abort.signal })
  await t.rejects(late, { code: 'ERR_ABORTED' })
  t.strictSame(fileSystem.listSync('/again'), [])
})

void t.test('a restore whose progress fails at its end leaves an empty directory', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, 2)
  await database.backup('/backup')
  await database.close()
  const onProgress = (part: number): void => {
    if (part === 1) throw new Error('no more')
  }
  const restoring = Database.restore('/backup', '/again', { fileSystem, onProgress })
  await t.rejects(restoring, { message: 'no more' })
  t.same(fileSystem.listSync('/again'), [])
})

void t.test('an open does not take a directory that has become a backup meanwhile', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem, 2)
  const lock = fileSystem.lock.bind(fileSystem)
  fileSystem.lock = async (directory) => {
    fileSystem.lock = lock
    await database.backup('/backup')
    return lock(directory)
  }
  const opening = Database.open('/backup', { ...inline, fileSystem })
  await t.rejects(opening, { code: 'ERR_NOT_A_DATABASE' })
  t.same(await rowsOf(fileSystem), ['r0', 'r1'])
  await database.backup('/backup')
  await database.close()
})
