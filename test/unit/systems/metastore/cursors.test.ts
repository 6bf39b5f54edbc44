/**
 * Cursors over tables: what they see while everything below changes, and when they let go.
 *
 * @runs long
 */
import { CellarError } from '../../../../src/api/index.js'
import t from 'tap'
import {
  CellarMetaStore,
  Value,
  Version,
  type MetastoreCursor,
  type MetastoreItem,
  type MetastoreScannableTable,
} from '../../../../src/systems/metastore/index.js'
import { RecordTable } from '../../../../src/systems/metastore/bookkeeper/tables/record-table.js'
import { TableRows } from '../../../../src/systems/metastore/bookkeeper/tables/row-operations.js'
import { rowFamilies } from '../../../../src/systems/metastore/bookkeeper/tables/row-format.js'
import {
  TableCursor,
  type CursorOwner,
} from '../../../../src/systems/metastore/bookkeeper/tables/table-cursor.js'
import type { KeyRange } from '../../../../src/systems/metastore/index.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { ManualTimer } from '../../../helpers/manual-timer.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'

const whole: KeyRange = {
  firstKey: null,
  firstInclusive: true,
  lastKey: null,
  lastInclusive: true,
  order: 'ASC',
}

function textOf({ key, value }: MetastoreItem): string {
  return `${key} ${value.value.toString()} ${value.version.toString()}`
}

async function opened(): Promise<{ home: TestDatabase; table: MetastoreScannableTable }> {
  const home = await TestDatabase.open({ options: { compactionEnabled: true } })
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, store.getVersion())
  return { home, table: await store.createScannableTable('rows') }
}

void t.test(
  `cursors return the state at their opening, whatever happens (seed ${seed})`,
  async (t) => {
    const { home, table } = await opened()
    const random = randomFrom(seed)
    const rows = new Map<string, { name: string; version: Version }>()
    const keys = Array.from({ length: 400 }, (_, i) => `key${String(i).padStart(3, '0')}`)
    const change = async (): Promise<void> => {
      const key = keys[Math.floor(random() * keys.length)]
      const row = rows.get(key)
      if (row !== undefined && random() < 0.2) {
        rows.delete(key)
        await table.remove(key, row.version)
        return
      }
      const name = `${key}${random()}`.padEnd(100, '.')
      const version = await table.put(key, new Value({ name }), row?.version ?? Version.NEW)
      rows.set(key, { name, version })
    }
    const wanted = (): string[] =>
      [...rows]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, { name, version }]) => `${key} [('name'=${name})] ${version.toString()}`)
    for (let i = 0; i < 600; i++) await change()
    const walks: { cursor: MetastoreCursor; wanted: string[]; found: string[] }[] = []
    for (let step = 0; step < 60; step++) {
      if (step % 6 === 0) {
        const order = step % 12 === 0 ? 'ASC' : 'DESC'
        const state = order === 'ASC' ? wanted() : wanted().reverse()
        const cursor = await table.openRange({ ...whole, order })
        walks.push({ cursor, wanted: state, found: [] })
      }
      for (let i = 0; i < 40; i++) await change()
      for (const { cursor, found } of walks) {
        if (!cursor.hasMoreEntries()) continue
        const count = 1 + Math.floor(random() * 60)
        const items =
          random() < 0.2 ? cursor.readEntries(count) : await cursor.asyncReadEntries(count)
        found.push(...items.map(textOf))
      }
      if (step % 10 === 3) await home.flush()
      if (step % 20 === 7) await home.compact(step === 47)
    }
    for (const { cursor, wanted, found } of walks) {
      for await (const item of cursor) found.push(textOf(item))
      t.strictSame(found, wanted, `${wanted.length} rows`)
    }
    t.equal(walks.length, 10, 'cursors')
    await home.close()
  },
)

/** A view of ten rows under a clock that is set by hand. */
async function handView(idleMilliseconds: number) {
  const home = await TestDatabase.open()
  const table = await home.database.createTable('rows', { families: rowFamilies })
  for (let i = 0; i < 10; i++) {
    const version = Buffer.alloc(8)
    version.writeBigInt64BE(BigInt(i + 1))
    await table.put({ row: `row${i}`, cells: { 'r:': version } })
  }
  const clock = new ManualTimer()
  const snapshot = home.database.snapshot()
  const owner: CursorOwner = {
    views: new Set(),
    clock,
    cursorIdleMilliseconds: idleMilliseconds,
  }
  const rows = new TableRows('rows', table)
  const cursor = await TableCursor.open(rows, snapshot, whole, null, owner)
  return { home, table, clock, cursor, owner }
}

void t.test('a cursor that rests lets its scan go and finds its place again', async (t) => {
  const { home, table, clock, cursor, owner } = await handView(60_000)
  t.equal((await cursor.asyncReadEntries(3)).length, 3)
  clock.advance(30_000)
  await table.delete({ row: 'row5' })
  await home.flush()
  await home.compact(true)
  const rest = await cursor.asyncReadEntries(100)
  t.strictSame(
    rest.map(({ key }) => key),
    [3, 4, 5, 6, 7, 8, 9].map((i) => `row${i}`),
  )
  t.equal(owner.views.size, 0, 'the end lets the view go')
  t.equal(clock.size, 0, 'and its timer')
  await home.close()
})

void t.test('a cursor that nobody uses loses its view, and says so', async (t) => {
  const { home, clock, cursor, owner } = await handView(60_000)
  for (let seconds = 1; seconds < 60; seconds++) clock.advance(1_000)
  t.equal(owner.views.size, 1)
  clock.advance(1_000)
  t.equal(owner.views.size, 0)
  t.equal(cursor.hasMoreEntries(), true, 'it does not look like the end')
  await t.rejects(cursor.asyncReadEntries(1), { code: 'ERR_METASTORE_OPERATION_FAILURE' })
  t.throws(() => cursor.readEntries(1), { code: 'ERR_METASTORE_OPERATION_FAILURE' })
  cursor.close()
  t.equal(cursor.hasMoreEntries(), false)
  await home.close()
})

void t.test('a read that fails is never taken for the end', async (t) => {
  const { home, table } = await opened()
  for (let i = 0; i < 50; i++) await table.put(`row${i}`, new Value(), Version.NEW)
  const cursor = await table.openCursor()
  await cursor.asyncReadEntries(5)
  await home.database.close()
  for (let i = 0; i < 2; i++) {
    t.equal(cursor.hasMoreEntries(), true)
    const failure = await cursor.asyncReadEntries(100).catch((error: unknown) => error)
    t.ok(failure instanceof CellarError)
    t.equal((failure as CellarError).code, 'ERR_METASTORE_SERVICE_DOWN')
  }
  await t.rejects(table.openCursor(), { code: 'ERR_METASTORE_SERVICE_DOWN' })
})

void t.test('a walk whose table is closed fails, and does not look complete', async (t) => {
  const { home, table } = await opened()
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, store.getVersion())
  for (let i = 0; i < 300; i++) await table.put(`row${i}`, new Value(), Version.NEW)
  const closed = { code: 'ERR_METASTORE_ILLEGAL_OP' }
  const iterate = async (): Promise<void> => {
    const other = await store.createScannableTable('rows')
    for await (const item of await other.openCursor()) if (item !== undefined) other.close()
  }
  await t.rejects(iterate(), closed)
  const walk = async (): Promise<void> => {
    const other = await store.createScannableTable('rows')
    const records = new RecordTable(other, (error) => error as Error)
    for await (const page of records.pages(50, null)) if (page.length > 0) records.close()
  }
  await t.rejects(walk(), closed)
  const found: MetastoreItem[] = []
  const cursor = await table.openCursor()
  for await (const item of cursor) if (found.push(item) === 5) cursor.close()
  t.equal(found.length, 128, 'a cursor that the loop itself closes ends with its page')
  await store.close()
  await home.close()
})

/** A walk in large pages over rows in files, of which no block is in memory. */
async function walkOfFiles(count: number) {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const home = await TestDatabase.open({ fileSystem })
  const first = new CellarMetaStore()
  await first.init({ database: home.database }, first.getVersion())
  const rows = await first.createScannableTable('rows')
  const value = new Value({ text: Buffer.alloc(200, 'x') })
  const keys = Array.from({ length: count }, (_, i) => `row${String(i).padStart(5, '0')}`)
  await Promise.all(keys.map((key) => rows.put(key, value, Version.NEW)))
  await home.flush()
  await home.reopen()
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, store.getVersion())
  const table = await store.createScannableTable('rows')
  return { home, fileSystem, store, table, cursor: await table.openCursor() }
}

void t.test('a read that fails in the middle of a page is no end of the walk', async (t) => {
  const count = 3000
  let failures = 0
  for (let failAt = 1; failAt <= 60; failAt += 7) {
    const { home, fileSystem, cursor } = await walkOfFiles(count)
    fileSystem.arm({ failAt, errno: 'EIO', only: ({ kind }) => kind === 'read' })
    const page = await cursor.asyncReadEntries(count).catch((error: unknown) => error)
    if (page instanceof CellarError) {
      failures++
      t.equal(page.code, 'ERR_METASTORE_SERVICE_DOWN', `read ${failAt}`)
      await t.rejects(cursor.asyncReadEntries(1), page, 'the cursor has failed for good')
    } else {
      t.equal(fileSystem.failures, 0, `read ${failAt} did not fail`)
      t.equal((page as MetastoreItem[]).length, count)
    }
    fileSystem.disarm()
    await home.close()
  }
  t.ok(failures > 3, `${failures} pages have failed`)
})

void t.test('a close during a read of a cursor is no end of the walk', async (t) => {
  const closed = { code: 'ERR_METASTORE_ILLEGAL_OP' }
  for (const what of ['cursor', 'table', 'store'] as const) {
    const { home, store, table, cursor } = await walkOfFiles(1000)
    await cursor.asyncReadEntries(10)
    const reading = cursor.asyncReadEntries(900)
    const later = cursor.asyncReadEntries(1)
    const opening = table.openCursor()
    if (what === 'cursor') cursor.close()
    else if (what === 'table') table.close()
    else await store.close()
    await t.rejects(reading, closed, `the read that the close of the ${what} interrupts`)
    await t.rejects(later, closed, 'the read after it')
    if (what !== 'cursor') await t.rejects(opening, closed, 'no cursor outlives its table')
    await home.close()
  }
})
