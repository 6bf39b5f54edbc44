/** Moves that fail half-way: started again, given up, and never undone behind their end. */
import t from 'tap'
import {
  coordinatorRecord,
  migrationPath,
  participantsPath,
} from '../../../../../src/systems/metastore/pulsar/clusters/migration.js'
import {
  DualMetadataStore,
  MetadataErrorCode,
  metadataStoreOf,
  MetadataTableView,
  MigrationCoordinator,
  textSerde,
  type CachingStore,
  type CellarMetadataStore,
} from '../../../../../src/entries/metastore-pulsar.js'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import { withMembers } from '../../../../helpers/planted.js'

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

const { illegalState, invalidArgument } = MetadataErrorCode

/** Two databases, handles on the first, and one that follows the move. */
async function scene() {
  const before = await openMemoryDatabase()
  const after = await openMemoryDatabase()
  const source = await metadataStoreOf(before)
  const openTarget = (): Promise<CellarMetadataStore> => metadataStoreOf(after)
  const dual = await DualMetadataStore.open(await metadataStoreOf(before), openTarget)
  return {
    source,
    dual,
    openTarget,
    openSource: () => metadataStoreOf(before),
    close: async () => {
      await dual.close()
      await source.close()
      await before.close()
      await after.close()
    },
  }
}

void t.test('a second attempt brings back nothing that was deleted meanwhile', async (t) => {
  const { source, dual, openTarget, close } = await scene()
  for (let i = 0; i < 5; i++) await dual.put(`/a/${i}/below`, 'first')
  let copies = 0
  const failing = new MigrationCoordinator(source, 'target', {
    openTarget: async () => {
      const target = await openTarget()
      return withMembers(target as CachingStore & CellarMetadataStore, {
        importRecords: (records) => {
          if (++copies > 3) return Promise.reject(new Error('no room'))
          return target.importRecords(records)
        },
      })
    },
  })
  await t.rejects(failing.startMigration(), /no room/)
  await turns()
  t.equal(dual.phase, 'FAILED')
  await dual.deleteRecursive('/a')
  await dual.put('/a/9', 'second')
  await new MigrationCoordinator(source, 'target', { openTarget }).startMigration()
  await turns()
  t.equal(dual.phase, 'COMPLETED')
  t.same(await dual.getChildren('/a'), ['9'])
  t.same(await dual.getChildren('/'), ['a'], 'and nothing of the move itself')
  await close()
})

void t.test('a move whose coordinator dies is given up, and cannot end later', async (t) => {
  for (const how of ['kill', 'expireSession'] as const) {
    const { dual, openSource, openTarget, close } = await scene()
    await dual.put('/a', 'first')
    const dying = await openSource()
    let goOn = (): void => undefined
    const late = new MigrationCoordinator(dying, 'target', {
      openTarget: async () => {
        await new Promise<void>((resolve) => (goOn = resolve))
        return openTarget()
      },
    })
    const ending = t.rejects(late.startMigration(), `${how}: the late coordinator is told`)
    while (dual.phase !== 'COPYING') await turns(1)
    await t.rejects(dual.put('/a', 'x'), { code: illegalState })
    const other = await openSource()
    const second = new MigrationCoordinator(other, 'target', { openTarget })
    await t.rejects(second.startMigration(), { code: illegalState }, 'one at a time')
    await t.rejects(second.reset(), { code: illegalState }, 'the coordinator lives')
    if (how === 'kill') {
      await dying.close()
    } else dying.faults.expireSession()
    await turns(40)
    t.equal(dual.phase, 'FAILED', `${how}: given up`)
    await dual.put('/a', 'second')
    goOn()
    await ending
    await turns()
    t.equal(dual.phase, 'FAILED', 'still')
    await second.startMigration().catch(async (error: unknown) => {
      t.fail(String(error))
    })
    await turns()
    t.equal(dual.phase, 'COMPLETED', 'started again')
    t.equal((await dual.get('/a'))?.value.toString(), 'second')
    t.notOk(await other.exists(coordinatorRecord), 'nobody is at work')
    await t.rejects(second.reset(), { code: illegalState }, 'over')
    await other.close()
    if (how !== 'kill') await dying.close()
    await close()
  }
})

void t.test('a state that nobody carries on is reset', async (t) => {
  const { source, dual, openTarget, close } = await scene()
  await source.put(migrationPath, JSON.stringify({ phase: 'COPYING', targetUrl: 'target' }))
  await turns()
  await t.rejects(dual.put('/a', ''), { code: illegalState })
  const coordinator = new MigrationCoordinator(source, 'target', { openTarget })
  await coordinator.reset()
  await coordinator.reset()
  await turns()
  t.ok(await dual.put('/a', ''), 'writes are allowed again')
  t.throws(() => new MigrationCoordinator(source, 'x', { openTarget, preparationMs: 1 } as never), {
    code: invalidArgument,
  })
  await close()
})

void t.test('a target with records of its own is refused and left alone', async (t) => {
  const { source, dual, openTarget, close } = await scene()
  await dual.put('/a', '')
  const target = await openTarget()
  await target.put('/precious', 'data')
  const coordinator = new MigrationCoordinator(source, 'target', { openTarget })
  await t.rejects(coordinator.startMigration(), { code: illegalState })
  await turns()
  t.equal(dual.phase, 'FAILED')
  t.same(await target.getChildren('/'), ['precious'])
  await target.delete('/precious')
  await coordinator.startMigration()
  await turns()
  t.same(await target.getChildren('/'), ['a'])
  await target.close()
  await close()
})

void t.test('the record of the root is a record, of the source and of the target', async (t) => {
  const { source, dual, openTarget, close } = await scene()
  await dual.put('/', 'first')
  await dual.put('/', 'second')
  const target = await openTarget()
  await target.put('/', 'own')
  const coordinator = new MigrationCoordinator(source, 'target', { openTarget })
  await t.rejects(coordinator.startMigration(), { code: illegalState })
  t.equal(String((await target.get('/'))?.value), 'own')
  await target.delete('/')
  await coordinator.startMigration()
  await turns()
  const found = await dual.get('/')
  t.equal(String(found?.value), 'second')
  t.equal(found?.stat.version, 1)
  await target.close()
  await close()
})

void t.test('an open that fails leaves nothing at its source', async (t) => {
  const before = await openMemoryDatabase()
  const store = await metadataStoreOf(before)
  let attached = 0
  const counted = (end: () => void): (() => void) => {
    attached++
    return () => {
      attached--
      end()
    }
  }
  let isRefused = false
  const source = withMembers<CachingStore>(store, {
    registerCache: (sink) => counted(store.registerCache(sink)),
    registerListener: (listener) => counted(store.registerListener(listener)),
    registerSessionListener: (listener) => counted(store.registerSessionListener(listener)),
    // The read after the record of the participant was written.
    get: async (path, options) => {
      const isHere = (await store.getChildren(participantsPath)).length > 0
      if (isRefused && isHere) throw new Error('out of reach')
      return store.get(path, options)
    },
  })
  const openTarget = (): Promise<CachingStore> => Promise.reject(new Error('no target'))
  isRefused = true
  await t.rejects(DualMetadataStore.open(source, openTarget), /out of reach/)
  t.equal(attached, 0, 'no listeners')
  t.same(await store.getChildren(participantsPath), [], 'no record that delays migrations')
  isRefused = false
  await store.put(migrationPath, JSON.stringify({ phase: 'COMPLETED', targetUrl: 'target' }))
  await t.rejects(DualMetadataStore.open(source, openTarget), /no target/)
  const openNothing = (): Promise<CachingStore> => Promise.resolve({} as CachingStore)
  await t.rejects(DualMetadataStore.open(source, openNothing), { code: invalidArgument })
  t.equal(attached, 0, 'no listeners either')
  await store.close()
  await before.close()
})

void t.test('an event during the open gives a handle no second record', async (t) => {
  const before = await openMemoryDatabase()
  const store = await metadataStoreOf(before)
  let isFirst = true
  const source = withMembers<CachingStore>(store, {
    put: async (path, ...given) => {
      if (isFirst && path.startsWith(participantsPath)) {
        isFirst = false
        await store.put(migrationPath, JSON.stringify({ phase: 'FAILED', targetUrl: '' }))
        await turns()
      }
      return store.put(path, ...given)
    },
  })
  const dual = await DualMetadataStore.open(source, () => metadataStoreOf(before))
  await turns()
  t.equal(dual.phase, 'FAILED')
  t.same((await store.getChildren(participantsPath)).length, 1)
  await dual.close()
  await before.close()
})

/** A move of two records, whose last writes have high sequences in the source. */
async function highSequences() {
  const { source, dual, openTarget, close } = await scene()
  for (let i = 0; i < 60; i++) await source.put('/other', `${i}`)
  await source.put('/t/a', 'first')
  const { sequence } = await source.put('/t/b', 'first')
  const move = async (): Promise<void> => {
    await new MigrationCoordinator(source, 'target', { openTarget }).startMigration()
    while (dual.phase !== 'COMPLETED') await turns(1)
    await turns()
  }
  return { dual, sequence, openTarget, close, move }
}

void t.test('a cache takes no sequence of the target for one of the source', async (t) => {
  const { dual, sequence, close, move } = await highSequences()
  const cache = dual.getMetadataCache(textSerde)
  t.equal(await cache.get('/t/b'), 'first')
  await move()
  for (let last = 0; last < sequence - 1;) last = (await dual.put('/other', '')).sequence
  t.equal((await dual.put('/t/b', 'second')).sequence, sequence, 'by chance the same')
  t.equal(await cache.get('/t/b'), 'second')
  await close()
})

void t.test('a table view follows the target, whose sequences start again', async (t) => {
  const { dual, openTarget, close, move } = await highSequences()
  const changes: string[] = []
  const view = new MetadataTableView(dual, textSerde, {
    prefix: '/t',
    onChange: (key, value) => changes.push(`${key} ${value}`),
  })
  await view.start()
  await move()
  t.same(changes, [], 'the move itself changes no value')
  const other = await openTarget()
  await other.put('/t/a', 'second')
  await other.delete('/t/b')
  await other.put('/t/c', 'first')
  await turns()
  t.same(view.entries(), [
    ['a', 'second'],
    ['c', 'first'],
  ])
  t.same(changes, ['a second', 'b null', 'c first'])
  await view.put('a', 'third')
  t.equal(view.get('a'), 'third')
  view.close()
  await other.close()
  await close()
})
