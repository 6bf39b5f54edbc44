/**
 * Sessions beside a wall clock that steps, and timers beside awaited writes.
 *
 * CELLAR_SEED: the first seed.
 *
 * @runs long
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import {
  metadataStoreOf,
  MetadataCache,
  textSerde,
  type CellarMetadataStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { lengthOf } from '../../../../helpers/length.js'
import { ManualTimer } from '../../../../helpers/manual-timer.js'

async function turns(count = 8): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

const hour = 3_600_000

/** Time that goes by, and a wall clock that is set at will. */
class SteppedTimer extends ManualTimer {
  offset = 0

  readonly elapsed = (): number => this.milliseconds

  override readonly now = (): number => this.milliseconds + this.offset
}

void t.test('a step of the wall clock ends no session, and keeps none alive', async (t) => {
  const clock = new SteppedTimer(1e12)
  const database = await openMemoryDatabase()
  const options = { clock, sessionTimeoutMilliseconds: 600 }
  const stores: CellarMetadataStore[] = []
  const lost: number[] = []
  for (let i = 0; i < 20; i++) {
    const store = await metadataStoreOf(database, options)
    stores.push(store)
    store.registerSessionListener((event) => event === 'SessionLost' && lost.push(i))
    await store.put(`/e/${i}`, '', -1, { ephemeral: true })
  }
  for (const step of [hour, -2 * hour, hour / 2]) {
    clock.offset += step
    for (let i = 0; i < 20; i++) {
      clock.advance(100)
      await turns()
    }
    t.same(lost, [], `a step of ${step} ms`)
  }
  t.equal((await stores[0].getChildren('/e')).length, 20)
  clock.offset -= hour
  stores[3].faults.pause()
  for (let i = 0; i < 20; i++) {
    clock.advance(100)
    await turns()
  }
  t.equal(await stores[0].exists('/e/3'), false)
  stores[3].faults.resume()
  await turns()
  t.same(lost, [3], 'a handle that stands still loses its session')
  for (const store of stores) await store.close()
  await database.close()
})

function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const firstSeed = Number(process.env.CELLAR_SEED ?? 1)
const rounds = lengthOf('CELLAR_CLOCK_HISTORIES', 15, 300)

void t.test(`sessions end by elapsed time alone, from seed ${firstSeed} on`, async (t) => {
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const random = randomOf(seed)
    const clock = new SteppedTimer(1e12)
    const database = await openMemoryDatabase()
    const watcher = await metadataStoreOf(database, { clock, sessionTimeoutMilliseconds: 1e9 })
    const handles = await Promise.all(
      [1_000, 2_000, 5_000].map(async (timeout) => {
        const store = await metadataStoreOf(database, {
          clock,
          sessionTimeoutMilliseconds: timeout,
        })
        const state = { store, timeout, pausedAt: -1, losses: 0 }
        store.registerSessionListener((event) => {
          if (event === 'SessionLost') state.losses++
        })
        return state
      }),
    )
    for (const { store } of handles) {
      await store.put(`/s/${store.sessionId}`, '', -1, { ephemeral: true })
    }
    for (let step = 0; step < 60; step++) {
      const choice = random()
      const handle = handles[Math.floor(random() * handles.length)]
      if (choice < 0.3) clock.offset += Math.floor((random() - 0.5) * 10 * hour)
      else if (choice < 0.4 && handle.pausedAt < 0) {
        handle.store.faults.pause()
        handle.pausedAt = clock.milliseconds
      } else if (choice < 0.5 && handle.pausedAt >= 0) {
        const stood = clock.milliseconds - handle.pausedAt
        const { sessionId } = handle.store
        const isThere = (await watcher.getChildren('/s')).includes(String(sessionId))
        // The last heartbeat was up to a third of the timeout before.
        if (stood > handle.timeout && isThere) t.fail(`seed ${seed}: ${sessionId} lives too long`)
        if (stood < (handle.timeout * 2) / 3 - 100 && !isThere && handle.losses === 0) {
          t.fail(`seed ${seed}: ${sessionId} ended too early`)
        }
        handle.store.faults.resume()
        handle.pausedAt = -1
        await turns()
        handle.losses = 0
      } else {
        clock.advance(100)
        await turns(2)
      }
      for (const each of handles) {
        if (each.pausedAt >= 0) continue
        if (each.losses > 0) t.fail(`seed ${seed}: a session with heartbeats was lost`)
        const path = `/s/${each.store.sessionId}`
        if (!(await watcher.exists(path))) await each.store.put(path, '', -1, { ephemeral: true })
      }
    }
    for (const { store } of handles) {
      store.faults.resume()
      await turns()
      await store.close()
    }
    await watcher.close()
    await database.close()
  }
  t.pass(`${rounds} histories`)
})

void t.test('timers have their turn beside writes that are awaited in memory', async (t) => {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  const cache = new MetadataCache(store, textSerde)
  let wentOff = false
  setTimeout(() => (wentOff = true), 1)
  let writes = 0
  for (; !wentOff && writes < 20_000; writes++) await store.put(`/a/${writes % 10}`, String(writes))
  t.ok(wentOff, `a timer of 1 ms went off beside ${writes} writes`)
  cache.close()
  await store.close()
  await database.close()
})
