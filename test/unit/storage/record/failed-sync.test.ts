/**
 * A sync that fails and loses bytes while the machine runs on: the next open takes the prefix, and
 * what it has kept is on the disk.
 */
import t from 'tap'
import { Database } from '../../../../src/entries/index.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import {
  failedSyncName,
  readFailedSync,
  writeFailedSync,
} from '../../../../src/storage/record/failed-sync.js'
import { fileError, syntheticError } from '../../../../src/storage/fs/errors.js'
import type { DirectoryLock, File, OpenMode } from '../../../../src/storage/fs/types.js'
import { FaultyFileSystem, type FaultyOperation } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

const databaseId = Buffer.from('identityidentity')

function overwrite(disk: SimulatedDisk, path: string, bytes: Buffer): void {
  if (disk.statSync(path) !== undefined) disk.unlinkSync(path)
  const file = disk.openSync(path, 'create')
  file.writeSync(bytes, 0, bytes.length, 0)
  file.closeSync()
}

function contentOf(disk: SimulatedDisk, path: string): Buffer {
  const file = disk.openSync(path, 'read')
  const bytes = Buffer.alloc(file.sizeSync())
  file.readSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return bytes
}

void t.test('a statement has the documented bytes, and a damaged one says nothing', async (t) => {
  await loadChecksums()
  const disk = new SimulatedDisk()
  disk.makeDirectorySync('/d')
  t.equal(readFailedSync(disk, '/d/000012.log', databaseId), Infinity, 'no statement')
  writeFailedSync(disk, '/d/000012.log', databaseId, 4660)
  const path = failedSyncName('/d/000012.log')
  t.equal(path, '/d/000012.log.unsynced')
  const bytes = contentOf(disk, path)
  const head = '43454c4c52554e533412000000000000' + databaseId.toString('hex')
  t.equal(bytes.toString('hex'), head + 'b74cb1e5721c6567')
  t.equal(readFailedSync(disk, '/d/000012.log', databaseId), 4660)
  t.equal(readFailedSync(disk, '/d/000012.log', Buffer.alloc(16)), Infinity, 'another database')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const damaged = Buffer.from(bytes)
    damaged[bit >> 3] ^= 1 << (bit & 7)
    overwrite(disk, path, damaged)
    t.equal(readFailedSync(disk, '/d/000012.log', databaseId), Infinity, `bit ${bit}`)
  }
  overwrite(disk, path, bytes.subarray(0, 39))
  t.equal(readFailedSync(disk, '/d/000012.log', databaseId), Infinity, 'a short one')
})

/** A disk whose process has only so many descriptors. */
class FewDescriptors extends SimulatedDisk {
  descriptorsMax = Infinity
  descriptors = 0

  override openSync(path: string, mode: OpenMode): File {
    if (this.descriptors >= this.descriptorsMax) {
      throw fileError('open', path, syntheticError('EMFILE'))
    }
    const file = super.openSync(path, mode)
    this.descriptors++
    const close = file.closeSync.bind(file)
    let isOpen = true
    file.closeSync = () => {
      if (isOpen) this.descriptors--
      isOpen = false
      close()
    }
    return file
  }
}

/**
 * How a database was left by a failed sync of its log. `alsoFails`: other calls that fail from then
 * on.
 */
async function afterFailedSync(
  syncFailure: 'revert' | 'clean',
  writesMore = true,
  alsoFails = (_: FaultyOperation): boolean => false,
  disk = new SimulatedDisk(),
) {
  const faulty = new FaultyFileSystem(disk)
  const database = await Database.open('/db', { fileSystem: faulty, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'durable', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
  await table.put({ row: 'written 1', cells: { 'f:v': '1' }, durability: 'SYNC_WAL' })
  const put = { row: 'written 2', cells: { 'f:v': '1' }, durability: 'SYNC_WAL' } as const
  let failed = false
  const only = (operation: FaultyOperation): boolean => {
    const { kind } = operation
    // A frame that is written before the failure is known lands behind the lost bytes.
    if (kind === 'sync' && !failed && writesMore) queueMicrotask(() => table.putSync(put))
    const isFirst = kind === 'sync' && !failed
    failed ||= isFirst
    return alsoFails(operation) || isFirst
  }
  faulty.arm({ failAt: 1, persistent: true, errno: 'EIO', only, syncFailure })
  const failing = table.put({ row: 'failing', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
  await t.rejects(failing, { code: 'ERR_IO' })
  await database.close().catch(() => undefined)
  // The process has ended, and the machine runs on with its pages.
  return disk
}

async function rowsOf(disk: SimulatedDisk): Promise<{ rows: string[]; cuts: number }> {
  const database = await Database.open('/db', { fileSystem: disk, executor: 'inline' })
  const results = await database.table('t').scan().toArray()
  const cuts = database.recovery.cuts.length
  await database.table('t').put({ row: 'after', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
  return { rows: results.map(({ row }) => row!.toString()), cuts }
}

void t.test('lost bytes are a torn tail of the next open', async (t) => {
  const disk = await afterFailedSync('revert')
  const names = disk.listSync('/db').filter((name) => name.endsWith('.unsynced'))
  t.equal(names.length, 1, 'the writer has left a statement')
  const { rows, cuts } = await rowsOf(disk)
  t.equal(rows[0], 'durable')
  t.ok(cuts <= 1, `${rows.join()}, ${cuts} cuts`)
  t.strictSame(
    disk.listSync('/db').filter((name) => name.endsWith('.unsynced')),
    [],
    'the open has removed the statement',
  )
  const { rows: again } = await rowsOf(disk.crash('dropUnsynced', () => 0))
  t.strictSame(again, [...rows, 'after'].sort())
})

void t.test('bytes that no sync would store are written again', async (t) => {
  const disk = await afterFailedSync('clean')
  const { rows } = await rowsOf(disk)
  t.ok(rows.includes('failing'), `the bytes read as they were written: ${rows.join()}`)
  const { rows: again } = await rowsOf(disk.crash('dropUnsynced', () => 0))
  t.strictSame(again, [...rows, 'after'].sort(), 'and what an open has shown stays')
})

void t.test('bytes are written again if there is no statement about them', async (t) => {
  const disk = await afterFailedSync('clean', true, ({ path }) => path.endsWith('.unsynced'))
  t.notOk(disk.listSync('/db').some((name) => name.endsWith('.unsynced')))
  const { rows } = await rowsOf(disk)
  t.ok(rows.includes('failing'), `the bytes read as they were written: ${rows.join()}`)
  const { rows: again } = await rowsOf(disk.crash('dropUnsynced', () => 0))
  t.strictSame(again, [...rows, 'after'].sort(), 'and what an open has shown stays')
})

void t.test('a process without another descriptor makes a statement', async (t) => {
  const disk = new FewDescriptors()
  const takeAll = ({ kind }: FaultyOperation): false => {
    if (kind === 'sync') disk.descriptorsMax = disk.descriptors
    return false
  }
  await afterFailedSync('revert', false, takeAll, disk)
  t.equal(disk.listSync('/db').filter((name) => name.endsWith('.unsynced')).length, 1)
})

/** A disk that the next process opens although the one before has not let go of it. */
class UnlockedDisk extends SimulatedDisk {
  override lock(): Promise<DirectoryLock> {
    return Promise.resolve({ release: () => Promise.resolve() })
  }
}

for (const syncFailure of ['clean', 'revert'] as const) {
  void t.test(`a sync of the recovery that fails is made good, '${syncFailure}'`, async (t) => {
    const disk = new UnlockedDisk()
    const killed = await Database.open('/db', { fileSystem: disk, executor: 'inline' })
    const table = await killed.createTable('t', { families: { f: {} } })
    await table.put({ row: 'durable', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
    await table.put({ row: 'written', cells: { 'f:v': '1' }, durability: 'SYNC_WAL' })
    const only = ({ kind, path }: FaultyOperation): boolean =>
      kind === 'sync' && path.endsWith('.log')
    const faulty = new FaultyFileSystem(disk, { failAt: 1, errno: 'EIO', only, syncFailure })
    const opening = Database.open('/db', { fileSystem: faulty, executor: 'inline' })
    await t.rejects(opening, { code: 'ERR_IO' })
    const statements = disk.listSync('/db').filter((name) => name.endsWith('.unsynced'))
    t.equal(statements.length, 1, 'pages that the disk has dropped are no harm')
    const { rows } = await rowsOf(disk)
    t.strictSame(rows, syncFailure === 'clean' ? ['durable', 'written'] : ['durable'])
    const { rows: again } = await rowsOf(disk.crash('dropUnsynced', () => 0))
    t.strictSame(again, [...rows, 'after'].sort(), 'what an open has shown stays')
  })
}

void t.test('a read-only open writes nothing again', async (t) => {
  const disk = new SimulatedDisk()
  const options = { fileSystem: disk, executor: 'inline', logBytesMax: 64 * 1024 } as const
  const database = await Database.open('/db', options)
  const table = await database.createTable('t', { families: { f: {} } })
  // The syncs of older segments do not end before the copy is made.
  for (let i = 0; i < 20; i++) table.putSync({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(8000) } })
  const killed = disk.kill()
  t.ok(killed.listSync('/db').filter((name) => name.endsWith('.log')).length > 1)
  killed.beforeOperation = ({ kind }) => t.fail(kind)
  const view = await Database.open('/db', { ...options, fileSystem: killed, readOnly: true })
  t.equal((await view.table('t').scan().toArray()).length, 20)
  await view.close()
})

void t.test('harm to bytes that were durable is refused all the same', async (t) => {
  // No later frame says that these bytes were durable; the statement alone does.
  const disk = await afterFailedSync('revert', false)
  const name = disk.listSync('/db').find((each) => each.endsWith('.unsynced'))!
  const log = `/db/${name.slice(0, -'.unsynced'.length)}`
  const bytes = contentOf(disk, log)
  let end = bytes.length
  while (bytes[end - 1] === 0) end--
  bytes[end - 5] ^= 1
  overwrite(disk, log, bytes)
  await t.rejects(rowsOf(disk), { code: 'ERR_CORRUPTION' })
})
