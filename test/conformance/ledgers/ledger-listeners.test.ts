/** Listeners to ledger metadata, case by case (4.5 of the specification), on each backend. */
import { CellarError } from '../../../src/api/index.js'
import { deferred } from '../../../src/base/deferred.js'
import {
  LedgerManager,
  MetastoreErrorCode,
  Version,
  type LedgerMetadata,
  type LedgerMetadataListener,
} from '../../../src/systems/metastore/index.js'
import {
  countNumberedCases,
  FaultyStore,
  onEachBackend,
} from '../../helpers/metastore/metastores.js'

const metadata: LedgerMetadata = { quorumSize: 1, ensembleSize: 1, length: 0n, state: 'OPEN' }
const withLength = (length: bigint): LedgerMetadata => ({ ...metadata, length })

/** A listener that writes down what it is told: lengths, or null. */
class Diary {
  readonly told: (bigint | null)[] = []
  #changed = deferred<void>()

  readonly listener: LedgerMetadataListener<LedgerMetadata> = (_id, change) => {
    this.told.push(change === null ? null : change.value.length)
    this.#changed.resolve()
    this.#changed = deferred()
  }

  /** Waits until something was told `count` times in all. */
  async after(count: number): Promise<(bigint | null)[]> {
    while (this.told.length < count) await this.#changed.promise
    return this.told
  }
}

/** Long enough for everything that is under way in the process to arrive. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

onEachBackend('166, 167, 168: the life of a ledger', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const first = await manager.createLedger(1n, withLength(0n))
  const diary = new Diary()
  manager.registerLedgerMetadataListener(1n, diary.listener)
  manager.registerLedgerMetadataListener(1n, diary.listener)
  await settle()
  t.strictSame(await diary.after(1), [0n])
  const second = await manager.writeLedger(1n, withLength(1n), first)
  t.strictSame(await diary.after(2), [0n, 1n])
  const third = await manager.writeLedger(1n, withLength(2n), second)
  t.strictSame(await diary.after(3), [0n, 1n, 2n])
  await manager.removeLedger(1n, third)
  t.strictSame(await diary.after(4), [0n, 1n, 2n, null])
  await manager.createLedger(1n, withLength(9n))
  await settle()
  t.equal(diary.told.length, 4, 'it ended with the ledger')
  t.notOk(manager.unregisterLedgerMetadataListener(1n, diary.listener))
})

onEachBackend('a ledger that is not there', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const diary = new Diary()
  manager.registerLedgerMetadataListener(1n, diary.listener)
  t.strictSame(await diary.after(1), [null])
})

onEachBackend('metadata that cannot be decoded are reported once', async (t, { store }) => {
  const errors: unknown[] = []
  let decodes = 0
  let waits = 0
  const manager = await LedgerManager.open<string>(store, {
    onListenerError: (error) => void errors.push(error),
    waitToRetry: async () => void waits++,
    codec: {
      encode: (text) => Buffer.from(text),
      decode: (bytes) => {
        decodes++
        if (bytes.toString().startsWith('damaged')) throw new Error(bytes.toString())
        return bytes.toString()
      },
    },
  })
  let version = await manager.createLedger(1n, 'damaged 1')
  const told: (string | null)[] = []
  const listener = (_id: bigint, change: { value: string } | null): void => {
    told.push(change === null ? null : change.value)
  }
  manager.registerLedgerMetadataListener(1n, listener)
  await settle()
  manager.registerLedgerMetadataListener(1n, (id, change) => listener(id, change))
  await settle()
  t.match(errors, [{ message: 'damaged 1' }])
  t.equal(waits, 0)
  t.equal(decodes, 2, 'one for each registration')
  version = await manager.writeLedger(1n, 'damaged 2', version)
  await settle()
  t.match(errors, [{ message: 'damaged 1' }, { message: 'damaged 2' }])
  version = await manager.writeLedger(1n, 'whole', version)
  await settle()
  t.strictSame(told, ['whole', 'whole'], 'the watch goes on')
  await manager.removeLedger(1n, version)
  await settle()
  t.strictSame(told, ['whole', 'whole', null, null])
  t.equal(errors.length, 2)
})

onEachBackend('169: a read that fails is repeated', async (t, { store }) => {
  const faulty = new FaultyStore(store)
  const waits: (() => void)[] = []
  const manager = await LedgerManager.open(faulty, {
    waitToRetry: () => new Promise((resolve) => waits.push(resolve)),
  })
  await manager.createLedger(1n, withLength(0n))
  let failures = 2
  faulty.before = ({ operation }) => {
    if (operation !== 'get' || failures-- <= 0) return
    throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
  }
  const diary = new Diary()
  manager.registerLedgerMetadataListener(1n, diary.listener)
  for (let round = 0; round < 2; round++) {
    await settle()
    t.strictSame(diary.told, [])
    t.equal(waits.length, 1)
    waits.pop()!()
  }
  t.strictSame(await diary.after(1), [0n])
  t.equal(waits.length, 0)
})

onEachBackend('170, 172: listeners that go', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  let version = await manager.createLedger(1n, withLength(0n))
  const one = new Diary()
  const two = new Diary()
  manager.registerLedgerMetadataListener(1n, one.listener)
  manager.registerLedgerMetadataListener(1n, two.listener)
  await one.after(1)
  await two.after(1)
  t.ok(manager.unregisterLedgerMetadataListener(1n, one.listener))
  version = await manager.writeLedger(1n, withLength(1n), version)
  await two.after(2)
  t.ok(manager.unregisterLedgerMetadataListener(1n, two.listener))
  version = await manager.writeLedger(1n, withLength(2n), version)
  await settle()
  t.strictSame(one.told, [0n])
  t.strictSame(two.told, [0n, 1n])
  manager.registerLedgerMetadataListener(1n, one.listener)
  t.strictSame(await one.after(2), [0n, 2n])
  manager.close()
  const other = await LedgerManager.open(store)
  await other.writeLedger(1n, withLength(3n), version)
  await settle()
  t.equal(one.told.length, 2, 'a closed manager tells nothing')
})

onEachBackend('171, 173: many listeners and managers', async (t, group) => {
  const managers = [
    await LedgerManager.open(group.store),
    await LedgerManager.open(group.store),
    await LedgerManager.open(await group.another()),
  ]
  const version = await managers[0].createLedger(1n, withLength(0n))
  const diaries: Diary[] = []
  for (const manager of managers) {
    for (let i = 0; i < 3; i++) {
      const diary = new Diary()
      diaries.push(diary)
      manager.registerLedgerMetadataListener(1n, diary.listener)
    }
  }
  for (const diary of diaries) await diary.after(1)
  const next = await managers[1].writeLedger(1n, withLength(1n), version)
  for (const diary of diaries) await diary.after(2)
  await managers[2].removeLedger(1n, next)
  for (const diary of diaries) t.strictSame(await diary.after(3), [0n, 1n, null])
})

onEachBackend('changes faster than listeners come in order', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  let version = await manager.createLedger(1n, withLength(0n))
  const diary = new Diary()
  manager.registerLedgerMetadataListener(1n, diary.listener)
  for (let length = 1n; length <= 200n; length++) {
    version = await manager.writeLedger(1n, withLength(length), version)
  }
  await manager.removeLedger(1n, Version.ANY)
  while (diary.told.at(-1) !== null) await diary.after(diary.told.length + 1)
  const lengths = diary.told.slice(0, -1) as bigint[]
  t.strictSame(
    lengths,
    [...new Set(lengths)].sort((a, b) => Number(a - b)),
  )
})

onEachBackend('metadata that a caller or listener changes are their own', async (t, { store }) => {
  const manager = await LedgerManager.open(store)
  const told: unknown[] = []
  const change: LedgerMetadataListener<LedgerMetadata> = (_id, found) => {
    Object.assign(found?.value ?? {}, { length: 9n })
  }
  await manager.createLedger(1n, { ...withLength(5n), cToken: 1n })
  manager.registerLedgerMetadataListener(1n, change)
  manager.registerLedgerMetadataListener(1n, (_id, found) => void told.push(found?.value.length))
  await settle()
  t.strictSame(told, [5n])
  const other = { ...metadata, cToken: 2n }
  const creation = manager.createLedger(1n, other)
  other.cToken = 1n
  await t.rejects(creation, { code: 'ERR_LEDGER_EXISTS' })
})

countNumberedCases()
