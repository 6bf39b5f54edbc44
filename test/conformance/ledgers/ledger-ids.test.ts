/** Ledger ids: never twice, whatever crashes. */
import { CellarError } from '../../../src/api/index.js'
import {
  LedgerIdGenerator,
  LedgerManager,
  MetastoreErrorCode,
  Value,
  Version,
} from '../../../src/systems/metastore/index.js'
import { fails, FaultyStore, onEachBackend } from '../../helpers/metastore/metastores.js'

onEachBackend('ids begin at 1 and ascend', async (t, { store }) => {
  const ids = await LedgerIdGenerator.open(store, { blockSize: 3 })
  for (let id = 1n; id <= 10n; id++) t.equal(await ids.generateLedgerId(), id)
})

onEachBackend('many generators at once never give the same id', async (t, group) => {
  const seen = new Set<bigint>()
  const generators: LedgerIdGenerator[] = []
  for (let i = 0; i < 8; i++) {
    const store = await group.another()
    const buckets = [1, 1, 4, 128][i % 4]
    const firstBucket = i % buckets
    generators.push(await LedgerIdGenerator.open(store, { blockSize: 1 + i, buckets, firstBucket }))
  }
  await Promise.all(
    generators.flatMap((generator) =>
      Array.from({ length: 25 }, async () => {
        for (let i = 0; i < 10; i++) seen.add(await generator.generateLedgerId())
      }),
    ),
  )
  t.equal(seen.size, 8 * 25 * 10)
  for (const id of seen) if (id < 1n || id >= 2n ** 63n) t.fail(`${id} is out of range`)
})

onEachBackend('what was handed out before does not come back', async (t, group) => {
  const first = await LedgerIdGenerator.open(group.store, { blockSize: 100 })
  const before = await first.generateLedgerId()
  const manager = await LedgerManager.open(group.store)
  await manager.format()
  const second = await LedgerIdGenerator.open(await group.another(), { blockSize: 100 })
  t.equal(await second.generateLedgerId(), before + 100n, 'the rest of the block is lost')
})

onEachBackend('ids are handed out only after their write', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const ids = await LedgerIdGenerator.open(faulty, { blockSize: 2 })
  await ids.generateLedgerId()
  await ids.generateLedgerId()
  faulty.before = ({ operation }) => {
    if (operation !== 'put') return
    throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
  }
  const waiting = [ids.generateLedgerId(), ids.generateLedgerId()]
  for (const id of waiting) await fails(t, id, { code: 'ERR_LEDGER_META_STORE' })
  faulty.before = () => undefined
  t.equal(await ids.generateLedgerId(), 3n)
})

onEachBackend('full buckets are skipped, and none left is an error', async (t, { store }) => {
  const table = await store.createTable('IDGEN')
  const nearEnd = (2n ** 56n - 2n).toString()
  await table.put('bucket-0', new Value({ next: nearEnd }), Version.NEW)
  await table.put('bucket-1', new Value({ next: (2n ** 56n).toString() }), Version.NEW)
  const ids = await LedgerIdGenerator.open(store, { buckets: 2, blockSize: 5 })
  t.equal(await ids.generateLedgerId(), 2n ** 56n - 2n)
  t.equal(await ids.generateLedgerId(), 2n ** 56n - 1n)
  for (let i = 0; i < 2; i++) {
    await fails(t, ids.generateLedgerId(), { code: 'ERR_LEDGER_ID_OVERFLOW', returnCode: -106 })
  }
  const more = await LedgerIdGenerator.open(store, { buckets: 128, firstBucket: 127 })
  const highest = await more.generateLedgerId()
  t.equal(highest, (127n << 56n) + 1n)
})

onEachBackend('a counter that cannot be read gives no ids', async (t, { store }) => {
  const table = await store.createTable('IDGEN')
  for (const text of ['', '-1', 'x', '1'.repeat(40)]) {
    await table.put('bucket-0', new Value({ next: text }), Version.NEW)
    const ids = await LedgerIdGenerator.open(store)
    await fails(t, ids.generateLedgerId(), { code: 'ERR_LEDGER_META_STORE' })
    await table.remove('bucket-0', Version.ANY)
  }
})

onEachBackend('options out of range are refused', async (t, { store }) => {
  for (const options of [
    { buckets: 0 },
    { buckets: 129 },
    { blockSize: 0 },
    { blockSize: 1.5 },
    { firstBucket: 1 },
  ]) {
    await fails(t, LedgerIdGenerator.open(store, options), { code: 'ERR_INVALID_ARGUMENT' })
  }
})
