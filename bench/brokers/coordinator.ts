/**
 * A process that has a Cellar store open and serves brokers in other processes.
 *
 * A broker has a session here, which lives by the broker's own pings: when the broker is killed or
 * stands still, the session ends, as at a ZooKeeper. A connection that is lost leaves the session,
 * and the broker may come back to it by its number, also after this process was killed and started
 * again. Arguments: the directory of the store, or the address of an owned database (see
 * `bench/cluster/place.ts`), and the port; 0 = any, which is printed.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Database, CellarError } from '../../src/entries/index.js'
import {
  metadataStoreOf,
  type CellarMetadataStore,
} from '../../src/systems/metastore/pulsar/index.js'
import { isAddress, openOwned } from '../cluster/place.js'
import { Channel, type Message } from './channel.js'

/** The calls that a broker may make. */
const calls = new Set([
  'get',
  'getChildren',
  'getChildrenFromStore',
  'exists',
  'put',
  'delete',
  'deleteIfExists',
  'deleteRecursive',
  'batch',
  'isOwnerAlive',
  'sync',
])

/** Timers of a handle, which go off when its broker says that it lives. */
class Pings {
  #actions = new Set<() => void>()
  readonly clock = {
    now: (): number => Date.now(),
    after: (_milliseconds: number, action: () => void): (() => void) => {
      this.#actions.add(action)
      return () => void this.#actions.delete(action)
    },
  }

  ping(): void {
    const actions = this.#actions
    this.#actions = new Set()
    for (const action of actions) action()
  }
}

/** One broker, from its first connection to the end of its session. */
class Client {
  readonly store: CellarMetadataStore
  readonly #pings: Pings
  readonly #onEnd: () => void
  #channel: Channel | undefined = undefined

  constructor(store: CellarMetadataStore, pings: Pings, onEnd: () => void) {
    this.store = store
    this.#pings = pings
    this.#onEnd = onEnd
    store.registerListener((event) => this.#channel?.send({ event }))
    store.registerSessionListener((event) => {
      if (event !== 'SessionLost') return
      onEnd()
      this.#channel?.end()
      void store.close()
    })
  }

  attach(channel: Channel): void {
    this.#channel?.destroy()
    this.#channel = channel
    this.#pings.ping()
  }

  detach(channel: Channel): void {
    if (this.#channel === channel) this.#channel = undefined
  }

  async receive(message: Message): Promise<void> {
    if ('ping' in message) return this.#pings.ping()
    const { id, call, values } = message
    // The answer goes to the connection that asked.
    const channel = this.#channel
    try {
      if (call === 'close') {
        this.#onEnd()
        await this.store.close()
      }
      const result = calls.has(call as string) ? await this.#call(call as string, values) : null
      channel?.send({ id, result })
    } catch (error) {
      const { message, code } = error as CellarError
      channel?.send({ id, failure: { message, code } })
    }
  }

  #call(name: string, values: unknown): Promise<unknown> {
    type Call = (...values: readonly unknown[]) => Promise<unknown>
    const method = (this.store as unknown as Readonly<Record<string, Call>>)[name]
    // JSON has no undefined; an absent argument comes as null.
    const given = (values as readonly unknown[]).map((value) => value ?? undefined)
    return method.apply(this.store, given)
  }
}

const [, , place, port] = process.argv
const database = isAddress(place)
  ? (await openOwned(place)).database
  : await Database.open(place, { executor: 'inline' })
const clients = new Map<number, Client>()

async function openStore(pings: Pings, timeout: number, asked: number | undefined) {
  const { clock } = pings
  const storeClock = { now: () => Date.now() }
  const settings = { clock, storeClock, sessionTimeoutMilliseconds: timeout }
  if (asked !== undefined) {
    try {
      return await metadataStoreOf(database, { ...settings, sessionId: asked })
    } catch (error) {
      // The session has ended while this process was away.
      if (!(error instanceof CellarError)) throw error
    }
  }
  return metadataStoreOf(database, settings)
}

/** The client of a session that is asked for, or of a new one. */
async function clientOf(timeout: number, asked: number | undefined): Promise<Client> {
  const known = asked === undefined ? undefined : clients.get(asked)
  if (known !== undefined) return known
  const pings = new Pings()
  const store = await openStore(pings, timeout, asked)
  const { sessionId } = store
  const client = new Client(store, pings, () => clients.delete(sessionId))
  clients.set(sessionId, client)
  return client
}

function serve(socket: Socket): void {
  let client: Promise<Client> | undefined
  const channel: Channel = new Channel(
    socket,
    (message) => {
      if (client !== undefined) {
        void client.then((each) => each.receive(message))
        return
      }
      const { timeout, session } = message as { timeout: number; session: number | null }
      client = clientOf(timeout, session ?? undefined)
      void client.then((each) => {
        each.attach(channel)
        channel.send({ session: each.store.sessionId })
      })
    },
    () => void client?.then((each) => each.detach(channel)),
  )
}

// The parent has gone.
process.stdin.on('end', () => process.exit()).resume()
const server = createServer(serve)
server.listen(Number(port), '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
