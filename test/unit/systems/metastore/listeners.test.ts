/**
 * Callbacks of users that throw or reject, everywhere in the metadata systems: the handler of
 * errors is told, other listeners hear the event, and the process lives.
 */
import { MemoryHubRegistry } from '../../../helpers/metastore/memory-hubs.js'
import { CellarError } from '../../../../src/api/index.js'
import t from 'tap'
import {
  CallbackTable,
  CellarMetaStore,
  LedgerManager,
  LeaseHubRegistry,
  MetastoreErrorCode,
  Value,
  Version,
  type LedgerMetadata,
  type LedgerMetadataListener,
} from '../../../../src/systems/metastore/index.js'
import {
  callListener,
  safeHandler,
} from '../../../../src/systems/metastore/kernel/listener-errors.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import {
  jsonSerde,
  MetadataCache,
  metadataStoreOf,
  openMetadataStore,
  type CacheSink,
} from '../../../../src/entries/metastore-pulsar.js'
import { ManualTimer } from '../../../helpers/manual-timer.js'
import { FaultyStore, modelStore } from '../../../helpers/metastore/metastores.js'
import { ModelDatabase } from '../../../model/reference/model-database.js'

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** The ways in which a callback fails. */
const failures: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error('thrown')
  },
  rejects: () => Promise.reject(new Error('rejected')),
  'rejects through a promise of another library': () => ({
    then: (_resolve: unknown, reject: (error: unknown) => void) => reject(new Error('other')),
  }),
  'throws an object without prototype': () => {
    throw Object.create(null)
  },
  'returns an object whose then throws': () => ({
    get then(): never {
      throw new Error('getter')
    },
  }),
}

/** Runs `use` and returns what would have ended the process, and the warnings. */
async function outcomes(use: () => Promise<void>): Promise<string[]> {
  const seen: string[] = []
  const uncaught = (error: unknown): void => void seen.push(`uncaught ${String(error)}`)
  const unhandled = (error: unknown): void => void seen.push(`unhandled ${String(error)}`)
  const listeners = {
    uncaughtException: process.listeners('uncaughtException'),
    unhandledRejection: process.listeners('unhandledRejection'),
  }
  for (const name of ['uncaughtException', 'unhandledRejection'] as const) {
    process.removeAllListeners(name)
  }
  process.on('uncaughtException', uncaught)
  process.on('unhandledRejection', unhandled)
  try {
    await use()
    await turns()
  } finally {
    process.off('uncaughtException', uncaught)
    process.off('unhandledRejection', unhandled)
    for (const each of listeners.uncaughtException) process.on('uncaughtException', each)
    for (const each of listeners.unhandledRejection) process.on('unhandledRejection', each)
  }
  return seen
}

void t.test('reads for the listeners of ledgers end with their table, or their wait', async (t) => {
  const errors: unknown[] = []
  let waits = 0
  const seen = await outcomes(async () => {
    const database = await ModelDatabase.open()
    const store = new CellarMetaStore()
    await store.init({ database }, store.getVersion())
    const options = {
      onListenerError: (error: unknown) => void errors.push(error),
      waitToRetry: async () => void waits++,
    }
    const manager = await LedgerManager.open(store, options)
    manager.close()
    manager.registerLedgerMetadataListener(5n, () => t.fail('there is no table'))
    await turns()
    t.match(errors.splice(0), [{ code: MetastoreErrorCode.illegalOp }])
    t.equal(waits, 0, 'a closed table is not read again')
    const faulty = new FaultyStore(store)
    const impatient = await LedgerManager.open(faulty, {
      ...options,
      waitToRetry: () => Promise.reject(new Error('no wait')),
    })
    faulty.before = ({ operation }) => {
      if (operation === 'get') throw new CellarError(MetastoreErrorCode.serviceDown, 'planted')
    }
    impatient.registerLedgerMetadataListener(6n, () => t.fail('cannot be read'))
    await turns()
    t.match(errors, [{ message: 'no wait' }])
    t.equal(
      impatient.unregisterLedgerMetadataListener(6n, () => undefined),
      false,
    )
    await store.close()
  })
  t.same(seen, [], 'nothing ended the process')
})

void t.test('callbacks of cursors and of other calls come in the order of the calls', async (t) => {
  const store = await modelStore()
  const table = await store.createScannableTable('rows')
  await table.put('a', new Value(), Version.NEW)
  const callbacks = new CallbackTable(table, (error) => t.fail(String(error)))
  const range = {
    firstKey: 'a',
    firstInclusive: true,
    lastKey: null,
    lastInclusive: true,
    order: 'ASC',
  } as const
  const called: string[] = []
  const note = (name: string) => (): void => void called.push(name)
  callbacks.openCursor(null, note('cursor'), null)
  callbacks.get('a', null, note('get'), null)
  callbacks.openRange(range, null, note('range'), null)
  callbacks.get('absent', null, note('absent'), null)
  callbacks.openRange({ ...range, order: 'UP' as never }, null, note('wrong'), null)
  callbacks.get('a', null, note('last'), null)
  await turns()
  t.equal(called.join(' '), 'cursor get range absent wrong last')
  await store.close()
})

void t.test('a listener that another one unregisters hears nothing more', async (t) => {
  const store = await modelStore()
  const manager = await LedgerManager.open(store)
  const open = { quorumSize: 1, ensembleSize: 1, length: 0n, state: 'OPEN' } as const
  let version = await manager.createLedger(1n, open)
  const heard: string[] = []
  const second: LedgerMetadataListener<LedgerMetadata> = (_, metadata) => {
    heard.push(`second ${metadata?.value.length}`)
  }
  manager.registerLedgerMetadataListener(1n, (id, metadata) => {
    heard.push(`first ${metadata?.value.length}`)
    if (metadata?.value.length === 1n) manager.unregisterLedgerMetadataListener(id, second)
  })
  manager.registerLedgerMetadataListener(1n, second)
  await turns()
  for (const length of [1n, 2n]) {
    version = await manager.writeLedger(1n, { ...open, length }, version)
    await turns()
  }
  t.same(heard, ['first 0', 'second 0', 'first 1', 'first 2'])
  t.equal(manager.unregisterLedgerMetadataListener(1n, second), false, 'it stays unregistered')
  await store.close()
})

for (const [how, fail] of Object.entries(failures)) {
  void t.test(`a listener that ${how} reaches the handler, and nothing else`, async (t) => {
    const errors: unknown[] = []
    const onListenerError = (error: unknown): void => void errors.push(error)
    const expectTold = (count: number, what: string): void => {
      t.equal(errors.length, count, `${what}: the handler was told ${count} times`)
      errors.length = 0
    }
    const seen = await outcomes(async () => {
      callListener(onListenerError, fail)
      await turns()
      expectTold(1, 'the helper')

      const store = await openMetadataStore('memory:local', { onListenerError })
      store.registerListener(fail)
      store.registerSessionListener(fail)
      let heard = 0
      store.registerListener(() => heard++)
      const removeCache = store.registerCache({
        changed: fail as CacheSink['changed'],
        reset: fail,
      })
      await store.put('/a', '')
      await turns()
      t.equal(heard, 1, 'the next listener')
      expectTold(2, 'a listener and a cache')
      removeCache()
      await store.subscribeSequence('/s', fail)
      await store.put('/s', '', undefined, { sequenceKeysDeltas: [1] })
      await turns()
      expectTold(2, 'a listener of a sequence beside the other')
      await store.scanChildren('/', {
        onNext: () => undefined,
        onCompleted: fail,
      })
      await turns()
      expectTold(1, 'the end of a scan')
      const failing = store.scanChildren('/', {
        onNext: () => Promise.reject(new Error('no')),
        onError: fail,
      })
      await t.rejects(failing, /no/)
      await turns()
      expectTold(1, 'the failure of a scan')
      await store.close()

      const clock = new ManualTimer()
      const database = await openMemoryDatabase()
      const other = await metadataStoreOf(database, { onListenerError, clock })
      const cache = new MetadataCache<number>(other, jsonSerde(), {
        clock,
        refreshAfterMilliseconds: 10,
        onReload: fail,
      })
      await other.put('/n', '1')
      await cache.get('/n')
      clock.milliseconds += 10
      await cache.get('/n')
      await turns()
      expectTold(1, 'a value that was read again')
      const stop = other.registerCache({
        changed: () => undefined,
        reset: fail,
      })
      other.faults.expireSession()
      await turns()
      expectTold(1, 'caches that are reset')
      stop()
      await other.close()
      await database.close()
    })
    t.same(seen, [], 'nothing ended the process')
  })

  void t.test(`a watcher or callback of BookKeeper that ${how} is contained`, async (t) => {
    const seen = await outcomes(async () => {
      for (const openDatabase of [openMemoryDatabase, () => ModelDatabase.open()]) {
        const errors: unknown[] = []
        const onListenerError = (error: unknown): void => void errors.push(error)
        const store = new CellarMetaStore()
        await store.init({ onListenerError, openDatabase }, store.getVersion())
        const table = await store.createScannableTable('t')
        let heard = 0
        const version = await table.put('k', new Value(), Version.NEW)
        await table.get('k', { watcher: fail })
        await table.get('k', { watcher: () => void heard++ })
        await table.put('k', new Value(), version)
        await turns()
        t.equal(errors.length, 1, 'a watcher')
        t.equal(heard, 1, 'the next watcher')
        const callbacks = new CallbackTable(table, onListenerError)
        callbacks.get('k', {} as never, fail, undefined)
        await turns()
        t.equal(errors.length, 2, 'a callback')
        const manager = await LedgerManager.open(store, { onListenerError })
        manager.registerLedgerMetadataListener(5n, fail)
        await turns()
        t.equal(errors.length, 3, 'a listener of a ledger')
        manager.close()
        await store.close()
      }
    })
    t.same(seen, [], 'nothing ended the process')
  })

  void t.test(`a listener of a lost hub that ${how} is contained`, async (t) => {
    const errors: unknown[] = []
    const onWarning = (): void => undefined
    process.on('warning', onWarning)
    const seen = await outcomes(async () => {
      const store = await modelStore()
      const timer = new ManualTimer()
      const hubs = await LeaseHubRegistry.open(store, {
        leaseMilliseconds: 100,
        now: timer.now,
        after: timer.after,
        onListenerError: (error) => errors.push(error),
      })
      const hub = await hubs.register('host:1:2')
      let heard = 0
      hub.onLost(fail)
      hub.onLost(() => void heard++)
      timer.advance(100)
      hub.onLost(fail)
      await turns()
      t.equal(heard, 1, 'the next listener')
      t.equal(errors.length, 2, 'told')
      const inMemory = new MemoryHubRegistry(() => 0).register('host:1:2')
      inMemory.onLost(fail)
      await inMemory.unregister()
      await store.close()
    })
    t.same(seen, [], 'nothing ended the process')
    process.off('warning', onWarning)
  })

  void t.test(`a handler of errors that ${how} is warned of`, async (t) => {
    const warnings: unknown[] = []
    const onWarning = (warning: unknown): void => void warnings.push(warning)
    process.on('warning', onWarning)
    const seen = await outcomes(async () => {
      safeHandler(fail)(new Error('of a listener'))
      await turns()
    })
    t.same(seen, [], 'nothing ended the process')
    t.equal(warnings.length, 1, 'one warning')
    process.off('warning', onWarning)
  })
}

void t.test('a hub loses its lease in time although the wall clock is set back', async (t) => {
  const store = await modelStore()
  const timer = new ManualTimer(1e12)
  let offset = 0
  const options = {
    leaseMilliseconds: 100,
    now: () => timer.now() + offset,
    elapsed: timer.now,
    after: timer.after,
  }
  const hubs = await LeaseHubRegistry.open(store, options)
  const hub = await hubs.register('host:1:2')
  let isLost = false
  hub.onLost(() => (isLost = true))
  timer.advance(60)
  await hub.renew()
  offset = -3_600_000
  timer.advance(60)
  t.ok(hub.isHeld(), 'the lease was renewed')
  timer.advance(60)
  t.ok(isLost, 'by a timer')
  t.notOk(hub.isHeld())
  await t.rejects(LeaseHubRegistry.open(store, { ...options, leaseMs: 5 } as never), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  await store.close()
})
