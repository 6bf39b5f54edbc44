/**
 * One broker in a process of its own: takes part in the election of a leader, owns bundles by
 * locks, and takes bundles whose owner has gone. Arguments: its name, the store and the session
 * timeout. Its parent asks and is told by messages.
 */
import { CellarError } from '../../src/entries/index.js'
import { setTimeout as pause } from 'node:timers/promises'
import {
  hasCode,
  LeaderElection,
  LockManager,
  PulsarResources,
  textSerde,
  type CachingStore,
  type ResourceLock,
} from '../../src/systems/metastore/pulsar/index.js'
import { bundles, leaderPath, namespace, policies, type Order, type Report } from './orders.js'
import { storeOf } from './store-of.js'

const [, , name, url, timeout] = process.argv
const sweepMilliseconds = 300
const workMilliseconds = 300

function tell(report: Report): void {
  process.send?.(report)
}

class Broker {
  readonly #store: CachingStore
  readonly #manager: LockManager<string>
  readonly #resources: PulsarResources
  readonly #locks = new Map<string, ResourceLock<string>>()
  readonly #taking = new Set<string>()

  constructor(store: CachingStore) {
    this.#store = store
    this.#manager = new LockManager(store, textSerde)
    this.#resources = new PulsarResources(store, store)
    store.registerSessionListener((session) => tell({ session }))
    store.registerListener(({ type, path }) => {
      if (type === 'Deleted' && path.startsWith(namespace)) void this.#take(path)
      if (type === 'Modified' && path === policies) this.#tellPolicies()
    })
  }

  /** Takes the bundles that nobody owns, now and then: an event may have been lost. */
  async #sweep(): Promise<void> {
    for (;;) {
      await pause(sweepMilliseconds)
      for (const bundle of bundles) {
        const path = `${namespace}/${bundle}`
        const isFree = await this.#store.exists(path).then(
          (exists) => !exists,
          () => false,
        )
        if (isFree) await this.#take(path)
      }
    }
  }

  async obey(order: Order): Promise<void> {
    if (order.do === 'take') await this.#take(order.path)
    else if (order.do === 'work') await this.#work(order.path)
    else if (order.do === 'configure') await this.#configure(order.ttl)
    else if (order.do === 'sweep') void this.#sweep()
    else await this.#resources.namespaces.get('acme/orders')
    if (order.do !== 'work') tell({ done: order.do })
  }

  async #take(path: string): Promise<void> {
    if (this.#locks.has(path) || this.#taking.has(path)) return
    this.#taking.add(path)
    try {
      const lock = await this.#manager.acquireLock(path, `${name} ${process.pid}`)
      this.#locks.set(path, lock)
      tell({ owns: path, token: lock.token })
      void lock.expired.then(() => {
        this.#locks.delete(path)
        tell({ lost: path })
      })
    } catch (error) {
      // Somebody was faster, or the store is away: the next sweep looks again.
      if (!(error instanceof CellarError)) throw error
    } finally {
      this.#taking.delete(path)
    }
  }

  /** Works on a bundle for a while, and writes with the token that the work began with. */
  async #work(path: string): Promise<void> {
    const token = this.#locks.get(path)?.token
    if (token === undefined) return tell({ work: path, outcome: 'not the owner' })
    tell({ working: path, token })
    await pause(workMilliseconds)
    for (;;) {
      try {
        await this.#store.batch([
          { check: path, expected: { creationSequence: token } },
          { put: `/data${path}`, value: `by ${name} with token ${token}` },
        ])
        return tell({ work: path, outcome: 'written' })
      } catch (error) {
        if (!hasCode(error, 'connectionLost', 'sessionLost')) {
          return tell({ work: path, outcome: (error as CellarError).code })
        }
        await pause(50)
      }
    }
  }

  async #configure(ttl: number): Promise<void> {
    const { namespaces } = this.#resources
    if (ttl === 0) await namespaces.create('acme/orders', { ttl })
    else await namespaces.update('acme/orders', () => ({ ttl }))
  }

  #tellPolicies(): void {
    const ttl = this.#resources.namespaces.getIfCached('acme/orders')?.ttl
    if (typeof ttl === 'number') tell({ ttl })
  }
}

process.on('disconnect', () => process.exit())
const store = await storeOf(url, Number(timeout))
const broker = new Broker(store)
process.on('message', (order) => void broker.obey(order as Order))
const election = new LeaderElection(store, textSerde, leaderPath, (state) => tell({ state }))
await election.elect(`${name} ${process.pid}`)
tell({ ready: name })
