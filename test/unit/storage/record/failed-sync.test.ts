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
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
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

/** How a database was left by a failed sync of its log. */
async function afterFailedSync(syncFailure: 'revert' | 'clean', writesMore = true) {
  const disk = new SimulatedDisk()
  const faulty = new FaultyFileSystem(disk)
  const database = await Database.open('/db', { fileSystem: faulty, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'durable', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
  await table.put({ row: 'written 1', cells: { 'f:v': '1' }, durability: 'SYNC_WAL' })
  const put = { row: 'written 2', cells: { 'f:v': '1' }, durability: 'SYNC_WAL' } as const
  let wrote = false
  const only = ({ kind }: { kind: string }): boolean => {
    // A frame that is written before the failure is known lands behind the lost bytes.
    if (kind === 'sync' && !wrote && writesMore) queueMicrotask(() => table.putSync(put))
    wrote ||= kind === 'sync'
    return kind === 'sync'
  }
  faulty.arm({ failAt: 1, errno: 'EIO', only, syncFailure })
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
