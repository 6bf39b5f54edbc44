/** Answers of a gateway about tables that are gone, and scans that end before they began. */
import t, { type Test } from 'tap'
import { connectHBase, type HBaseDatabase } from '../../../src/entries/hbase.js'
import { ScriptedGateway, type Script } from '../../helpers/metastore/scripted-gateway.js'
import { outcome, pause } from '../../suites/kit.js'

async function open(
  t: Test,
  script: Script,
  deadlineMilliseconds = 3_000,
): Promise<{ gateway: ScriptedGateway; database: HBaseDatabase }> {
  const gateway = await ScriptedGateway.start(script)
  t.teardown(() => gateway.stop())
  const database = await connectHBase({ ...gateway.address, deadlineMilliseconds })
  t.teardown(() => database.close())
  return { gateway, database }
}

void t.test('a table that is gone: HBase answers with its name alone', async (t) => {
  let isThere = true
  const { database } = await open(t, (name) => {
    if (name === 'openScanner') return { answer: 7 }
    if (name === 'tableExists') return { answer: isThere }
    return isThere || name === 'closeScanner' ? undefined : { error: 't' }
  })
  await database.admin.getDescriptor('t')
  isThere = false
  const code = 'ERR_TABLE_NOT_FOUND'
  t.equal(await outcome(database.table('t').scan().toArray()), code, 'a scan')
  t.equal(await outcome(database.admin.isTableEnabled('t')), code, 'isTableEnabled')
  t.equal(await outcome(database.admin.enableTable('t')), code, 'enableTable')
  t.equal(await outcome(database.admin.disableTable('t')), code, 'disableTable')
  t.equal(await outcome(database.admin.getDescriptor('t')), code, 'getDescriptor')
})

void t.test('a description that is read during a change is not that of the change', async (t) => {
  const column = (name: string): object => ({ name: Buffer.from(name), maxVersions: 1 })
  const described = (...names: string[]): object => {
    return { tableName: { qualifier: Buffer.from('t') }, columns: names.map(column) }
  }
  const { gateway, database } = await open(t, (name, before) => {
    if (name === 'modifyTable') return { answer: undefined }
    if (name !== 'getTableDescriptor') return { answer: {} }
    // The first one is read before the change, and comes after it.
    if (before === 0) return { answer: described('f'), afterMilliseconds: 500 }
    return { answer: before === 1 ? described('f') : described('f', 'g') }
  })
  const read = database.table('t').get({ row: 'r' })
  while (gateway.count('getTableDescriptor') === 0) await pause(1)
  const modified = await database.admin.modifyTable('t', { families: { g: {} } })
  t.strictSame(Object.keys(modified.families), ['f', 'g'])
  await read
  t.strictSame(Object.keys(database.table('t').describe().families), ['f', 'g'], 'and it stays')
})

void t.test('a stall of the own event loop is no silence of the gateway', async (t) => {
  const late = { answer: true, afterMilliseconds: 50 }
  const { database } = await open(t, (name) => (name === 'tableExists' ? late : undefined), 300)
  const found = database.admin.tableExists('t')
  // The call is sent, and its answer and its deadline come during the stall.
  await pause(20)
  const end = performance.now() + 400
  while (performance.now() < end);
  t.equal(await found, true)
})

void t.test('a scan that is closed while it opens leaves no scanner at the gateway', async (t) => {
  const { gateway, database } = await open(t, (name) => {
    if (name === 'openScanner') return { answer: 7, afterMilliseconds: 100 }
    return name === 'getScannerRows' ? { answer: [] } : undefined
  })
  const scan = database.table('t').scan()
  const next = scan.next()
  while (gateway.count('openScanner') === 0) await pause(1)
  scan.close()
  t.equal((await next).done, true)
  await database.admin.getDescriptor('t')
  t.equal(gateway.count('closeScanner'), 1)
  t.equal(gateway.count('getScannerRows'), 0, 'no page is read')
})

void t.test('an append whose value becomes too large', async (t) => {
  const { database } = await open(t, (name) => {
    const error =
      'org.apache.hadoop.hbase.DoNotRetryIOException: Cell with size 12582940 exceeds limit of ' +
      '10485760 bytes in region t,,1.0.'
    return name === 'append' ? { error } : undefined
  })
  const appended = database.table('t').append({ row: 'r', columns: { 'f:q': 'more' } })
  t.equal(await outcome(appended), 'ERR_TOO_LARGE')
})
