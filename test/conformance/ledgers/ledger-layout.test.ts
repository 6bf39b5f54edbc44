/** The ledger layout and the factory that it names, on each backend. */
import { CellarError } from '../../../src/api/index.js'
import {
  createLedgerManagerFactory,
  LedgerLayoutRecord,
  LedgerManager,
  MetastoreErrorCode,
  MSLedgerManagerFactory,
  Value,
  Version,
  type LedgerLayout,
  type LedgerManagerFactory,
  type LedgerMetadata,
  type MetaStore,
} from '../../../src/systems/metastore/index.js'
import { fails, FaultyStore, onEachBackend } from '../../helpers/metastore/metastores.js'

const ourClass = 'org.apache.bookkeeper.meta.MSLedgerManagerFactory'
const ours: LedgerLayout = { managerFactoryClass: ourClass, managerVersion: 1 }
const ourText = `2\n${ourClass}:1`
const otherClass = 'org.apache.bookkeeper.meta.FlatLedgerManagerFactory'

const mismatch = { code: 'ERR_LEDGER_LAYOUT_MISMATCH', returnCode: -18 }
const broken = { code: 'ERR_LEDGER_META_STORE', returnCode: -18 }
const invalid = { code: 'ERR_INVALID_ARGUMENT' }

const metadata: LedgerMetadata = { quorumSize: 2, ensembleSize: 3, length: 0n, state: 'OPEN' }

class OtherFactory extends MSLedgerManagerFactory {}
class NewerFactory extends MSLedgerManagerFactory {
  override getCurrentVersion(): number {
    return 2
  }
}

/** Keys and fields of a table: what "nothing was changed" is about. */
async function contentOf(store: MetaStore, tableName: string): Promise<Record<string, string>> {
  const table = await store.createScannableTable(tableName)
  const content: Record<string, string> = {}
  for await (const { key, value } of await table.openCursor()) {
    for (const name of value.value.getFields()) {
      content[`${key} ${name}`] = value.value.getField(name)?.toString('latin1') ?? ''
    }
    content[key] = value.version.toString()
  }
  table.close()
  return content
}

async function wholeContent(store: MetaStore): Promise<Record<string, unknown>> {
  const content: Record<string, unknown> = {}
  for (const name of ['layout', 'LEDGER', 'IDGEN']) content[name] = await contentOf(store, name)
  return content
}

async function eraseLayout(store: MetaStore): Promise<void> {
  const record = await LedgerLayoutRecord.open(store)
  await record.remove()
  record.close()
}

async function storeText(store: MetaStore, text: string | Buffer): Promise<void> {
  await eraseLayout(store)
  const table = await store.createTable('layout')
  await table.put('LEDGERS/LAYOUT', new Value({ layout: text }), Version.NEW)
  table.close()
}

async function layoutText(store: MetaStore): Promise<string | undefined> {
  return (await contentOf(store, 'layout'))['LEDGERS/LAYOUT layout']
}

/** A store with ledgers 1 to 5, laid out by our factory. */
async function laidOut(store: MetaStore): Promise<LedgerManagerFactory> {
  const factory = await createLedgerManagerFactory({ store })
  const manager = await factory.newLedgerManager()
  const ids = await factory.newLedgerIdGenerator({ blockSize: 10 })
  for (let i = 0; i < 5; i++) await manager.createLedger(await ids.generateLedgerId(), metadata)
  manager.close()
  return factory
}

async function ledgersOf(factory: LedgerManagerFactory): Promise<bigint[]> {
  const manager = await factory.newLedgerManager()
  const ids: bigint[] = []
  await manager.asyncProcessLedgers((id) => void ids.push(id))
  manager.close()
  return ids
}

onEachBackend('the first factory writes the layout, later ones compare', async (t, group) => {
  const { store } = group
  const factory = await laidOut(store)
  t.equal(factory.getCurrentVersion(), 1)
  t.equal(await layoutText(store), ourText)
  const before = await wholeContent(store)
  const again = await createLedgerManagerFactory({ store: await group.another() })
  await createLedgerManagerFactory({ store, managerFactoryClass: ourClass })
  t.strictSame(await wholeContent(store), before, 'opening again writes nothing')
  t.strictSame(await ledgersOf(again), [1n, 2n, 3n, 4n, 5n])
})

onEachBackend('a layout of another class', async (t, { store }) => {
  await laidOut(store)
  const factories = { [otherClass]: OtherFactory }
  const before = await wholeContent(store)
  const asOther = { store, managerFactoryClass: otherClass, factories }
  await fails(t, createLedgerManagerFactory(asOther), { ...mismatch, message: /laid out by org/ })
  t.strictSame(await wholeContent(store), before)
  await storeText(store, `2\n${otherClass}:1`)
  const foreign = await wholeContent(store)
  await fails(t, createLedgerManagerFactory({ store }), { ...mismatch, message: /FlatLedger/ })
  const asOurs = { store, managerFactoryClass: ourClass }
  await fails(t, createLedgerManagerFactory(asOurs), mismatch)
  const unset = await createLedgerManagerFactory({ store, factories })
  t.ok(unset instanceof OtherFactory, 'without a class the layout decides')
  t.strictSame(await wholeContent(store), foreign)
})

onEachBackend('a layout of another version', async (t, { store }) => {
  await laidOut(store)
  for (const text of [`2\n${ourClass}:0`, `2\n${ourClass}:2`, `2\n${ourClass}:2147483647`]) {
    await storeText(store, text)
    const before = await wholeContent(store)
    await fails(t, createLedgerManagerFactory({ store }), { ...mismatch, message: /version/ }, text)
    t.strictSame(await wholeContent(store), before)
  }
  await storeText(store, `2\n${ourClass}:2`)
  const factories = { [ourClass]: NewerFactory }
  t.ok((await createLedgerManagerFactory({ store, factories })) instanceof NewerFactory)
  for (const text of [`1\n${ourClass}:1`, `3\n${ourClass}:1`, '3\nanything', '1\nflat:1', '0']) {
    await storeText(store, text)
    const before = await wholeContent(store)
    const expected = { ...mismatch, message: /format version/ }
    await fails(t, createLedgerManagerFactory({ store }), expected, text)
    t.strictSame(await wholeContent(store), before)
  }
})

const damagedTexts = [
  '',
  '2',
  '2\n',
  `2\n${ourClass}`,
  `2\n${ourClass}:`,
  '2\n:1',
  `2\n${ourClass}:one`,
  `2\n${ourClass}:-1`,
  `2\n${ourClass}:01`,
  `2\n${ourClass}:2147483648`,
  `2\n${ourClass}:1:1`,
  `2\n${ourClass}:1\n`,
  `2\n${ourClass}:1\nmore`,
  `2\r\n${ourClass}:1`,
  `2\n ${ourClass}:1`,
  `02\n${ourClass}:1`,
  `two\n${ourClass}:1`,
  `-2\n${ourClass}:1`,
  `${ourClass}:1`,
  Buffer.from(`2\n${ourClass}\xff:1`, 'latin1'),
  Buffer.alloc(40),
]

onEachBackend('a damaged layout is an error, never "no layout"', async (t, { store }) => {
  const factory = await laidOut(store)
  for (const text of damagedTexts) {
    await storeText(store, text)
    const before = await wholeContent(store)
    const sentence = JSON.stringify(text.toString('latin1'))
    await fails(t, createLedgerManagerFactory({ store }), broken, sentence)
    const asOurs = { store, managerFactoryClass: ourClass }
    await fails(t, createLedgerManagerFactory(asOurs), broken, sentence)
    await fails(t, factory.format(), broken, sentence)
    await fails(t, factory.validateAndNukeExistingCluster(), broken, sentence)
    t.strictSame(await wholeContent(store), before, sentence)
  }
  const table = await store.createTable('layout')
  await table.put('LEDGERS/LAYOUT', new Value({ layout: null }), Version.ANY)
  await fails(t, createLedgerManagerFactory({ store }), broken, 'a row without the field')
  await eraseLayout(store)
  t.strictSame(await ledgersOf(await createLedgerManagerFactory({ store })), [1n, 2n, 3n, 4n, 5n])
})

onEachBackend('the layout record', async (t, { store }) => {
  const record = await LedgerLayoutRecord.open(store)
  t.equal(await record.read(), undefined)
  await record.remove()
  const some = { managerFactoryClass: 'a.B$c_1', managerVersion: 2_147_483_647 }
  t.strictSame(await record.create(some), some)
  t.strictSame(await record.create(ours), some, 'the first one stays')
  t.strictSame(await record.read(), some)
  for (const managerFactoryClass of ['', 'a:b', 'a b', 'a\nb', 'ä', 'a/b']) {
    await fails(t, record.create({ managerFactoryClass, managerVersion: 1 }), invalid)
  }
  for (const managerVersion of [-1, 1.5, NaN, 2 ** 31, Infinity]) {
    await fails(t, record.create({ managerFactoryClass: 'a', managerVersion }), invalid)
  }
  t.strictSame(await record.read(), some)
  await record.remove(() => undefined)
  t.equal(await record.read(), undefined)
})

onEachBackend('many first openings at once agree', async (t, group) => {
  const factories = { [otherClass]: OtherFactory }
  const create = async (managerFactoryClass?: string): Promise<LedgerManagerFactory> =>
    createLedgerManagerFactory({ store: await group.another(), managerFactoryClass, factories })
  t.equal((await Promise.all(Array.from({ length: 50 }, () => create()))).length, 50)
  t.equal(await layoutText(group.store), ourText)
  await eraseLayout(group.store)
  const settled = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => create(i % 2 === 0 ? otherClass : ourClass)),
  )
  const stored = await layoutText(group.store)
  const isOther = stored === `2\n${otherClass}:1`
  t.ok(isOther || stored === ourText)
  for (const [i, outcome] of settled.entries()) {
    const wins = isOther === (i % 2 === 0)
    t.equal(outcome.status, wins ? 'fulfilled' : 'rejected')
    if (outcome.status === 'rejected') t.match(outcome.reason, { code: mismatch.code })
  }
})

onEachBackend('an opening that loses the race compares with the winner', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const table = await store.createTable('layout')
  const writeFirst = (text: string): void => {
    faulty.before = (call) => {
      if (call.operation !== 'put' || call.table !== 'layout') return
      void table.put('LEDGERS/LAYOUT', new Value({ layout: text }), Version.NEW)
    }
  }
  writeFirst(`2\n${otherClass}:1`)
  await fails(t, createLedgerManagerFactory({ store: faulty }), mismatch)
  t.equal(await layoutText(store), `2\n${otherClass}:1`)
  for (const [text, expected] of [
    [`2\n${ourClass}:7`, mismatch],
    ['junk', broken],
  ] as const) {
    await eraseLayout(store)
    writeFirst(text)
    await fails(t, createLedgerManagerFactory({ store: faulty }), expected)
    t.equal(await layoutText(store), text)
  }
  await eraseLayout(store)
  writeFirst(ourText)
  t.strictSame(await ledgersOf(await createLedgerManagerFactory({ store: faulty })), [])
})

onEachBackend('format removes the ledgers, and only them', async (t, group) => {
  const { store } = group
  const factory = await laidOut(store)
  const hedwig = await store.createTable('layout')
  await hedwig.put('METADATA/r', new Value({ layout: 'x' }), Version.NEW)
  const before = await wholeContent(store)
  await factory.format()
  t.strictSame(await ledgersOf(factory), [])
  const after = await wholeContent(store)
  t.strictSame(after['IDGEN'], before['IDGEN'], 'the counters stay')
  t.equal(await layoutText(store), ourText)
  t.equal((await hedwig.get('METADATA/r')).value.getField('layout')?.toString(), 'x')
  const next = await createLedgerManagerFactory({ store: await group.another() })
  t.equal(await (await next.newLedgerIdGenerator()).generateLedgerId(), 11n)
  const table = await store.createScannableTable('LEDGER')
  await table.put('foreign', new Value(), Version.NEW)
  await factory.format()
  t.strictSame(await ledgersOf(next), [], 'it removes keys of nobody, too')
})

onEachBackend('format beside others', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  await laidOut(store)
  const factory = await createLedgerManagerFactory({ store: faulty })
  const table = await store.createTable('layout')
  const beforeRewrite = (step: () => Promise<unknown>): void => {
    let done = false
    faulty.before = (call) => {
      if (done || call.operation !== 'put' || call.table !== 'layout') return
      done = true
      void step()
    }
  }
  const put = (text: string): Promise<unknown> =>
    table.put('LEDGERS/LAYOUT', new Value({ layout: text }), Version.ANY)
  beforeRewrite(() => put(ourText))
  await factory.format()
  t.equal(await layoutText(store), ourText, 'another format')
  beforeRewrite(() => table.remove('LEDGERS/LAYOUT', Version.ANY))
  await factory.format()
  t.equal(await layoutText(store), ourText, 'a layout that went is written')
  await table.remove('LEDGERS/LAYOUT', Version.ANY)
  await factory.format()
  t.equal(await layoutText(store), ourText, 'one that was not there is written')
  beforeRewrite(() => put(`2\n${otherClass}:1`))
  await fails(t, factory.format(), mismatch)
  t.equal(await layoutText(store), `2\n${otherClass}:1`, 'that of another stays')
  const content = await wholeContent(store)
  await fails(t, factory.format(), mismatch)
  await fails(t, factory.validateAndNukeExistingCluster(), mismatch)
  t.strictSame(await wholeContent(store), content)
})

onEachBackend('a format that fails can be repeated', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  await laidOut(store)
  const factory = await createLedgerManagerFactory({ store: faulty })
  for (const failing of ['remove', 'open', 'read', 'get'] as const) {
    faulty.before = ({ operation }) => {
      if (operation !== failing) return
      throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
    }
    await fails(t, factory.format(), broken, failing)
    await fails(t, factory.validateAndNukeExistingCluster(), broken, failing)
    t.equal(await layoutText(store), ourText)
  }
  faulty.before = () => undefined
  await factory.format()
  t.strictSame(await ledgersOf(factory), [])
})

onEachBackend('nuke removes ledgers and layout, not the counters', async (t, { store }) => {
  const factory = await laidOut(store)
  const before = await wholeContent(store)
  t.equal(await factory.validateAndNukeExistingCluster(), true)
  t.strictSame(await wholeContent(store), { layout: {}, LEDGER: {}, IDGEN: before['IDGEN'] })
  await fails(t, factory.newLedgerManager(), broken, 'the factory has ended')
  const next = await createLedgerManagerFactory({ store })
  t.strictSame(await ledgersOf(next), [])
  t.equal(await (await next.newLedgerIdGenerator()).generateLedgerId(), 11n)
  await eraseLayout(store)
  t.equal(await next.validateAndNukeExistingCluster(), true, 'one without layout as well')
})

const unexpectedKeys = [
  '',
  '0',
  '!',
  'foreign',
  '~',
  '~END2',
  '~end',
  '0000000001',
  '00000000000000000001',
  '000000000000000000x',
  '-000000000000000001',
  '9223372036854775808',
]

onEachBackend('nuke with unexpected keys changes nothing', async (t, { store }) => {
  const factory = await laidOut(store)
  const table = await store.createScannableTable('LEDGER')
  for (const key of unexpectedKeys) {
    await table.put(key, new Value({ '.META': 'x' }), Version.NEW)
    const before = await wholeContent(store)
    t.equal(await factory.validateAndNukeExistingCluster(), false, JSON.stringify(key))
    t.strictSame(await wholeContent(store), before, JSON.stringify(key))
    await table.remove(key, Version.ANY)
  }
  const manager = await LedgerManager.open(store)
  await manager.createLedger(2n ** 63n - 1n, metadata)
  t.equal((await ledgersOf(factory)).length, 6, 'the factory goes on')
  t.equal(await factory.validateAndNukeExistingCluster(), true)
})

onEachBackend('an unexpected key behind thousands of ledgers', async (t, { store }) => {
  const factory = await createLedgerManagerFactory({ store })
  const manager = await factory.newLedgerManager()
  const ids = Array.from({ length: 2500 }, (_, i) => BigInt(i))
  await Promise.all(ids.map((id) => manager.createLedger(id, metadata)))
  const table = await store.createScannableTable('LEDGER')
  await table.put('~~', new Value(), Version.NEW)
  t.equal(await factory.validateAndNukeExistingCluster(), false)
  await table.remove('~~', Version.ANY)
  t.strictSame(await ledgersOf(factory), ids)
  t.equal(await factory.validateAndNukeExistingCluster(), true)
  t.strictSame(await contentOf(store, 'LEDGER'), {})
})

onEachBackend('a factory that is not initialised, or closed', async (t, { store }) => {
  const fresh = new MSLedgerManagerFactory()
  const closed = await createLedgerManagerFactory({ store })
  const manager = await closed.newLedgerManager()
  await closed.close()
  await closed.close()
  for (const factory of [fresh, closed]) {
    await fails(t, factory.newLedgerManager(), broken)
    await fails(t, factory.newLedgerIdGenerator(), broken)
    await fails(t, factory.format(), broken)
    await fails(t, factory.validateAndNukeExistingCluster(), broken)
  }
  t.ok(await manager.createLedger(1n, metadata), 'what it opened goes on')
  await fails(t, fresh.initialize(store, { ...ours, managerVersion: 2 }), mismatch)
  await fresh.initialize(store, ours)
  t.strictSame(await ledgersOf(fresh), [1n])
})

onEachBackend('a factory that nobody has is refused', async (t, { store }) => {
  for (const managerFactoryClass of [otherClass, 'toString', '', 7 as unknown as string]) {
    const created = createLedgerManagerFactory({ store, managerFactoryClass })
    await fails(t, created, invalid, String(managerFactoryClass))
  }
  const factories = { 'not: a class': OtherFactory }
  const unnamed = { store, managerFactoryClass: 'not: a class', factories }
  await fails(t, createLedgerManagerFactory(unnamed), invalid)
  t.equal(await layoutText(store), undefined)
})
