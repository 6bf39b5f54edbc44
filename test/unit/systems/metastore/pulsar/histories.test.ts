/**
 * Histories of locks and elections with expiring sessions, killed brokers and stopped clocks: never
 * two holders with valid fencing tokens. The checker finds defects that are planted.
 *
 * CELLAR_SEED: the first seed. CELLAR_LOCK_HISTORIES: how many of each kind.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import {
  LeaderElection,
  LockManager,
  metadataStoreOf,
  textSerde,
  type CellarMetadataStore,
  type ResourceLock,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import { lengthOf } from '../../../../helpers/length.js'
import { ManualTimer } from '../../../../helpers/manual-timer.js'
import { violation, type GuardedWrite } from './history-check.js'

function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A broker that may hold the right to write. */
interface Broker {
  readonly store: CellarMetadataStore
  /** The token that the broker believes in. */
  readonly token: number | undefined
  take(): Promise<unknown>
  give(): Promise<unknown>
}

type Kind = (store: CellarMetadataStore, name: string, clock: ManualTimer) => Broker

/** `ownerOf` makes all brokers one owner. */
const byLockOf =
  (ownerOf: (() => string) | undefined): Kind =>
  (store, _name, clock) => {
    const manager = new LockManager(store, textSerde, { clock, ownerOf })
    let lock: ResourceLock<string> | undefined
    return {
      store,
      // A lock that was lost is believed in until the broker takes another.
      get token() {
        return lock?.token
      },
      take: async () => {
        lock = await manager.acquireLock('/right', 'same payload')
      },
      give: async () => {
        if (lock?.state === 'Valid') await lock.release()
      },
    }
  }

const byElection: Kind = (store, name, clock) => {
  const election = new LeaderElection(store, textSerde, '/right', undefined, { clock })
  let believed: number | undefined
  return {
    store,
    get token() {
      believed = election.token ?? believed
      return believed
    },
    take: () => election.elect(name),
    give: () => election.close(),
  }
}

/** How a broker writes what the right guards. */
type Write = (store: CellarMetadataStore, token: number) => Promise<unknown>

const fenced: Write = (store, token) =>
  store.batch([
    { check: '/right', expected: { creationSequence: token } },
    { put: '/data', value: String(token) },
  ])

/** Planted: the broker believes what it knows. */
const unfenced: Write = (store, token) => store.put('/data', String(token))

async function history(seed: number, kind: Kind, write: Write): Promise<readonly GuardedWrite[]> {
  const random = randomOf(seed)
  const clock = new ManualTimer()
  const database = await openMemoryDatabase()
  const options = { clock, sessionTimeoutMilliseconds: 3_000 }
  const open = async (name: string): Promise<Broker & { readonly name: string }> => {
    const broker = kind(await metadataStoreOf(database, options), name, clock)
    return Object.assign(Object.create(broker) as Broker, { name })
  }
  const writes: GuardedWrite[] = []
  const names = ['0', '1', '2']
  const brokers = await Promise.all(names.map(open))
  for (let step = 0; step < 80; step++) {
    const i = Math.floor(random() * brokers.length)
    const { store, name, token } = brokers[i]
    const choice = random()
    if (choice < 0.3) {
      void brokers[i].take().catch(() => undefined)
    } else if (choice < 0.62 && token !== undefined) {
      await write(store, token).then(
        () => writes.push({ holder: name, token }),
        () => undefined,
      )
    } else if (choice < 0.72) store.faults.pause()
    else if (choice < 0.82) store.faults.resume()
    else if (choice < 0.87) store.faults.expireSession()
    else if (choice < 0.91) void brokers[i].give().catch(() => undefined)
    else if (choice < 0.94) {
      store.faults.kill()
      brokers[i] = await open(`${i} of step ${step}`)
    } else {
      clock.advance(1_000)
      await settle()
      clock.advance(1_000)
    }
    await settle()
  }
  for (const { store } of brokers) {
    store.faults.resume()
    await settle()
    await store.close()
  }
  await database.close()
  return writes
}

const firstSeed = Number(process.env.CELLAR_SEED ?? 1)
const rounds = lengthOf('CELLAR_LOCK_HISTORIES', 8, 100)

for (const [name, kind] of [
  ['locks', byLockOf(undefined)],
  ['locks of one owner', byLockOf(() => 'one owner')],
  ['elections', byElection],
] as const) {
  void t.test(`${name}: fenced writes come from one holder after the other`, async (t) => {
    let applied = 0
    for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
      const writes = await history(seed, kind, fenced)
      applied += writes.length
      t.equal(violation(writes), undefined, `seed ${seed}`)
    }
    t.comment(`${rounds} histories`)
    t.ok(applied > 0, `${applied} writes were applied`)
  })

  void t.test(`${name}: the checker finds brokers that do not send their token`, async (t) => {
    let found = 0
    for (let seed = 1; seed <= 8; seed++) {
      if (violation(await history(seed, kind, unfenced)) !== undefined) found++
    }
    t.ok(found > 0, `in ${found} of 8`)
  })
}

void t.test('the checker finds planted histories', async (t) => {
  const of = (...writes: readonly [string, number][]): string | undefined =>
    violation(writes.map(([holder, token]) => ({ holder, token })))
  t.match(of(['a', 5], ['b', 4]), /after 5/)
  t.match(of(['a', 5], ['b', 5]), /two holders/)
  t.equal(of(['a', 5], ['a', 5], ['b', 6]), undefined)
})
