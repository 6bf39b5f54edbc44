/**
 * Histories of locks with expiring sessions, killed brokers and stopped clocks: never two holders
 * with valid fencing tokens. The checker finds defects that are planted.
 *
 * CELLAR_LOCK_SEED: repeats one history.
 */
import t from 'tap'
import {
  LockManager,
  metadataStoreOf,
  textSerde,
  type CellarMetadataStore,
  type ResourceLock,
} from '../../../../src/metastore/pulsar/index.js'
import { MemoryDatabase } from '../../../../src/memory/index.js'
import { ManualTimer } from '../../../helpers/manual-timer.js'

/** What happened, in the order in which the store applied it. */
interface GuardedWrite {
  readonly broker: number
  readonly token: number
}

/** What is wrong with the guarded writes that were applied; undefined if nothing is. */
function violation(writes: readonly GuardedWrite[]): string | undefined {
  const owners = new Map<number, number>()
  let highest = 0
  for (const { broker, token } of writes) {
    if (token < highest) return `token ${token} of ${broker} was used after ${highest}`
    if ((owners.get(token) ?? broker) !== broker) return `token ${token} has two brokers`
    owners.set(token, broker)
    highest = token
  }
  return undefined
}

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

/** How a broker writes what the lock guards. */
type Write = (store: CellarMetadataStore, lock: ResourceLock<string>) => Promise<unknown>

const fenced: Write = (store, lock) =>
  store.batch([
    { check: '/lock', expected: { sequence: lock.token } },
    { put: '/data', value: String(lock.token) },
  ])

/** Planted: the broker believes its handle. */
const unfenced: Write = (store, lock) => store.put('/data', String(lock.token))

async function history(seed: number, write: Write): Promise<readonly GuardedWrite[]> {
  const random = randomOf(seed)
  const clock = new ManualTimer()
  const database = await MemoryDatabase.open()
  const options = { clock, sessionTimeoutMilliseconds: 3_000 }
  const open = (): Promise<CellarMetadataStore> => metadataStoreOf(database, options)
  const writes: GuardedWrite[] = []
  const brokers = await Promise.all([0, 1, 2].map(async () => ({ store: await open() })))
  const managers = brokers.map(({ store }) => new LockManager(store, textSerde, { clock }))
  const locks: (ResourceLock<string> | undefined)[] = [undefined, undefined, undefined]
  for (let step = 0; step < 80; step++) {
    const i = Math.floor(random() * brokers.length)
    const { store } = brokers[i]
    const choice = random()
    const lock = locks[i]
    if (choice < 0.3) {
      const taken = managers[i].acquireLock('/lock', 'same payload').catch(() => undefined)
      await settle()
      locks[i] = (await taken) ?? lock
    } else if (choice < 0.65 && lock !== undefined) {
      const { token } = lock
      await write(store, lock).then(
        () => writes.push({ broker: i, token }),
        () => undefined,
      )
    } else if (choice < 0.75) store.faults.pause()
    else if (choice < 0.85) store.faults.resume()
    else if (choice < 0.9) store.faults.expireSession()
    else if (choice < 0.95 && lock?.state === 'Valid') await lock.release().catch(() => undefined)
    else {
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

const firstSeed = Number(process.env.CELLAR_LOCK_SEED ?? 1)
const rounds = process.env.CELLAR_LOCK_SEED === undefined ? 25 : 1

void t.test('fenced writes come from one holder after the other', async (t) => {
  let applied = 0
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    const writes = await history(seed, fenced)
    applied += writes.length
    t.equal(violation(writes), undefined, `seed ${seed}`)
  }
  t.ok(applied > 0, `${applied} writes were applied`)
})

void t.test('the checker finds brokers that do not send their token', async (t) => {
  let found = 0
  for (let seed = 1; seed <= 25; seed++) {
    if (violation(await history(seed, unfenced)) !== undefined) found++
  }
  t.ok(found > 0, `${found} of 25 histories`)
})

void t.test('the checker finds planted histories', async (t) => {
  t.match(
    violation([
      { broker: 0, token: 5 },
      { broker: 1, token: 4 },
    ]),
    /after 5/,
  )
  t.match(
    violation([
      { broker: 0, token: 5 },
      { broker: 1, token: 5 },
    ]),
    /two brokers/,
  )
  t.equal(
    violation([
      { broker: 0, token: 5 },
      { broker: 0, token: 5 },
    ]),
    undefined,
  )
})
