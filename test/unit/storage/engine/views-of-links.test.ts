/**
 * Views of tables whose SSTables are links: clones, restored tables, bulk loads. A link has another
 * number in its name than the one its checksums are bound to.
 */
import t from 'tap'
import {
  BulkWriter,
  type Database,
  type EmbeddedTable,
  type FamilyOptions,
  type FileSystem,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const large = 'large value '.repeat(50)
const families: Readonly<Record<string, FamilyOptions>> = {
  f: { versions: 3 },
  m: { mob: true, mobThreshold: 100 },
}

async function fill(table: EmbeddedTable, from: number): Promise<void> {
  for (let i = from; i < from + 20; i++) {
    const row = `r${i % 30}`
    await table.put({ row, cells: { 'f:v': `v${i}`, 'm:v': `${large}${i}` } })
  }
}

/** Ways to a table with links, from a table `t` with the snapshot `s`. */
const ways: Readonly<Record<string, (test: TestDatabase) => Promise<EmbeddedTable>>> = {
  clone: ({ database }) => database.admin.cloneSnapshot('s', 'clone'),
  'clone of a clone': async ({ database }) => {
    await database.admin.cloneSnapshot('s', 'clone')
    await database.admin.snapshot('s2', 'clone')
    return database.admin.cloneSnapshot('s2', 'clone2')
  },
  restore: async ({ database }) => {
    await database.admin.restoreSnapshot('s')
    return database.table('t')
  },
  'bulk load': async ({ database, fileSystem }) => {
    const writer = await BulkWriter.create('/bulk', { families, fileSystem, timestamp: 1 })
    for (let i = 10; i < 30; i++) writer.add({ row: `r${i}`, cells: { 'f:v': 'b', 'm:v': large } })
    writer.finish()
    await database.admin.bulkLoad('t', '/bulk')
    return database.table('t')
  },
}

function contentOf(table: EmbeddedTable, snapshot: ReturnType<Database['snapshot']>): string[] {
  const found: string[] = []
  for (const row of table.scanSync({ snapshot, raw: true, versions: 'all' })) {
    for (const cell of row) {
      const { row, family, timestamp } = cell
      found.push(`${String(row)} ${family} ${timestamp} ${String(cell.value)}`)
    }
  }
  for (let i = 0; i < 30; i++) {
    const got = table.getSync({ row: `r${i}`, snapshot })
    found.push(`${i}: ${String(got.value('f:v'))} ${String(got.value('m:v'))}`)
  }
  return found
}

for (const name of ['clone', 'restore']) {
  void t.test(`a view from before a ${name} sees none of its rows`, async (t) => {
    const test = await TestDatabase.open()
    const { database } = test
    const source = await database.createTable('t', { families })
    await fill(source, 0)
    await database.flush()
    const before = database.snapshot()
    await fill(source, 10)
    await database.compact('t', { major: true })
    await database.admin.snapshot('s', 't')
    const same = database.snapshot()
    const table = await ways[name](test)
    const after = database.snapshot()
    const content = contentOf(table, after)
    t.ok(content.length > 60)
    const none = Array.from({ length: 30 }, (_, i) => `${i}: undefined undefined`)
    for (const round of [1, 2]) {
      t.strictSame(contentOf(table, before), none, 'not the part that no compaction has dropped')
      t.strictSame(contentOf(table, same), none, 'also at the sequence of the change')
      t.strictSame(contentOf(table, after), content)
      await fill(table, round)
      await database.flush()
      await database.compact(table.name, { major: true })
    }
    for (const view of [before, same, after]) view.close()
    await test.close()
  })
}

const tablesOf = (fileSystem: FileSystem): string[] =>
  fileSystem.listSync('/database').filter((file) => /\.(sst|val)$/.test(file))

for (const [name, make] of Object.entries(ways)) {
  void t.test(`a view of a table by ${name} outlives compactions`, async (t) => {
    const test = await TestDatabase.open()
    const { database, fileSystem } = test
    await fill(await database.createTable('t', { families }), 0)
    await database.flush()
    await database.admin.snapshot('s', 't')
    const table = await make(test)
    const views = []
    for (const round of [1, 2, 3]) {
      await fill(table, 20 * round)
      const view = database.snapshot()
      views.push({ view, content: contentOf(table, view) })
      await fill(table, 20 * round + 5)
      await database.flush()
      await database.compact(table.name, { major: round % 2 === 1 })
    }
    for (const { view, content } of views) {
      t.same(contentOf(table, view), content)
      view.close()
    }
    // A compaction ends when the files that nobody needs have been removed.
    await database.createTable('other', { families: { f: {} } })
    await database.compact('other')
    const files = tablesOf(fileSystem)
    await test.reopen()
    t.same(tablesOf(fileSystem), files, 'the files of closed views are removed')
    await test.close()
  })
}
