/**
 * Bulk loads under power cuts and failing calls: all cells of all families or none, all of them
 * once the load was acknowledged.
 *
 * @runs campaign
 */
import t from 'tap'
import { BulkWriter, type Database, type FileSystem } from '../../../src/entries/index.js'
import { cutEverywhere, failEverywhere, type Interrupted } from '../../helpers/crash-steps.js'
import { contentOf, fill, makeTable } from '../../unit/table/admin/support.js'

const rows = 12

async function prepare(database: Database, fileSystem: FileSystem): Promise<void> {
  await fill(await makeTable(database), rows, 'one')
  fileSystem.makeDirectorySync('/bulk')
  fileSystem.syncDirectorySync('/')
  const families = { a: { versions: 3 }, b: {} }
  const writer = await BulkWriter.create('/bulk', { families, fileSystem, timestamp: 2_000_000 })
  for (let i = 0; i < rows; i++) {
    const row = `r${String(i).padStart(4, '0')}`
    writer.add({ row, cells: { 'a:x': `two${i}`, 'b:y': 'two' } })
  }
  writer.finish()
}

function judge(database: Database, acknowledged: boolean): string | undefined {
  const content = contentOf(database.table('t'))
  if (content.length !== 2 * rows) return `${content.length} cells`
  const loaded = content.filter((cell) => cell.includes('=two')).length
  if (acknowledged && loaded === 0) return 'the load is lost'
  return loaded === 0 || loaded === 2 * rows ? undefined : `${loaded} loaded cells are visible`
}

const operations: Readonly<Record<string, Interrupted>> = {
  'a load that moves': {
    prepare,
    act: (database) => database.admin.bulkLoad('t', '/bulk'),
    judge,
  },
  'a load that copies': {
    prepare,
    act: (database) => database.admin.bulkLoad('t', '/bulk', { copy: true }),
    judge,
  },
}

for (const [name, operation] of Object.entries(operations)) {
  void t.test(`${name}: a power cut at any step shows all of it or nothing`, async (t) => {
    const { images, places, complaints } = await cutEverywhere(operation)
    t.comment(`${places} places, ${images} images`)
    t.ok(places > 5, 'there were steps to cut')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
  void t.test(`${name}: a failing call is told and shows all of it or nothing`, async (t) => {
    const { runs, complaints } = await failEverywhere(operation)
    t.comment(`${runs} runs`)
    t.ok(runs > 5, 'calls failed')
    t.strictSame(complaints.slice(0, 3), [], `${complaints.length} complaints`)
  })
}
