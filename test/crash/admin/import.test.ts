/**
 * Imports under power cuts and failing calls: the whole export or nothing of it, all of it once the
 * import was acknowledged.
 *
 * @runs campaign
 */
import t from 'tap'
import type { Database } from '../../../src/entries/index.js'
import { cutEverywhere, failEverywhere, type Interrupted } from '../../helpers/crash-steps.js'
import { contentOf, fill, makeTable } from '../../unit/table/admin/support.js'

const rows = 12
let exported: Buffer[] = []

async function prepare(database: Database): Promise<void> {
  await fill(await makeTable(database), rows, 'one')
  exported = []
  for await (const piece of database.admin.exportTable('t')) exported.push(piece)
  await fill(database.table('t'), rows, 'two')
}

const operations: Readonly<Record<string, Interrupted>> = {
  'an import into a new table': {
    prepare,
    act: (database) => database.admin.importTable(exported, { table: 'copy' }),
    judge: (database, acknowledged) => {
      if (contentOf(database.table('t')).length !== 2 * rows) return 'the table is damaged'
      if (!database.hasTable('copy')) return acknowledged ? 'the import is lost' : undefined
      const cells = contentOf(database.table('copy')).length
      return cells === 2 * rows ? undefined : `${cells} cells`
    },
  },
  'an import into a table that is there': {
    prepare: async (database) => {
      await prepare(database)
      await database.truncateTable('t')
    },
    act: (database) => database.admin.importTable(exported),
    judge: (database, acknowledged) => {
      const cells = contentOf(database.table('t')).length
      if (cells === 2 * rows) return undefined
      return acknowledged || cells > 0 ? `${cells} cells` : undefined
    },
  },
}

for (const [name, operation] of Object.entries(operations)) {
  void t.test(`${name}: a power cut at any step leaves all or nothing`, async (t) => {
    const { images, places, complaints } = await cutEverywhere(operation)
    t.comment(`${places} places, ${images} images`)
    t.ok(places > 5, 'there were steps to cut')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
  void t.test(`${name}: a failing call is told and leaves all or nothing`, async (t) => {
    const { runs, complaints } = await failEverywhere(operation)
    t.comment(`${runs} runs`)
    t.ok(runs > 5, 'calls failed')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
}
