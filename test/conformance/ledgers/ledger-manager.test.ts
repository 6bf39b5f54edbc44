/** The ledger manager, case by case (4.5 of the specification), on each backend. */
import { CellarError } from '../../../src/api/index.js'
import {
  collectLedgers,
  LedgerManager,
  LongVersion,
  MetastoreErrorCode,
  Value,
  Version,
  type LedgerMetadata,
} from '../../../src/systems/metastore/index.js'
import { seededRandom } from '../../../src/base/random.js'
import {
  countNumberedCases,
  fails,
  FaultyStore,
  onEachBackend,
} from '../../helpers/metastore/metastores.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_106)

const metadata: LedgerMetadata = {
  quorumSize: 3,
  ensembleSize: 5,
  length: 0n,
  state: 'OPEN',
  segment: [{ ensembleMember: ['a:3181', 'b:3181'], firstEntryId: 0n }],
  digestType: 'CRC32C',
  password: Buffer.from('se"cret\0'),
  ctime: 1_700_000_000_000n,
  customMetadata: [{ key: 'application', value: Buffer.from('x') }],
}

const wrong = { code: 'ERR_LEDGER_METADATA_VERSION', returnCode: -17 }
const absent = { code: 'ERR_LEDGER_NO_SUCH_LEDGER', returnCode: -7 }
const broken = { code: 'ERR_LEDGER_META_STORE', returnCode: -18 }
const foreign = { compare: () => 'CONCURRENTLY', toString: () => 'x' } as unknown as Version

async function idsOf(manager: LedgerManager): Promise<bigint[]> {
  const ids: bigint[] = []
  for await (const range of manager.getLedgerRanges()) ids.push(...range.ids)
  return ids
}

async function createAll(manager: LedgerManager, ids: Iterable<bigint>): Promise<void> {
  let group: Promise<unknown>[] = []
  for (const id of ids) {
    group.push(manager.createLedger(id, metadata))
    if (group.length < 1000) continue
    await Promise.all(group)
    group = []
  }
  await Promise.all(group)
}

onEachBackend('a listing that is read by several callers at once', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 2 })
  const wanted = Array.from({ length: 9 }, (_, i) => BigInt(i + 1))
  await createAll(manager, wanted)
  const asked = manager.getLedgerRanges()
  t.strictSame(await Promise.all([asked.hasNext(), asked.hasNext()]), [true, true])
  const found: bigint[] = []
  for await (const { ids } of asked) found.push(...ids)
  t.strictSame(found, wanted)
  const shared = manager.getLedgerRanges()
  const taken: bigint[] = []
  const take = async (): Promise<void> => {
    for (let range = await shared.next(); range !== undefined; range = await shared.next()) {
      taken.push(...range.ids)
    }
  }
  await Promise.all([take(), take(), take()])
  t.strictSame(taken, wanted)
})

onEachBackend('152: what is not there', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  await fails(t, manager.readLedger(1n), absent)
  await fails(t, manager.removeLedger(1n, new LongVersion(1n)), absent)
  await fails(t, manager.removeLedger(1n, Version.ANY), absent)
  await fails(t, manager.writeLedger(1n, metadata, new LongVersion(1n)), absent)
})

onEachBackend('153, 154, 155, 156, 157, 158, 159: create to remove', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const first = await manager.createLedger(7n, metadata)
  t.equal(first.compare(Version.NEW), 'AFTER')
  const read = await manager.readLedger(7n)
  t.strictSame(read.value, metadata)
  t.equal(read.version.compare(first), 'CONCURRENTLY')
  await fails(t, manager.createLedger(7n, metadata), {
    code: 'ERR_LEDGER_EXISTS',
    returnCode: -20,
  })
  const closed: LedgerMetadata = {
    ...metadata,
    state: 'CLOSED',
    lastEntryId: 9n,
    length: 2n ** 62n,
  }
  const second = await manager.writeLedger(7n, closed, first)
  t.equal(second.compare(first), 'AFTER')
  for (const version of [first, new LongVersion(2n ** 62n), new LongVersion(-1n)]) {
    await fails(t, manager.writeLedger(7n, metadata, version), wrong)
    await fails(t, manager.removeLedger(7n, version), wrong)
  }
  t.strictSame((await manager.readLedger(7n)).value, closed)
  t.equal((await manager.readLedger(7n)).version.compare(second), 'CONCURRENTLY')
  await manager.removeLedger(7n, second)
  await fails(t, manager.readLedger(7n), absent)
  await manager.createLedger(8n, metadata)
  await manager.removeLedger(8n, Version.ANY)
  await fails(t, manager.readLedger(8n), absent)
})

onEachBackend('160, 161: versions that no metadata have', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const manager = await LedgerManager.open(faulty)
  await manager.createLedger(1n, metadata)
  const before = faulty.calls
  for (const version of [Version.NEW, foreign, null as unknown as Version]) {
    await fails(t, manager.removeLedger(1n, version), wrong)
    await fails(t, manager.writeLedger(1n, metadata, version), wrong)
    await fails(t, manager.writeLedger(2n, metadata, version), wrong)
  }
  await fails(t, manager.writeLedger(1n, metadata, Version.ANY), wrong)
  t.equal(faulty.calls, before, 'the store is not asked')
  t.strictSame(await idsOf(manager), [1n])
})

onEachBackend('162: metadata that cannot be read', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const table = await store.createScannableTable('LEDGER')
  const texts = ['', 'junk', 'BookieMetadataFormatVersion\t2\nquorumSize: 1', 'Bookie\t3\n']
  for (const [i, text] of texts.entries()) {
    const key = String(i).padStart(19, '0')
    await table.put(key, new Value({ '.META': text }), Version.NEW)
    await fails(t, manager.readLedger(BigInt(i)), broken)
  }
  await table.put('9'.padStart(19, '0'), new Value({ other: '' }), Version.NEW)
  await fails(t, manager.readLedger(9n), broken)
  await manager.removeLedger(9n, Version.ANY)
})

onEachBackend('164: requests that are sent again', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { removeIsIdempotent: true })
  const version = await manager.createLedger(1n, { ...metadata, cToken: 5n })
  const again = await manager.createLedger(1n, { ...metadata, cToken: 5n })
  t.equal(again.compare(version), 'CONCURRENTLY')
  for (const other of [{ ...metadata, cToken: 6n }, metadata]) {
    await fails(t, manager.createLedger(1n, other), { code: 'ERR_LEDGER_EXISTS' })
  }
  await manager.removeLedger(1n, version)
  await manager.removeLedger(1n, version)
  const strict = await LedgerManager.open(store)
  await fails(t, strict.removeLedger(1n, version), absent)
})

onEachBackend('metadata and ids that are not valid change nothing', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const invalid = { code: 'ERR_INVALID_ARGUMENT' }
  for (const id of [-1n, 2n ** 63n, 1, '1', null] as unknown as bigint[]) {
    await fails(t, manager.createLedger(id, metadata), invalid)
    await fails(t, manager.readLedger(id), invalid)
    await fails(t, manager.writeLedger(id, metadata, new LongVersion(0)), invalid)
    await fails(t, manager.removeLedger(id, Version.ANY), invalid)
    t.throws(() => {
      manager.registerLedgerMetadataListener(id, () => undefined)
    }, invalid)
  }
  const half = { quorumSize: 1 } as unknown as LedgerMetadata
  await fails(t, manager.createLedger(1n, half), invalid)
  await fails(t, LedgerManager.open(store, { metastoreMaxEntriesPerScan: 0 }), invalid)
  t.strictSame(await idsOf(manager), [])
})

onEachBackend(`140: ids of 63 bits are in order [seed ${seed}]`, async (t, { store }) => {
  const random = seededRandom(seed)
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 7 })
  const ids = new Set([0n, 1n, 2n ** 63n - 1n, 10n ** 10n, 10n ** 10n - 1n])
  while (ids.size < 200) {
    ids.add(BigInt(Math.floor(random() * 2 ** 53)) << BigInt(Math.floor(random() * 11)))
  }
  await createAll(manager, ids)
  const sorted = [...ids].sort((a, b) => (a < b ? -1 : 1))
  let end = -1n
  for await (const range of manager.getLedgerRanges()) {
    t.ok(range.ids.length > 0 && range.ids.length <= 7)
    t.ok(range.start > end, 'ranges ascend')
    t.equal(range.start, range.ids[0])
    t.equal(range.end, range.ids.at(-1))
    end = range.end
  }
  t.strictSame(await idsOf(manager), sorted)
  const processed: bigint[] = []
  await manager.asyncProcessLedgers((id) => void processed.push(id))
  t.strictSame(processed, sorted)
})

onEachBackend(`139: listing while others create and remove [seed ${seed}]`, async (t, group) => {
  const random = seededRandom(seed)
  const manager = await LedgerManager.open(group.store)
  const fixed = new Set<bigint>()
  while (fixed.size < 100) fixed.add(BigInt(Math.floor(random() * 1e6)))
  await createAll(manager, fixed)
  let writers = 10
  const write = async (): Promise<void> => {
    const own = await LedgerManager.open(await group.another())
    for (let round = 0; round < 60; round++) {
      const id = BigInt(Math.floor(random() * 1e6))
      if (fixed.has(id)) continue
      try {
        await own.createLedger(id, metadata)
        await own.removeLedger(id, Version.ANY)
      } catch (error) {
        t.match(error, { code: /^ERR_LEDGER_/ })
      }
    }
    writers--
  }
  let passes = 0
  const check = async (): Promise<void> => {
    const own = await LedgerManager.open(await group.another(), { metastoreMaxEntriesPerScan: 9 })
    do {
      const found = new Set(await idsOf(own))
      for (const id of fixed) if (!found.has(id)) t.fail(`ledger ${id} is missing`)
      passes++
    } while (writers > 0)
  }
  await Promise.all([...Array.from({ length: 10 }, write), ...Array.from({ length: 10 }, check)])
  t.ok(passes >= 10)
  t.strictSame(new Set(await idsOf(manager)), fixed)
})

onEachBackend('142: a failure is never the end of a listing', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const manager = await LedgerManager.open(faulty, { metastoreMaxEntriesPerScan: 2 })
  await createAll(manager, [1n, 2n, 3n, 4n, 5n])
  // The calls of a listing: open, then more and read for each of three pages.
  for (const operation of ['open', 'read', 'more'] as const) {
    for (let failing = 1; failing <= (operation === 'open' ? 1 : 3); failing++) {
      let seen = 0
      faulty.before = (call) => {
        if (call.operation === operation && ++seen === failing) throw new Error('planted')
      }
      const ranges = manager.getLedgerRanges()
      const list = async (): Promise<void> => {
        while (await ranges.hasNext()) await ranges.next()
      }
      await fails(t, list(), broken, `${operation} ${failing}`)
      await fails(t, ranges.hasNext(), broken, 'it stays failed')
      await fails(t, ranges.next(), broken)
      seen = 0
      await fails(
        t,
        manager.asyncProcessLedgers(() => undefined),
        broken,
      )
    }
  }
  faulty.before = () => undefined
  t.strictSame(await idsOf(manager), [1n, 2n, 3n, 4n, 5n])
})

onEachBackend('rows that are no ledgers fail a listing', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  await createAll(manager, [1n])
  const table = await store.createScannableTable('LEDGER')
  for (const key of ['0000000001', 'x', '9223372036854775808', '~ENDLESS', '-00000000000000001']) {
    await table.put(key, new Value(), Version.NEW)
    await fails(t, idsOf(manager), broken, key)
    await table.remove(key, Version.ANY)
  }
  await table.remove('~END', Version.ANY)
  await fails(t, idsOf(manager), broken, 'without its mark the end is not known')
  await LedgerManager.open(store)
  t.strictSame(await idsOf(manager), [1n])
})

onEachBackend('a closed listing does not look complete', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 1 })
  await createAll(manager, [1n, 2n])
  const ranges = manager.getLedgerRanges()
  await ranges.next()
  ranges.close()
  await fails(t, ranges.hasNext(), broken)
  const unopened = manager.getLedgerRanges()
  unopened.close()
  await fails(t, unopened.next(), broken)
  for await (const range of manager.getLedgerRanges()) {
    t.equal(range.start, 1n)
    break
  }
})

onEachBackend('143: processing one by one', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 2 })
  await manager.asyncProcessLedgers(() => void t.fail('there is none'))
  await createAll(manager, [1n, 2n, 3n, 4n, 5n])
  let inFlight = 0
  const seen: bigint[] = []
  const process = async (id: bigint): Promise<void> => {
    t.equal(++inFlight, 1)
    await new Promise((resolve) => setImmediate(resolve))
    inFlight--
    seen.push(id)
    if (id === 4n) throw new Error('planted')
  }
  await fails(t, manager.asyncProcessLedgers(process), { message: 'planted' })
  t.strictSame(seen, [1n, 2n, 3n, 4n])
})

onEachBackend('145: the highest and the lowest are collected', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 10 })
  const ids = Array.from({ length: 100 }, (_, i) => BigInt(i))
  await createAll(manager, ids)
  t.strictSame(await collectLedgers(manager, ids), [])
  await manager.removeLedger(99n, Version.ANY)
  t.strictSame(await collectLedgers(manager, ids), [99n])
  await manager.removeLedger(0n, Version.ANY)
  t.strictSame(await collectLedgers(manager, [...ids].reverse()), [0n, 99n])
  t.strictSame(await collectLedgers(manager, ids, { verify: false }), [0n, 99n])
})

onEachBackend('only ledger ids are collected', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  await createAll(manager, [5n])
  for (const wrong of [5, '5', null, -1n, 2n ** 63n]) {
    for (const verify of [true, false]) {
      const collected = collectLedgers(manager, [5n, wrong as bigint], { verify })
      await t.rejects(collected, { code: 'ERR_INVALID_ARGUMENT' }, String(wrong))
    }
  }
})

onEachBackend('146: 30,001 ledgers', async (t, { store }) => {
  const manager = await LedgerManager.open(store, { metastoreMaxEntriesPerScan: 1000 })
  const ids = Array.from({ length: 30_001 }, (_, i) => BigInt(i + 1))
  await createAll(manager, ids)
  t.strictSame(await idsOf(manager), ids)
  await manager.removeLedger(1n, Version.ANY)
  t.strictSame(await collectLedgers(manager, ids), [1n])
})

onEachBackend('149, 150, 151: what is not collected', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  await createAll(manager, [1n, 2n, 3n])
  const nothing = {
    async *getLedgerRanges() {
      // Says that there are no ledgers.
    },
    readLedger: (id: bigint) => manager.readLedger(id),
  }
  t.strictSame(await collectLedgers(nothing, [1n, 2n, 3n]), [])
  t.strictSame(await collectLedgers(nothing, [1n, 4n]), [4n])
  const forgetful = {
    getLedgerRanges: () => manager.getLedgerRanges(),
    readLedger: () => manager.readLedger(99n),
  }
  t.strictSame(await collectLedgers(forgetful, [1n, 2n, 3n]), [])
  const unable = {
    getLedgerRanges: () => manager.getLedgerRanges(),
    readLedger: async () => {
      throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
    },
  }
  t.strictSame(await collectLedgers(unable, [1n, 4n]), [])
})

onEachBackend(`163: 300 workers create and remove [seed ${seed}]`, async (t, group) => {
  const manager = await LedgerManager.open(group.store)
  let next = 0n
  let operations = 0
  const random = seededRandom(seed)
  const used = new Set<bigint>()
  const newId = (): bigint => {
    if (next % 2n === 0n) return ++next
    next++
    let id: bigint
    do id = (1n << 40n) + BigInt(Math.floor(random() * 2 ** 40))
    while (used.has(id))
    used.add(id)
    return id
  }
  const work = async (): Promise<void> => {
    const own: { id: bigint; version: Version }[] = []
    while (operations < 20_000) {
      operations++
      const last = random() < 0.5 ? own.pop() : undefined
      if (last !== undefined) {
        await manager.removeLedger(last.id, last.version)
      } else {
        const id = newId()
        own.push({ id, version: await manager.createLedger(id, metadata) })
      }
    }
    for (const { id, version } of own) await manager.removeLedger(id, version)
  }
  await Promise.all(Array.from({ length: 300 }, work))
  t.strictSame(await idsOf(manager), [], 'none failed, all are gone')
})

onEachBackend('format removes the ledgers', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  await createAll(manager, [1n, 2n, 3n])
  await manager.format()
  t.strictSame(await idsOf(manager), [])
})

countNumberedCases()
