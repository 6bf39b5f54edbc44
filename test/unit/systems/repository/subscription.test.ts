/**
 * Subscriptions: what a kill, a close and a failing handler leave to be told.
 *
 * @runs long
 */
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { Database } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  type RecordEvent,
  type RecordTable,
  type SubscriptionOptions,
} from '../../../../src/systems/repository/index.js'
import { lengthOf } from '../../../helpers/length.js'

void t.test('many writes of one record wait in bounded memory', async (t) => {
  // In a thread: a loop that lets nothing else run cannot be ended from within.
  const worker = new Worker(new URL('busy-record-worker.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 100 },
  })
  const handled = await new Promise((resolve, reject) => {
    worker.on('message', resolve)
    worker.on('error', reject)
  })
  t.equal(handled, 300, 'each write was told once')
})

const type = '{n}r'

/** A process with the repository, which may be killed. */
class Life {
  readonly fileSystem: SimulatedDisk
  readonly database: Database
  readonly manager: RepositoryManager

  private constructor(fileSystem: SimulatedDisk, database: Database, manager: RepositoryManager) {
    this.fileSystem = fileSystem
    this.database = database
    this.manager = manager
  }

  static async begin(fileSystem = new SimulatedDisk()): Promise<Life> {
    const database = await Database.open('/database', { fileSystem, executor: 'inline' })
    const manager = await RepositoryManager.open(database)
    await manager.types.createOrUpdateFieldType({ name: '{n}count', valueType: 'INTEGER' })
    await manager.types.createOrUpdateRecordType({ name: type })
    return new Life(fileSystem, database, manager)
  }

  get table(): RecordTable {
    return this.manager.repository().table()
  }

  /** What is there after a kill at this moment; this life goes on without consequences. */
  killed(): Promise<Life> {
    return Life.begin(this.fileSystem.kill())
  }

  async end(): Promise<void> {
    await this.manager.close()
    await this.database.close()
  }
}

const never = new Promise<void>(() => undefined)
const write = (table: RecordTable, own: string, count: number): Promise<{ sequence?: number }> => {
  const input = { id: `USER.${own}`, type, fields: { '{n}count': count } }
  return table.createOrUpdate(input)
}

void t.test('a new subscription loses no event at a kill', async (t) => {
  const life = await Life.begin()
  await write(life.table, 'old', 0)
  const first: number[] = []
  await life.manager.subscribe('s', ({ sequence }) => void first.push(sequence))
  const written: number[] = []
  for (let count = 0; count < 24; count++) {
    written.push((await write(life.table, `${count % 2}`, count)).sequence!)
  }
  const next = await life.killed()
  const told: number[] = []
  const again = await next.manager.subscribe('s', ({ sequence }) => void told.push(sequence))
  await again.caughtUp()
  const missing = written.filter((sequence) => !told.includes(sequence))
  t.same(missing, [], 'every write since the beginning is told by itself')
  await life.end()
  await next.end()
})

void t.test('a replay goes on where it was', async (t) => {
  const life = await Life.begin()
  const count = 450
  for (let at = 0; at < count; at++) await write(life.table, `${1000 + at}`, 0)
  let handled = 0
  const reached = new Promise<void>((resolve) => {
    void life.manager.subscribe('s', () => {
      if (handled === 320) {
        resolve()
        return never
      }
      handled++
      return undefined
    })
  })
  await reached
  const { sequence } = await write(life.table, '1000', 1)
  const next = await life.killed()
  const [stored] = await next.manager.storedSubscriptions()
  t.match(stored, { name: 's', isReplaying: true, deadLetters: 0 })
  const told: RecordEvent[] = []
  const again = await next.manager.subscribe('s', (event) => void told.push(event))
  await again.caughtUp()
  const replayed = told.filter(({ isReplay }) => isReplay)
  t.equal(replayed.length, count - 300, 'behind what was stored of it')
  t.equal(replayed[0].event.id, 'USER.1300')
  t.ok(
    told.some((each) => !each.isReplay && each.sequence === sequence),
    'then the writes since its beginning',
  )
  await again.close()
  t.match(await next.manager.storedSubscriptions(), [{ name: 's', isReplaying: false }])
  await next.end()
})

void t.test('a replay that is closed tells of the rest later', async (t) => {
  const life = await Life.begin()
  for (let at = 0; at < 250; at++) await write(life.table, `${1000 + at}`, 0)
  const told = new Set<string>()
  for (let round = 0; round < 20; round++) {
    const subscription = await life.manager.subscribe('s', async ({ event }) => {
      await new Promise(setImmediate)
      told.add(event.id)
    })
    for (let tick = 0; tick < 10; tick++) await new Promise(setImmediate)
    if (round === 10) t.not(subscription.position, -2, 'closed in the middle')
    await subscription.close()
  }
  const last = await life.manager.subscribe('s', ({ event }) => void told.add(event.id))
  await last.caughtUp()
  t.equal(told.size, 250)
  await life.end()
})

void t.test('a replay whose events were given up at the close tells of them later', async (t) => {
  const life = await Life.begin()
  for (let at = 0; at < 5; at++) await write(life.table, `${at}`, 0)
  const fail = (): never => {
    throw new Error('not now')
  }
  const first = await life.manager.subscribe('s', fail, { retryMilliseconds: 60_000, lanes: 3 })
  while (first.counts.failed === 0) await new Promise(setImmediate)
  await first.close()
  const told: string[] = []
  const again = await life.manager.subscribe('s', ({ event }) => void told.push(event.id))
  await again.caughtUp()
  t.equal(told.length, 5)
  await life.end()
})

void t.test('an event that was given up at the close is told before later ones', async (t) => {
  const life = await Life.begin()
  const told: number[] = []
  let isBad = true
  const handler = ({ sequence }: RecordEvent): void => {
    if (isBad) throw new Error('not now')
    told.push(sequence)
  }
  const options = { retryMilliseconds: 60_000, from: 'now' } as const
  const first = await life.manager.subscribe('s', handler, options)
  const sequences = []
  for (let count = 0; count < 3; count++) {
    sequences.push((await write(life.table, 'a', count)).sequence!)
  }
  while (first.counts.failed === 0) await new Promise(setImmediate)
  await first.close()
  isBad = false
  t.same(told, [], 'those behind it wait')
  const again = await life.manager.subscribe('s', handler, options)
  await again.caughtUp()
  t.same(told, sequences)
  await life.end()
})

void t.test('a position is stored only if what stands before it succeeds', async (t) => {
  const life = await Life.begin()
  for (let at = 0; at < 5; at++) await write(life.table, `${at}`, 0)
  const beforePosition = (): Promise<void> => Promise.reject(new Error('full'))
  const first = await life.manager.subscribe('s', () => undefined, { beforePosition })
  await t.rejects(first.caughtUp(), { message: 'full' })
  t.notOk(first.isRunning)
  const told: string[] = []
  const again = await life.manager.subscribe('s', ({ event }) => void told.push(event.id))
  await again.caughtUp()
  t.equal(told.length, 5, 'all come again')
  await life.end()
})

void t.test('a subscription can be removed', async (t) => {
  const life = await Life.begin()
  await write(life.table, 'a', 1)
  const fail = (): never => {
    throw new Error('no')
  }
  const first = await life.manager.subscribe('s', fail, { retriesMax: 0 })
  await first.caughtUp()
  await first.close()
  const [{ deadLetters }] = await life.manager.storedSubscriptions()
  t.equal(deadLetters, 1)
  const second = await life.manager.subscribe('s', () => undefined)
  await life.manager.removeSubscription('s')
  t.notOk(second.isRunning)
  t.same(await life.manager.storedSubscriptions(), [])
  t.same(life.manager.subscriptions, [])
  const told: RecordEvent[] = []
  const third = await life.manager.subscribe('s', (event) => void told.push(event))
  await third.caughtUp()
  t.match(told, [{ isReplay: true }], 'it is a new one')
  t.same(await third.deadLetters(), [])
  await life.end()
})

/** What was told of one record, over all lives. */
async function randomLives(t: Test, seed: number): Promise<void> {
  const random = seededRandom(seed)
  const pick = (count: number): number => Math.floor(random() * count)
  let life = await Life.begin()
  const written: { id: string; sequence: number }[] = []
  const told = new Map<string, number[]>()
  const isHandled = new Set<string>()
  let mood: 'good' | 'slow' | 'failing' | 'hanging' = 'good'
  const handler = async ({ event, sequence }: RecordEvent): Promise<void> => {
    // A process that was killed tells nobody anything.
    const own = life
    const key = `${event.id} ${sequence}`
    if (mood === 'hanging' && random() < 0.2) await never
    if (mood === 'slow') for (let left = pick(3); left > 0; left--) await new Promise(setImmediate)
    if (mood === 'failing' && random() < 0.3) throw new Error('not now')
    if (own !== life) return never
    isHandled.add(key)
    told.set(event.id, [...(told.get(event.id) ?? []), sequence])
  }
  const options: SubscriptionOptions = {
    from: 'now',
    lanes: 1 + pick(4),
    retriesMax: 1000,
    retryMilliseconds: 1,
  }
  let subscription = await life.manager.subscribe('s', handler, options)
  for (let step = 0; step < 25; step++) {
    for (let left = pick(40); left > 0; left--) {
      const own = `${pick(6)}`
      const { sequence } = await write(life.table, own, written.length)
      written.push({ id: `USER.${own}`, sequence: sequence! })
    }
    const act = random()
    if (act < 0.3 && mood !== 'hanging') {
      await subscription.close()
      mood = (['good', 'slow', 'failing', 'hanging'] as const)[pick(4)]
      subscription = await life.manager.subscribe('s', handler, options)
    } else if (act < 0.6) {
      life = await life.killed()
      mood = (['good', 'slow', 'failing', 'hanging'] as const)[pick(4)]
      subscription = await life.manager.subscribe('s', handler, options)
    } else if (act < 0.8 && mood !== 'hanging') await subscription.caughtUp()
  }
  life = await life.killed()
  mood = 'good'
  subscription = await life.manager.subscribe('s', handler, options)
  await subscription.caughtUp()
  const missing = written.filter(({ id, sequence }) => !isHandled.has(`${id} ${sequence}`))
  t.same(missing, [], 'every write was handled')
  for (const [id, sequences] of told) {
    const wanted = written.filter((each) => each.id === id).map(({ sequence }) => sequence)
    let at = 0
    const early = sequences.filter((sequence) => {
      const place = wanted.indexOf(sequence)
      const isEarly = place > at
      at = Math.max(at, place + 1)
      return isEarly
    })
    t.same(early, [], `${id}: none was told before the one before it was handled`)
  }
  await life.end()
}

const firstSeed = Number(process.env['CELLAR_SEED'] ?? 600)
const rounds = lengthOf('CELLAR_SUBSCRIPTION_LIVES', 4, 60)

for (let round = 0; round < rounds; round++) {
  const seed = firstSeed + round
  void t.test(`random kills, closes and failures lose no event, seed ${seed}`, async (t) => {
    await randomLives(t, seed)
    t.comment('1 histories')
  })
}
