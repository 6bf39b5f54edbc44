/**
 * Connections to a ZooKeeper that refuses a watch, falls silent, answers at length or out of order.
 *
 * @runs alone
 */
import t, { type Test } from 'tap'
import {
  openMetadataStore,
  type CachingStore,
} from '../../../../../src/systems/metastore/pulsar/index.js'
import {
  JuteWriter,
  nextXid,
  OpCode,
} from '../../../../../src/systems/metastore/zookeeper/protocol.js'
import { FakeZooKeeper } from '../../../../helpers/metastore/fake-zookeeper.js'
import { eventually, outcome, pause, turns } from '../../../../suites/kit.js'
import { joined } from '../../../../suites/metadata/case.js'

function sessionEvents(store: CachingStore): string[] {
  const told: string[] = []
  store.registerSessionListener((event) => told.push(event))
  return told
}

void t.test('a watch that is refused after a reconnection is set again', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const told = sessionEvents(store)
  let refusals = 3
  server.answer = ({ code }) => (code === OpCode.addWatch && refusals-- > 0 ? -1 : 0)
  server.leave()
  server.comeBack()
  const wanted = 'ConnectionLost,Reconnected'
  t.equal(await eventually(() => joined(told), wanted), wanted)
  t.equal(store.isConnected, true)
  await store.close()
})

void t.test('a server that comes back while the watch waits is reconnected to once', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const told = sessionEvents(store)
  let watches = 0
  server.answer = ({ code }) => {
    if (code !== OpCode.addWatch || ++watches > 1) return 0
    // The answer arrives, and then the connection goes.
    setTimeout(() => {
      server.leave()
      server.comeBack()
    }, 10)
    return -1
  }
  server.leave()
  server.comeBack()
  await eventually(() => String(watches), '2')
  await pause(200)
  t.equal(joined(told), 'ConnectionLost,Reconnected')
  await store.close()
})

/** A clock whose timers run when a test moves it. */
class HandClock {
  time = 0
  #timers: { at: number; action: () => void }[] = []

  readonly now = (): number => this.time
  readonly elapsed = (): number => this.time
  readonly after = (milliseconds: number, action: () => void): (() => void) => {
    const timer = { at: this.time + milliseconds, action }
    this.#timers.push(timer)
    return () => (this.#timers = this.#timers.filter((each) => each !== timer))
  }

  move(milliseconds: number): void {
    this.time += milliseconds
    const due = this.#timers.filter(({ at }) => at <= this.time)
    this.#timers = this.#timers.filter(({ at }) => at > this.time)
    for (const { action } of due) action()
  }
}

/** A store with a clock set by hand, at a time at which the server has just answered. */
async function openAt(t: Test, timeout: number, time: number) {
  const server = await FakeZooKeeper.start(t, timeout)
  const clock = new HandClock()
  const settings = { sessionTimeoutMilliseconds: timeout, clock }
  const store = await openMetadataStore(server.url, settings)
  while (clock.time < time) {
    clock.move(10)
    await turns(2)
  }
  await store.sync('/')
  return { server, clock, store }
}

void t.test('a silent server is noticed in time, whenever it falls silent', async (t) => {
  const timeout = 9_000
  for (const silentAt of [10, 1_000, 2_000, 2_900, 3_100]) {
    const { server, clock, store } = await openAt(t, timeout, silentAt)
    const told: string[] = []
    store.registerSessionListener((event) => told.push(`${event} ${clock.time - silentAt}`))
    server.isSilent = true
    while (clock.time < silentAt + timeout && told.length < 2) {
      clock.move(10)
      await turns(2)
    }
    t.equal(joined(told), 'ConnectionLost 6000,SessionLost 7500', `silent from ${silentAt} on`)
    await store.close()
  }
})

/** Keeps the event loop from running. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

void t.test('a stall of the own event loop is no silence of the server', async (t) => {
  // Without the stall, a silence of 3,000 ms ends the connection; with it, one of 3,750 would.
  const timeout = 4_500
  const server = await FakeZooKeeper.start(t, timeout)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: timeout })
  const told = sessionEvents(store)
  for (const [before, long] of [
    [10, 3_100],
    [750, 2_350],
    [1_350, 1_750],
    [1_650, 1_500],
  ]) {
    await store.sync('/')
    await pause(before)
    stall(long)
    await pause(100)
    t.equal(joined(told), '', `a stall of ${long} ms, ${before} ms after the last contact`)
  }
  server.isSilent = true
  await store.sync('/').catch(() => undefined)
  t.equal(joined(told), 'ConnectionLost')
  server.isSilent = false
  await store.close()
})

void t.test('the loss is reported in time, also around a stall', async (t) => {
  const timeout = 9_000
  for (const [silentAt, stalled] of [
    [10, 2_000],
    [2_000, 5_000],
    [2_990, 6_000],
  ]) {
    const { server, clock, store } = await openAt(t, timeout, silentAt)
    const contact = clock.time
    const told: string[] = []
    store.registerSessionListener((event) => told.push(`${event} ${clock.time - contact}`))
    server.isSilent = true
    clock.move(stalled)
    await turns(2)
    while (clock.time < contact + 2 * timeout && told.length < 2) {
      clock.move(10)
      await turns(2)
    }
    t.match(
      joined(told),
      /^ConnectionLost [67]\d\d\d,SessionLost 75\d\d$/,
      `${silentAt} ${stalled}`,
    )
    await store.close()
  }
})

void t.test('a server that is slow to greet is waited for', async (t) => {
  const server = await FakeZooKeeper.start(t, 1_000)
  server.greetingMilliseconds = 600
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 1_000 })
  t.same(server.asked, [0n], 'one session was made')
  await store.close()
})

void t.test('the time to receive an answer is linear in its length', async (t) => {
  const server = await FakeZooKeeper.start(t, 60_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 60_000 })
  const bytes = Buffer.alloc(48 * 1024 * 1024, 7)
  server.answer = ({ code }) => (code === OpCode.getData ? bytes : 0)
  const startedAt = performance.now()
  const found = await store.get('/long')
  const milliseconds = performance.now() - startedAt
  t.equal(found?.value.equals(bytes), true)
  t.ok(milliseconds < 10_000, `${Math.round(milliseconds)} ms`)
  server.answer = () => 0
  await store.close()
})

void t.test('messages in any pieces are read whole', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  const told: string[] = []
  store.registerListener(({ type, path }) => told.push(`${type} ${path}`))
  const event = (path: string): Buffer =>
    new JuteWriter().int(-1).long(1n).int(0).int(3).int(3).text(path).frame()
  const all = Buffer.concat([event('/a'), event('/bc'), event('/d')])
  for (let at = 0; at < all.length; at++) {
    server.send(all.subarray(at, at + 1))
    await turns(2)
  }
  for (const size of [3, 5, 31, 60]) {
    for (let at = 0; at < all.length; at += size) {
      server.send(all.subarray(at, at + size))
      await turns(2)
    }
  }
  const once = 'Modified /a,Modified /bc,Modified /d'
  const wanted = [once, once, once, once, once].join(',')
  t.equal(await eventually(() => joined(told), wanted), wanted)
  await store.close()
})

void t.test('an answer to another request closes the connection', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 10_000 })
  let isStray = true
  server.answer = ({ code }) => {
    if (code === OpCode.getData && isStray) {
      isStray = false
      server.send(new JuteWriter().int(12_345).long(1n).int(-101).frame())
    }
    return code === OpCode.getData ? -101 : 0
  }
  t.equal(await outcome(store.get('/a')), 'ERR_METADATA_CONNECTION_LOST')
  await eventually(() => String(store.isConnected), 'true')
  t.equal(await store.get('/a'), undefined)
  await store.close()
})

void t.test('a timeout above 32 bits is the longest one', async (t) => {
  const server = await FakeZooKeeper.start(t, 10_000)
  const store = await openMetadataStore(server.url, { sessionTimeoutMilliseconds: 3e9 })
  t.equal(store.sessionTimeoutMilliseconds, 10_000, 'as the server grants it')
  await store.close()
})

void t.test('addresses have a host and a port of digits', async (t) => {
  const settings = { sessionTimeoutMilliseconds: 300 }
  const opened = (url: string): Promise<string> => outcome(openMetadataStore(url, settings))
  for (const port of ['1:2', '1.5', '1e3', '', ' 1', '0', '65536']) {
    t.equal(await opened(`zk:127.0.0.1:${port}`), 'ERR_METADATA_INVALID_ARGUMENT', port)
  }
  t.equal(await opened('zk:::1:1'), 'ERR_METADATA_INVALID_ARGUMENT', 'without brackets')
  t.equal(await opened('zk:[::1]:1'), 'ERR_METADATA_CONNECTION_LOST', 'with brackets')
})

void t.test('the numbers of requests begin again after 31 bits', async (t) => {
  t.equal(nextXid(0), 1)
  t.equal(nextXid(2 ** 31 - 2), 2 ** 31 - 1)
  t.equal(nextXid(2 ** 31 - 1), 1)
})
