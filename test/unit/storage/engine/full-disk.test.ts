/**
 * A database on a full disk: it opens, gives space back, and goes on.
 *
 * @runs campaign
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { FileOperation } from '../../../doubles/simulated-disk.js'
import { Database, type OpenOptions } from '../../../../src/entries/index.js'

const options: OpenOptions = { executor: 'inline', compactionEnabled: false }
const rows = 50

async function open(fileSystem: SimulatedDisk): Promise<Database> {
  return Database.open('/db', { ...options, fileSystem })
}

/** Tables `a`, `b` and `c` in SSTables, a snapshot of `c`, and in the log more rows of `b`. */
async function fill(database: Database): Promise<void> {
  for (const name of ['a', 'b', 'c']) {
    await database.createTable(name, { families: { f: { compression: 'NONE' } } })
    await put(database, name, 0)
    await database.flush(name)
  }
  await database.admin.snapshot('snapshot', 'c')
  await put(database, 'b', rows)
}

async function put(database: Database, table: string, first: number): Promise<void> {
  for (let i = first; i < first + rows; i++) {
    await database.table(table).put({ row: `row:${i}`, cells: { 'f:q': Buffer.alloc(1000, i) } })
  }
}

async function count(database: Database, table: string): Promise<number> {
  const found = []
  for await (const row of database.table(table).scan({})) found.push(row)
  return found.length
}

/** A full file system with a database that was closed, or killed with a log to replay. */
async function full(end: 'closed' | 'killed', freeBytes: number): Promise<SimulatedDisk> {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem)
  await fill(database)
  if (end === 'closed') await database.close()
  const left = end === 'closed' ? fileSystem : fileSystem.kill()
  if (end === 'killed') await database.close()
  left.storeAll()
  left.capacityBytes = left.allocatedBytes + freeBytes
  return left
}

/** Bytes that are free, and those of the reserve, which takes what it lacks as soon as it can. */
function spaceOf(fileSystem: SimulatedDisk): number {
  const reserveBytes = fileSystem.statSync('/db/RESERVE')?.size ?? 0
  return fileSystem.capacityBytes! - fileSystem.allocatedBytes + reserveBytes
}

/** Opens, gives space back in each way, writes at once, and does all again after a reopen. */
async function tidyUp(t: Test, fileSystem: SimulatedDisk): Promise<void> {
  let database = await open(fileSystem)
  t.equal(await count(database, 'b'), 2 * rows, 'all is there')
  await database.admin.deleteSnapshot('snapshot')
  const before = fileSystem.allocatedBytes
  const spaceBefore = spaceOf(fileSystem)
  await database.dropTable('a')
  t.ok(spaceOf(fileSystem) > spaceBefore, 'space is back')
  await database.truncateTable('c')
  t.ok(fileSystem.allocatedBytes <= before)
  await database.table('c').put({ row: 'new', cells: { 'f:q': 'at once' } })
  await database.close()
  database = await open(fileSystem)
  t.ok(database.recovery.closedCleanly)
  t.equal(await count(database, 'b'), 2 * rows)
  t.equal(await count(database, 'c'), 1)
  t.throws(() => database.table('a'), { code: 'ERR_TABLE_NOT_FOUND' })
  await database.table('c').put({ row: 'newer', cells: { 'f:q': 'after the reopen' } })
  await database.close()
}

for (const end of ['closed', 'killed'] as const) {
  for (const freeBytes of [0, 4096, 8192]) {
    void t.test(`${end}, ${freeBytes} bytes free`, async (t) => {
      await tidyUp(t, await full(end, freeBytes))
    })
  }
}

void t.test('without the reserve, the same disk does not open', async (t) => {
  const fileSystem = await full('killed', 0)
  fileSystem.unlinkSync('/db/RESERVE')
  fileSystem.capacityBytes = fileSystem.allocatedBytes
  await t.rejects(open(fileSystem), { code: 'ERR_NO_SPACE' })
})

void t.test('opens, kills and closes on a full disk do not use up the reserve soon', async (t) => {
  let fileSystem = await full('killed', 0)
  const { capacityBytes } = fileSystem
  for (let round = 0; round < 16; round++) {
    const database = await open(fileSystem)
    const left = round % 2 === 0 ? fileSystem.kill() : fileSystem
    await database.close()
    fileSystem = left
    fileSystem.capacityBytes = capacityBytes
  }
  await tidyUp(t, fileSystem)
})

void t.test('a write on a full disk is refused, and nothing else is lost', async (t) => {
  const fileSystem = await full('killed', 0)
  const database = await open(fileSystem)
  const large = { row: 'large', cells: { 'f:q': Buffer.alloc(20_000) } }
  await t.rejects(database.table('b').put(large), { code: 'ERR_NO_SPACE' })
  await t.rejects(database.table('b').put(large), { code: 'ERR_POISONED' })
  await t.rejects(database.dropTable('a'), { code: 'ERR_POISONED' })
  t.ok((await count(database, 'b')) >= 2 * rows, 'reads go on')
  await database.close()
  await tidyUp(t, fileSystem)
})

void t.test('a power cut at each step leaves a database that opens on the full disk', async (t) => {
  const images: SimulatedDisk[] = []
  const fileSystem = await full('killed', 0)
  const capacityBytes = fileSystem.capacityBytes!
  // The machine runs on after each cut, so that the image keeps all that a sync has not stored.
  fileSystem.beforeOperation = (_operation: FileOperation) => {
    for (const policy of ['dropUnsynced', 'keepAll'] as const) {
      const image = fileSystem.crash(policy, () => 0)
      image.capacityBytes = capacityBytes
      images.push(image)
    }
  }
  const database = await open(fileSystem)
  await database.dropTable('a')
  fileSystem.beforeOperation = undefined
  await database.close()
  t.ok(images.length > 20)
  for (const image of images) {
    const found = await open(image)
    if (found.listTables().some((name) => name === 'a')) await found.dropTable('a')
    t.equal(await count(found, 'b'), 2 * rows)
    await found.table('c').put({ row: 'new', cells: { 'f:q': 'new' } })
    await found.close()
  }
})

function mountSmall(path: string): boolean {
  try {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
    const command = ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', path]
    execFileSync('mount', command, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const path = mkdtempSync(join(tmpdir(), 'cellar-full-'))
const mounted = mountSmall(path)
t.teardown(() => {
  // Lazily, since a failed test may have left the database open.
  if (mounted) execFileSync('umount', ['-l', path])
  rmSync(path, { recursive: true, force: true })
})

const skip = mounted ? false : 'mount -t tmpfs is not permitted here'
void t.test('a real full disk: tmpfs of 2 MiB', { skip }, async (t) => {
  const directory = join(path, 'db')
  let database = await Database.open(directory, options)
  await fill(database)
  await database.close()
  const { bsize, bfree } = statfsSync(path)
  writeFileSync(join(path, 'filler'), Buffer.alloc(bsize * bfree, 1))
  t.equal(statfsSync(path).bfree, 0)
  database = await Database.open(directory, options)
  await database.dropTable('a')
  t.ok(statfsSync(path).bfree > 0, 'space is back')
  await database.table('b').put({ row: 'new', cells: { 'f:q': 'new' } })
  await database.close()
  database = await Database.open(directory, options)
  t.ok(database.recovery.closedCleanly)
  t.equal(await count(database, 'b'), 2 * rows + 1)
  await database.close()
})

void t.test('a close makes the reserve whole, for the manifest that has grown', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await open(fileSystem)
  const bytesOf = (name: string): number => {
    const file = fileSystem.openSync(`/db/${name}`, 'read')
    const bytes = file.sizeSync()
    file.closeSync()
    return bytes
  }
  const before = bytesOf('RESERVE')
  const manifest = fileSystem.listSync('/db').find((name) => name.startsWith('MANIFEST-'))!
  const metadata = { note: 'x'.repeat(10_000) }
  for (let i = 0; bytesOf(manifest) < 200_000; i++) {
    await database.createTable(`t${i}`, { families: { f: { metadata } } })
  }
  await database.close()
  const steps = Math.ceil(bytesOf(manifest) / 65_536)
  t.ok(steps > 2)
  t.ok(bytesOf('RESERVE') >= before + (steps - 1) * 65_536, 'a step for each part of the manifest')
})
