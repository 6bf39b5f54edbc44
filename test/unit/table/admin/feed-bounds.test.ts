/** The first and the last mutation that a change feed may show. */
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import {
  type Change,
  type Database,
  type File,
  type OpenMode,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const zero = (): number => 0
const value = Buffer.alloc(3000)
/** Three of them fill a segment. */
const large = Buffer.alloc(24_000)

async function firstOf(database: Database, fromSequence: number): Promise<Change> {
  const feed = database.changes({ fromSequence })
  const { value: change } = await feed.next()
  await feed.return()
  return change!
}

void t.test('a feed begins behind what the log has lost, not one before', async (t) => {
  const test = await TestDatabase.open({ options: { logBytesMax: 64 * 1024 } })
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 100; i++) await table.put({ row: `${i}`, cells: { 'f:q': value } })
  await test.flush()
  for (let i = 0; i < 10; i++) await table.put({ row: `late ${i}`, cells: { 'f:q': 'v' } })
  let message = ''
  await firstOf(database, 1).catch((error: Error) => ({ message } = error))
  const [, begins] = /begins behind (\d+)/.exec(message)!
  const last = Number(begins)
  await t.rejects(firstOf(database, last), { code: 'ERR_CHANGES_GONE' })
  t.equal((await firstOf(database, last + 1)).sequence, last + 1)
  await test.close()
})

/** A file system in which syncs of the log wait for `gate`. */
class SlowLog extends SimulatedDisk {
  gate: Promise<void> = Promise.resolve()

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    if (!path.endsWith('.log')) return file
    const sync = file.sync.bind(file)
    return Object.assign(file, { sync: () => this.gate.then(sync) })
  }
}

void t.test('a feed shows only what is durable, over segments too', async (t) => {
  const fileSystem = new SlowLog()
  const options = { logBytesMax: 512 * 1024, memtableBytesMax: 8 << 20, flushBytes: 4 << 20 }
  const test = await TestDatabase.open({ fileSystem, options })
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  let written = 0
  const write = (): void => {
    table.putSync({ row: `${written++}`, cells: { 'f:q': large }, durability: 'SYNC_WAL' })
  }
  // Several segments that are durable, and a half-filled one.
  while (written < 10) write()
  await table.put({ row: `${written++}`, cells: { 'f:q': large }, durability: 'FSYNC_WAL' })
  const feed = database.changes({ fromSequence: 1 })
  const shown: string[] = []
  const take = async (): Promise<void> => {
    const { value: change } = await feed.next()
    shown.push(change!.cells[0].row.toString())
  }
  await take()
  let release!: () => void
  fileSystem.gate = new Promise((resolve) => (release = resolve))
  // While the feed rests in the first segment, the last one grows and gets successors.
  while (written < 20) write()
  let next = take()
  for (let turns = 0; turns < 200; turns++) {
    const before = shown.length
    await new Promise(setImmediate)
    if (shown.length > before) next = take()
  }
  const image = await TestDatabase.open({ fileSystem: fileSystem.crash('dropUnsynced', zero) })
  for (const row of shown) t.ok(image.database.table('t').existsSync({ row }), `row ${row}`)
  await image.close()
  t.ok(shown.length > 9 && shown.length < 20, `${shown.length} rows`)
  release()
  await next
  while (shown.length < 20) await take()
  t.same(
    shown,
    Array.from({ length: 20 }, (_, i) => `${i}`),
  )
  await feed.return()
  await test.close()
})
