/**
 * Snapshots and namespaces under power cuts and failing calls: what is found is the state before or
 * after the operation, and after it once it was acknowledged.
 *
 * @runs campaign
 */
import t from 'tap'
import type { Database } from '../../../src/entries/index.js'
import { cutEverywhere, failEverywhere, type Interrupted } from '../../helpers/crash-steps.js'
import { contentOf, fill, makeTable } from '../../unit/table/admin/support.js'

const rows = 12

/** The table's 24 cells hold `mark`. */
function wholeTable(database: Database, name: string, mark: string): string | undefined {
  if (!database.hasTable(name)) return `no table ${name}`
  const content = contentOf(database.table(name))
  if (content.length !== 2 * rows) return `${content.length} cells in ${name}`
  const found = content.filter((cell) => cell.includes(`=${mark}`)).length
  return found === content.length ? undefined : `${found} cells of ${name} hold ${mark}`
}

/** A clone of the snapshot has the rows that the table had. */
async function goodSnapshot(database: Database): Promise<string | undefined> {
  await database.admin.cloneSnapshot('s', 'probe')
  const wrong = wholeTable(database, 'probe', 'one')
  await database.dropTable('probe')
  return wrong
}

const prepareSnapshot = async (database: Database): Promise<void> => {
  await fill(await makeTable(database), rows, 'one')
  await database.admin.snapshot('s', 't')
  await fill(database.table('t'), rows, 'two')
}

const operations: Readonly<Record<string, Interrupted>> = {
  snapshot: {
    prepare: async (database) => fill(await makeTable(database), rows, 'one'),
    act: (database) => database.admin.snapshot('s', 't'),
    judge: async (database, acknowledged) => {
      const names = database.admin.listSnapshots().map(({ name }) => name)
      if (acknowledged && names.length === 0) return 'the snapshot is lost'
      const wrong = wholeTable(database, 't', 'one')
      return wrong ?? (names.length === 0 ? undefined : await goodSnapshot(database))
    },
  },
  cloneSnapshot: {
    prepare: prepareSnapshot,
    act: (database) => database.admin.cloneSnapshot('s', 'c'),
    judge: async (database, acknowledged) => {
      const cloned = database.hasTable('c')
      if (acknowledged && !cloned) return 'the clone is lost'
      const wrong = cloned ? wholeTable(database, 'c', 'one') : undefined
      return wrong ?? wholeTable(database, 't', 'two') ?? (await goodSnapshot(database))
    },
  },
  restoreSnapshot: {
    prepare: prepareSnapshot,
    act: (database) => database.admin.restoreSnapshot('s'),
    judge: async (database, acknowledged) => {
      const before = wholeTable(database, 't', 'two')
      const after = wholeTable(database, 't', 'one')
      if (after !== undefined && (acknowledged || before !== undefined)) return after
      return await goodSnapshot(database)
    },
  },
  'restoreSnapshot of a dropped table': {
    prepare: async (database) => {
      await prepareSnapshot(database)
      await database.dropTable('t')
    },
    act: (database) => database.admin.restoreSnapshot('s'),
    judge: async (database, acknowledged) => {
      const wrong =
        database.hasTable('t') || acknowledged ? wholeTable(database, 't', 'one') : undefined
      return wrong ?? (await goodSnapshot(database))
    },
  },
  deleteSnapshot: {
    prepare: prepareSnapshot,
    act: (database) => database.admin.deleteSnapshot('s'),
    judge: async (database, acknowledged) => {
      const left = database.admin.listSnapshots().length
      if (acknowledged && left > 0) return 'the snapshot is there'
      const wrong = wholeTable(database, 't', 'two')
      return wrong ?? (left > 0 ? await goodSnapshot(database) : undefined)
    },
  },
  createNamespace: {
    prepare: async (database) => {
      await database.admin.createNamespace('first', { key: 'value' })
    },
    act: (database) => database.admin.createNamespace('second'),
    judge: ({ admin }, acknowledged) => {
      const names = admin.listNamespaces()
      if (acknowledged && !names.includes('second')) return 'the namespace is lost'
      const { properties } = admin.getNamespaceDescriptor('first')
      return properties.key === 'value' ? undefined : 'the first namespace is damaged'
    },
  },
}

for (const [name, operation] of Object.entries(operations)) {
  void t.test(`${name}: a power cut at any step leaves before or after`, async (t) => {
    const { images, places, complaints } = await cutEverywhere(operation)
    t.comment(`${places} places, ${images} images`)
    t.ok(places > 2, 'there were steps to cut')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
  void t.test(`${name}: a failing call is told and leaves before or after`, async (t) => {
    const { runs, complaints } = await failEverywhere(operation)
    t.comment(`${runs} runs`)
    t.ok(runs > 2, 'calls failed')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
}
