/**
 * Owned databases in the published suites, over the engine reduced to row atomicity.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { reduceToRows } from '../../helpers/row-atomic.js'
import { runMetadataSuite } from '../../suites/metadata/suite.js'
import { runMetastoreSuite } from '../../suites/metastore/suite.js'
import { metadataOn, metastoreOn, type OpenStore } from './backends.js'

async function openStore(): Promise<OpenStore> {
  const database = await openMemoryDatabase()
  return { store: reduceToRows(database), close: () => database.close() }
}

void t.test('the metastore on an owned database', async (t) => {
  const { run } = await runMetastoreSuite(t, metastoreOn(openStore))
  t.ok(run >= 90, `${run} cases run`)
})

void t.test('the metadata store on an owned database', async (t) => {
  await runMetadataSuite(t, metadataOn(openStore))
})
