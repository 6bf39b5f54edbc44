/** What the brokers show over one store; see `main.ts`. */
import { setTimeout as pause } from 'node:timers/promises'
import type { CachingStore } from '../../src/systems/metastore/pulsar/index.js'
import { bundles, leaderPath, namespace, type Report } from './orders.js'
import { BrokerProcess, type Coordinator } from './processes.js'
import { storeOf } from './store-of.js'

const sessionDefaultMilliseconds = 2_000
/** Above the session timeout, for a machine that does other work. */
const graceMilliseconds = 30_000

/** Prints a line. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(`NOT SO: ${what}`)
  say(`ok   ${what}`)
}

async function until(holds: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + graceMilliseconds
  while (performance.now() < end) {
    if (await holds()) return true
    await pause(20)
  }
  return false
}

/** Who owns a bundle, or leads, as the store has it. */
interface Owner {
  readonly name: string
  readonly pid: number
  readonly token: number
}

/** The demonstration over one store. */
export class Demonstration {
  readonly #url: string
  readonly #sessionMilliseconds: number
  readonly #brokers = new Map<string, BrokerProcess>()
  /** Reads the store beside the brokers. */
  readonly #observer: CachingStore

  private constructor(url: string, sessionMilliseconds: number, observer: CachingStore) {
    this.#url = url
    this.#sessionMilliseconds = sessionMilliseconds
    this.#observer = observer
  }

  /** `sessionMilliseconds`: timeout of the sessions of brokers. */
  static async of(
    url: string,
    sessionMilliseconds = sessionDefaultMilliseconds,
  ): Promise<Demonstration> {
    const observer = await storeOf(url, sessionMilliseconds)
    return new Demonstration(url, sessionMilliseconds, observer)
  }

  async run(): Promise<void> {
    for (const name of ['alpha', 'beta', 'gamma']) await this.#start(name)
    for (const [i, bundle] of bundles.entries()) {
      const broker = [...this.#brokers.values()][i % 3]
      await this.#ask(broker, { do: 'take', path: `${namespace}/${bundle}` })
    }
    // From now on everybody takes what nobody owns.
    for (const broker of this.#brokers.values()) await this.#ask(broker, { do: 'sweep' })
    check(await this.#isServed([]), 'a leader, and every bundle has an owner')
    await this.#show('at first')
    await this.#configuration()
    await this.#kill()
    await this.#stop()
  }

  /** Everybody keeps what he has while the store's own process is killed and comes back. */
  async restart(coordinator: Coordinator): Promise<void> {
    const before = JSON.stringify(await this.#owners())
    const brokers = [...this.#brokers.values()]
    const marks = brokers.map(({ reports }) => reports.length)
    await coordinator.kill()
    say('     the coordinator is killed, and started again')
    await coordinator.start()
    const isBack = (report: Report): report is Report & { session: 'Reconnected' } =>
      'session' in report && report.session === 'Reconnected'
    await Promise.all(brokers.map((broker, i) => broker.report(isBack, marks[i])))
    await until(async () => this.#observer.isConnected)
    check(before === JSON.stringify(await this.#owners()), 'all owners and tokens are as before')
    await this.#show('after the restart')
  }

  async end(): Promise<void> {
    await Promise.all([...this.#brokers.values()].map((broker) => broker.kill()))
    await this.#observer.close()
  }

  async #start(name: string): Promise<BrokerProcess> {
    const broker = new BrokerProcess(name, this.#url, this.#sessionMilliseconds)
    this.#brokers.set(name, broker)
    await broker.report((report): report is { ready: string } => 'ready' in report)
    return broker
  }

  async #ask(broker: BrokerProcess, order: Parameters<BrokerProcess['send']>[0]): Promise<void> {
    const from = broker.reports.length
    broker.send(order)
    await broker.report((report): report is { done: 'take' } => 'done' in report, from)
  }

  async #owner(path: string): Promise<Owner | undefined> {
    const found = await this.#observer.get(path).catch(() => undefined)
    if (found === undefined) return undefined
    const [name, pid] = found.value.toString().split(' ')
    return { name, pid: Number(pid), token: found.stat.creationSequence }
  }

  async #owners(): Promise<readonly (Owner | undefined)[]> {
    const paths = [leaderPath, ...bundles.map((bundle) => `${namespace}/${bundle}`)]
    return Promise.all(paths.map((path) => this.#owner(path)))
  }

  /** Whether there are a leader and owners of all bundles, none of them one of these processes. */
  async #isServed(gone: readonly number[]): Promise<boolean> {
    return until(async () => {
      const owners = await this.#owners()
      return owners.every((owner) => owner !== undefined && !gone.includes(owner.pid))
    })
  }

  async #show(when: string): Promise<void> {
    say(`     owners ${when}:`)
    const owners = await this.#owners()
    for (const [i, what] of ['leader', ...bundles].entries()) {
      const owner = owners[i]
      const who = owner && `${owner.name} (process ${owner.pid}), token ${owner.token}`
      say(`       ${what.padEnd(22)} ${who ?? 'nobody'}`)
    }
  }

  async #configuration(): Promise<void> {
    const writer = this.#brokers.get('beta')!
    const reader = await this.#start('delta')
    await this.#ask(writer, { do: 'configure', ttl: 0 })
    await this.#ask(reader, { do: 'watch' })
    const seen = (): number[] => reader.reports.flatMap((each) => ('ttl' in each ? each.ttl : []))
    for (let ttl = 1; ttl <= 20; ttl++) {
      await this.#ask(writer, { do: 'configure', ttl })
      await until(async () => seen().length >= ttl)
    }
    const wanted = Array.from({ length: 20 }, (_, i) => i + 1)
    check(seen().join() === wanted.join(), 'the fourth broker saw each of 20 changes once')
  }

  async #kill(): Promise<void> {
    const leader = (await this.#owner(leaderPath))!
    const started = performance.now()
    await this.#brokers.get(leader.name)!.kill()
    this.#brokers.delete(leader.name)
    say(`     ${leader.name}, the leader, is killed (SIGKILL)`)
    check(await this.#isServed([leader.pid]), 'another leads, and every bundle has an owner')
    say(`     after ${Math.round(performance.now() - started)} ms`)
    await this.#show('after the kill')
  }

  async #stop(): Promise<void> {
    const path = `${namespace}/${bundles[1]}`
    const before = (await this.#owner(path))!
    const broker = this.#brokers.get(before.name)!
    const from = broker.reports.length
    broker.send({ do: 'work', path })
    await broker.report(
      (each): each is { working: string; token: number } => 'working' in each,
      from,
    )
    broker.stop()
    say(`     ${before.name} stands still in the middle of its work (SIGSTOP)`)
    check(await this.#isServed([before.pid]), 'its bundles have other owners')
    await this.#show('while it stands still')
    const after = (await this.#owner(path))!
    check(after.token > before.token, `the token grew from ${before.token} to ${after.token}`)
    check(
      (await this.#work(this.#brokers.get(after.name)!, path)) === 'written',
      'the owner writes',
    )
    const mark = broker.reports.length
    broker.wake()
    const late = await broker.report(isWorked, mark)
    say(`     ${before.name} wakes up (SIGCONT) and writes with its token ${before.token}`)
    check(late.outcome === 'ERR_METADATA_BAD_VERSION', `its late write is refused: ${late.outcome}`)
    const data = await this.#observer.get(`/data${path}`)
    const { value } = data!
    check(value.toString().startsWith(`by ${after.name} `), `the data are ${value.toString()}`)
    check((await this.#owner(path))?.token === after.token, 'the owner is still the owner')
  }

  async #work(broker: BrokerProcess, path: string): Promise<string> {
    const from = broker.reports.length
    broker.send({ do: 'work', path })
    return (await broker.report(isWorked, from)).outcome
  }
}

function isWorked(report: Report): report is { work: string; outcome: string } {
  return 'work' in report
}
