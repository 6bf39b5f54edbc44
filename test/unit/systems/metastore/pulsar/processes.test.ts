/**
 * Brokers as processes that are killed and stopped at random moments, while the store goes away and
 * comes back: whatever was acknowledged was written by one holder after the other. Over Cellar the
 * brokers share a coordinator process, over ZooKeeper a server, where one is installed.
 *
 * CELLAR_BROKER_ROUNDS: what happens to brokers over each store. CELLAR_SEED: repeats a run.
 *
 * @runs alone, campaign
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Coordinator } from '../../../../../bench/brokers/processes.js'
import { storeOf } from '../../../../../bench/brokers/store-of.js'
import {
  ZooKeeperServer,
  zookeeperMissing,
} from '../../../../../bench/metadata/zookeeper-server.js'
import { childEnvironment } from '../../../../helpers/child-environment.js'
import { lengthOf } from '../../../../helpers/length.js'
import { violation, type GuardedWrite } from './history-check.js'

const rounds = lengthOf('CELLAR_BROKER_ROUNDS', 4, 60)
/** In the short form each store has one kind of right. */
const isLong = rounds > 4
const seed = Number(process.env.CELLAR_SEED ?? 23)
const childPath = fileURLToPath(new URL('broker-child.js', import.meta.url))

/** An acknowledged write, with the place of its commit in the order of the store. */
interface Acknowledged extends GuardedWrite {
  readonly sequence: number
}

/** What all brokers were acknowledged. */
class Writes {
  readonly all: Acknowledged[] = []
  #wake: () => void = () => undefined

  add(write: Acknowledged): void {
    this.all.push(write)
    this.#wake()
  }

  /** The first write behind the first `from` that a function wants. */
  async next(from: number, isWanted: (write: Acknowledged) => boolean): Promise<Acknowledged> {
    for (;;) {
      const found = this.all.slice(from).find(isWanted)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/** A broker in a process of its own. */
class Broker {
  readonly name: string
  readonly process: ChildProcess
  readonly ended: Promise<unknown>
  complaint = ''

  constructor(name: string, url: string, kind: string, timeout: number, writes: Writes) {
    this.name = name
    const words = [childPath, name, url, kind, String(timeout)]
    this.process = spawn(process.execPath, words, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: childEnvironment,
    })
    this.ended = new Promise((resolve) => this.process.on('close', resolve))
    let rest = ''
    this.process.stdout!.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const [holder, token, sequence] = line.split(' ')
        writes.add({ holder, token: Number(token), sequence: Number(sequence) })
      }
    })
    this.process.stderr!.on('data', (data: Buffer) => (this.complaint += data.toString()))
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.ended
  }
}

/** The store that brokers share. */
interface Shared {
  readonly url: string
  readonly sessionMilliseconds: number
  /** Kills the process that has the store, and starts it again on the same data. */
  restart(): Promise<void>
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

async function history(t: Test, shared: Shared, kind: string): Promise<void> {
  const random = randomOf(seed)
  const writes = new Writes()
  let born = 0
  const start = (): Broker =>
    new Broker(`${kind}-${++born}`, shared.url, kind, shared.sessionMilliseconds, writes)
  const brokers = [start(), start(), start()]
  const complaint = (): string => brokers.map((each) => each.complaint).join('')
  const did: string[] = []
  /** Waits for a write, or for a broker that ends by itself. */
  const progress = async (
    from: number,
    isWanted: (write: Acknowledged) => boolean = () => true,
  ): Promise<void> => {
    await Promise.race([writes.next(from, isWanted), ...brokers.map(({ ended }) => ended)])
  }
  await progress(0)
  for (let round = 0; round < rounds && complaint() === ''; round++) {
    const holder = writes.all.at(-1)!.holder
    // Mostly the holder, for the others have nothing to lose.
    const held = brokers.findIndex(({ name }) => name === holder)
    const i = held >= 0 && random() < 0.8 ? held : Math.floor(random() * brokers.length)
    const broker = brokers[i]
    const choice = ['kill', 'stop', 'restart', 'stop'][round % 4]
    did.push(`${choice} ${broker.name}`)
    await pause(random() * 40)
    const from = writes.all.length
    if (choice === 'kill') {
      await broker.kill()
      brokers[i] = start()
    } else if (choice === 'stop') {
      broker.process.kill('SIGSTOP')
      // The others go on when its session has ended, or its right was free.
      const isOther = ({ holder }: Acknowledged): boolean => holder !== broker.name
      await progress(from, isOther)
      if (random() < 0.5) await pause(random() * shared.sessionMilliseconds * 2)
      broker.process.kill('SIGCONT')
    } else await shared.restart()
    await progress(writes.all.length)
  }
  for (const broker of brokers) {
    broker.process.kill('SIGCONT')
    await broker.kill()
  }
  t.equal(complaint(), '', 'no broker has met an error that it did not expect')
  if (complaint() !== '') return
  const inOrder = [...writes.all].sort((a, b) => a.sequence - b.sequence)
  t.equal(violation(inOrder), undefined, `${inOrder.length} writes: ${did.join(', ')}`)
  const observer = await storeOf(shared.url, shared.sessionMilliseconds)
  const { stat } = (await observer.get('/data'))!
  t.ok(stat.sequence >= inOrder.at(-1)!.sequence, 'the last acknowledged write is there')
  await observer.close()
}

for (const kind of isLong ? ['lock', 'election'] : ['lock']) {
  void t.test(`over Cellar, by ${kind}, seed ${seed}`, { timeout: 1_800_000 }, async (t) => {
    const coordinator = new Coordinator(join(t.testdir(), 'store'))
    await coordinator.start()
    await history(
      t,
      {
        url: `coordinator:${coordinator.port}`,
        sessionMilliseconds: 500,
        restart: async () => {
          await coordinator.kill()
          await coordinator.start()
        },
      },
      kind,
    )
    await coordinator.kill()
  })
}

const skip = zookeeperMissing()

for (const kind of isLong ? ['lock', 'election'] : ['election']) {
  const options = { skip, timeout: 1_800_000 }
  void t.test(`over ZooKeeper, by ${kind}, seed ${seed}`, options, async (t) => {
    const server = await ZooKeeperServer.start()
    await history(
      t,
      {
        url: `zk:127.0.0.1:${server.port}`,
        sessionMilliseconds: 1_000,
        restart: async () => {
          await server.stop()
          await server.run()
        },
      },
      kind,
    )
    await server.remove()
  })
}
