/**
 * Brokers as processes that are killed and stopped. Over Cellar one process has the store open, so
 * one broker follows the other; over ZooKeeper, where one is installed, they run at the same time.
 *
 * CELLAR_BROKER_KILLS: how many brokers are killed over each store.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { childEnvironment } from '../../../helpers/child-environment.js'
import { lengthOf } from '../../../helpers/length.js'
import { ZooKeeperServer, zookeeperMissing } from '../../../../bench/metadata/zookeeper-server.js'
import { violation, type GuardedWrite } from './history-check.js'

const kills = lengthOf('CELLAR_BROKER_KILLS', 1, 8)
const childPath = fileURLToPath(new URL('broker-child.js', import.meta.url))

/** The resource that the lock guards: refuses tokens that are lower than one it has seen. */
class Resource {
  readonly applied: GuardedWrite[] = []
  readonly asked: GuardedWrite[] = []
  #highest = 0
  #wake: () => void = () => undefined

  write(write: GuardedWrite): void {
    this.asked.push(write)
    if (write.token >= this.#highest) this.applied.push(write)
    this.#highest = Math.max(this.#highest, write.token)
    this.#wake()
  }

  /** Resolves when a write of a holder was applied whose token is above another one. */
  async appliedAbove(token: number, isWanted: (holder: string) => boolean): Promise<GuardedWrite> {
    for (;;) {
      const found = this.applied.find((each) => each.token > token && isWanted(each.holder))
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

  constructor(name: string, url: string, kind: string, timeout: number, resource: Resource) {
    this.name = name
    const words = [childPath, name, url, kind, String(timeout)]
    this.process = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: childEnvironment,
    })
    this.ended = new Promise((resolve) => this.process.on('close', resolve))
    let rest = ''
    this.process.stdout!.on('data', (data: Buffer) => {
      const lines = (rest + data.toString()).split('\n')
      rest = lines.pop()!
      for (const line of lines) {
        const [holder, token] = line.split(' ')
        resource.write({ holder, token: Number(token) })
      }
    })
    this.process.stderr!.on('data', (data: Buffer) => (this.complaint += data.toString()))
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.ended
  }
}

void t.test(`over Cellar, brokers are killed and followed by others: ${kills}`, async (t) => {
  const resource = new Resource()
  const url = `cellar:${join(t.testdir(), 'store')}`
  let token = 0
  for (let i = 0; i <= kills; i++) {
    const kind = i % 2 === 0 ? 'lock' : 'election'
    const broker = new Broker(`broker-${i}`, url, kind, 200, resource)
    const write = await Promise.race([
      resource.appliedAbove(token, (holder) => holder === broker.name),
      broker.ended,
    ])
    if (typeof write !== 'object') t.fail(`${broker.name} has ended: ${broker.complaint}`)
    else token = (write as GuardedWrite).token
    await broker.kill()
  }
  t.equal(resource.applied.length, resource.asked.length, 'no token was below an earlier one')
  t.equal(violation(resource.asked), undefined, 'one holder after the other')
})

const skip = zookeeperMissing()

void t.test('over ZooKeeper, a holder is stopped, another killed', { skip }, async (t) => {
  const server = await ZooKeeperServer.start()
  const url = `zk:127.0.0.1:${server.port}`
  for (const kind of kills === 1 ? ['lock'] : ['lock', 'election']) {
    const resource = new Resource()
    const brokers = ['a', 'b', 'c'].map(
      (name) => new Broker(`${kind}-${name}`, `${url}/${kind}`, kind, 1_000, resource),
    )
    const byName = (name: string): Broker => brokers.find((each) => each.name === name)!
    const first = await resource.appliedAbove(0, () => true)
    byName(first.holder).process.kill('SIGSTOP')
    const second = await resource.appliedAbove(first.token, (name) => name !== first.holder)
    // It wakes in the belief that it holds the lock, and may say so before it hears anything.
    byName(first.holder).process.kill('SIGCONT')
    await byName(second.holder).kill()
    const third = await resource.appliedAbove(second.token, (name) => name !== second.holder)
    t.ok(third.token > second.token, `${kind}: ${first.holder}, ${second.holder}, ${third.holder}`)
    t.equal(violation(resource.applied), undefined, 'one holder after the other')
    // What a resource would apply that does not look at tokens.
    resource.write(first)
    t.match(violation(resource.asked), /was used after/, 'a late write is found')
    for (const broker of brokers) await broker.kill()
  }
  await server.remove()
})
