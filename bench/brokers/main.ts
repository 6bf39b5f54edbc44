/**
 * Three brokers share the bundles of a namespace; one dies and the others take over.
 *
 * `npm run brokers` opens one store in a new directory and a handle with a session for each
 * broker. They elect a leader and take bundles by locks. The leader is killed without a farewell;
 * within the session timeout another leads and all bundles have owners again. A write of the dead
 * broker with its old fencing token is refused. A fourth reads the configuration through its cache
 * and sees each change once. Exit code 0: all of that was so.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../../src/index.js'
import {
  hasCode,
  LeaderElection,
  LockManager,
  MetadataErrorCode,
  openMetadataStore,
  PulsarResources,
  textSerde,
  type CellarMetadataStore,
  type ResourceLock,
} from '../../src/metastore/pulsar/index.js'

const sessionMilliseconds = 2_000
const bundles = ['0x00000000_0x40000000', '0x40000000_0x80000000', '0x80000000_0xc0000000']
bundles.push('0xc0000000_0xffffffff')
const namespace = '/namespace/acme/orders'

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`NOT SO: ${what}`)
  say(`ok   ${what}`)
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

async function until(holds: () => boolean, milliseconds: number): Promise<boolean> {
  for (let waited = 0; waited < milliseconds; waited += 20) {
    if (holds()) return true
    await pause(20)
  }
  return holds()
}

class Broker {
  readonly name: string
  readonly store: CellarMetadataStore
  readonly locks = new Map<string, ResourceLock<string>>()
  readonly election: LeaderElection<string>
  readonly #manager: LockManager<string>
  isDead = false

  constructor(name: string, store: CellarMetadataStore) {
    this.name = name
    this.store = store
    this.#manager = new LockManager(store, textSerde)
    this.election = new LeaderElection(store, textSerde, '/loadbalance/leader', (state) => {
      if (!this.isDead) say(`     ${name}: ${state}`)
    })
  }

  async start(): Promise<void> {
    await this.election.elect(this.name)
    this.store.registerListener(({ type, path }) => {
      if (type === 'Deleted' && path.startsWith(namespace)) void this.take(path)
    })
  }

  /** Takes a bundle unless another broker has it. */
  async take(path: string): Promise<void> {
    if (this.isDead) return
    try {
      const lock = await this.#manager.acquireLock(path, this.name)
      this.locks.set(path, lock)
      void lock.expired.then(() => this.locks.delete(path))
    } catch (error) {
      if (!hasCode(error, MetadataErrorCode.lockBusy)) throw error
    }
  }

  /** Ends as a process that is killed: the session says nothing more. */
  kill(): void {
    this.isDead = true
    this.store.faults.kill()
  }

  async close(): Promise<void> {
    this.isDead = true
    await this.election.dispose()
    await this.#manager.close()
    await this.store.close()
  }
}

async function run(directory: string): Promise<void> {
  const open = async (): Promise<CellarMetadataStore> =>
    (await openMetadataStore(`cellar:${directory}`, {
      openDatabase: ({ address }) => Database.open(address),
      sessionTimeoutMilliseconds: sessionMilliseconds,
    })) as CellarMetadataStore
  const brokers: Broker[] = []
  for (const name of ['alpha', 'beta', 'gamma']) {
    const broker = new Broker(name, await open())
    await broker.start()
    brokers.push(broker)
  }
  const reader = await open()
  const seen = await readConfiguration(reader, brokers[1].store)
  check(seen, 'the fourth broker saw each of 20 changes of the configuration once')

  for (const [i, bundle] of bundles.entries()) {
    await brokers[i % brokers.length].take(`${namespace}/${bundle}`)
  }
  const owners = (): number =>
    brokers.filter((b) => !b.isDead).reduce((n, b) => n + b.locks.size, 0)
  check(owners() === bundles.length, 'every bundle has an owner')
  const leader = brokers[0]
  check(leader.election.state === 'Leading', 'alpha leads')
  const [path, lock] = [...leader.locks][0]
  const { token } = lock
  const started = performance.now()
  leader.kill()
  say('     alpha is killed')
  const others = brokers.slice(1)
  const isOver = (): boolean =>
    owners() === bundles.length && others.some(({ election }) => election.state === 'Leading')
  const isInTime = await until(isOver, sessionMilliseconds + 1_000)
  const took = Math.round(performance.now() - started)
  check(isInTime, `a new leader and owners of all bundles after ${took} ms`)
  const late = others[0].store.batch([
    { check: path, expected: { creationSequence: token } },
    { put: '/data/late', value: 'by the dead broker' },
  ])
  const refused = await late.then(
    () => false,
    (error: unknown) => hasCode(error, MetadataErrorCode.badVersion),
  )
  check(refused, 'a late write with the token of the dead broker is refused')
  for (const broker of others) await broker.close()
  await reader.close()
}

/** Whether a cache over one handle sees each change by another handle once, in order. */
async function readConfiguration(
  reader: CellarMetadataStore,
  writer: CellarMetadataStore,
): Promise<boolean> {
  const read = new PulsarResources(reader, reader)
  const written = new PulsarResources(writer, writer)
  await written.namespaces.create('acme/orders', { ttl: 0 })
  await read.namespaces.get('acme/orders')
  const seen: unknown[] = []
  const remove = reader.registerListener(({ type, path }) => {
    if (type !== 'Modified' || path !== '/admin/policies/acme/orders') return
    seen.push(read.namespaces.getIfCached('acme/orders')?.ttl)
  })
  for (let ttl = 1; ttl <= 20; ttl++) {
    await written.namespaces.update('acme/orders', () => ({ ttl }))
    await until(() => seen.length === ttl, 1_000)
  }
  remove()
  read.close()
  written.close()
  return seen.join() === Array.from({ length: 20 }, (_, i) => i + 1).join()
}

const directory = mkdtempSync(join(tmpdir(), 'cellar-brokers-'))
try {
  await run(directory)
} catch (error) {
  process.stderr.write(`${String(error)}\n`)
  process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
