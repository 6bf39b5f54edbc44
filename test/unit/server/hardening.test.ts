/**
 * What guards every system of the server: pages of others, slow and large requests, the end.
 *
 * @runs campaign
 */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { MessagingService, StandbyMessaging } from '../../../src/systems/messaging/index.js'
import {
  CellarServer,
  databaseRoutes,
  engineMetrics,
  MessagingClient,
  messagingRoutes,
  type RequestMemory,
  type ServerOptions,
  type ServerSystem,
} from '../../../src/server/index.js'

const topic = { namespace: 'n', topic: 't' }
const json = { 'content-type': 'application/json' }
const hello = JSON.stringify({ messages: ['aGk='] })
const path = '/v3/namespaces/n/topics/t'

async function open(options: ServerOptions = {}) {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const service = await MessagingService.open(database)
  await service.createTopic(topic)
  let memory!: RequestMemory
  /** A second system, with the memory that all share. */
  const plain: ServerSystem = {
    name: 'plain',
    register: (app, context) => {
      memory = context.memory
      app.post('/plain', async (request) => ({ bytes: (request.body as Buffer).length }))
      app.get('/plain', async () => ({}))
    },
  }
  const server = await CellarServer.start([messagingRoutes(service), plain], {
    port: 0,
    ...options,
  })
  const { port } = new URL(server.url)
  const close = async (): Promise<void> => {
    await server.close()
    await service.close()
    await database.close()
  }
  return { server, service, database, memory, port: Number(port), close }
}

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

interface Answer {
  readonly status: number
  readonly text: string
}

function send(port: number, { method = 'POST', ...sent }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port, method, path: sent.path ?? `${path}/publish`, agent: false } as const
    const headers = sent.headers ?? json
    const outgoing = httpRequest({ ...options, headers }, (answer: IncomingMessage) => {
      let text = ''
      answer.on('data', (piece: Buffer) => (text += piece.toString()))
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode!, text }))
    })
    outgoing.on('error', reject)
    outgoing.end(sent.body)
  })
}

void t.test('a page of another server neither writes nor reads', async (t) => {
  const { port, service, close } = await open()
  const page = { origin: 'https://evil.example' }
  const own = { origin: `http://localhost:${port}`, host: `localhost:${port}` }
  const cases: readonly (readonly [string, number, Sent])[] = [
    ['text as a form sends it', 400, { headers: { 'content-type': 'text/plain' }, body: hello }],
    ['a body without a type', 400, { headers: {}, body: hello }],
    ['a form', 400, { headers: { 'content-type': 'multipart/form-data' }, body: hello }],
    ['text for another system', 415, { path: '/plain', headers: {}, body: hello }],
    ['Origin', 403, { headers: { ...json, ...page }, body: hello }],
    ['Origin null', 403, { headers: { ...json, origin: 'null' }, body: hello }],
    ['Origin of another port', 403, { headers: { ...json, origin: 'http://localhost:1' } }],
    ['Sec-Fetch-Site', 403, { headers: { ...json, 'sec-fetch-site': 'cross-site' }, body: hello }],
    ['same site', 403, { headers: { ...json, 'sec-fetch-site': 'same-site' }, body: hello }],
    ['a delete', 403, { method: 'DELETE', path, headers: page }],
    ['a read', 403, { method: 'GET', path, headers: page }],
    ['a name of its own', 421, { method: 'GET', path, headers: { host: 'evil.example' } }],
    ['a name that is none', 421, { method: 'GET', path, headers: { host: 'a b@localhost' } }],
    ['a link', 200, link('GET', port)],
    ['a form that navigates', 403, link('POST', port)],
    ['its own page', 200, { headers: { ...json, ...own, 'sec-fetch-site': 'same-origin' } }],
    ['an address', 200, { method: 'GET', path, headers: { host: '[::1]:80' } }],
  ]
  for (const [title, status, sent] of cases) {
    const body = sent.body ?? (sent.method === undefined ? hello : '')
    t.equal((await send(port, { ...sent, body })).status, status, title)
  }
  t.equal((await service.poll(topic)).length, 1, 'only its own page has published')
  await close()
  const proxied = await open({ hosts: ['Cellar.example'] })
  for (const [host, status] of [
    ['cellar.example', 200],
    ['CELLAR.example.:443', 200],
    ['other.example', 421],
  ] as const) {
    t.equal((await send(proxied.port, { method: 'GET', path, headers: { host } })).status, status)
  }
  const behind = { ...json, host: '127.0.0.1', origin: 'https://cellar.example' }
  t.equal((await send(proxied.port, { headers: behind, body: hello })).status, 200)
  await proxied.close()
})

void t.test('a body in another charset than UTF-8 is refused, types are in any case', async (t) => {
  const { port, service, close } = await open()
  const cases = [
    ['application/json; charset=utf-16', 415],
    ['application/json;charset="UTF-16LE"', 415],
    ['application/json; version=1; Charset=iso-8859-1', 415],
    ['avro/binary; charset=utf-16', 415],
    ['application/json; charset=UTF-8', 200],
    ['application/json; charset="utf-8"', 200],
    ['application/json; charset=us-ascii', 200],
    ['Application/JSON', 200],
  ] as const
  for (const [type, status] of cases) {
    const answer = await send(port, { headers: { 'content-type': type }, body: hello })
    t.equal(answer.status, status, type)
    if (status === 415) t.match(JSON.parse(answer.text), { code: 'ERR_MEDIA_TYPE' })
  }
  t.equal((await service.poll(topic)).length, 4)
  await close()
})

void t.test('a method that an address does not have is refused with those it has', async (t) => {
  const { server, close } = await open()
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, object>
  }
  const known = Object.entries({ ...paths, '/plain': { get: {}, post: {} } })
  t.ok(known.length > 20, `${known.length} addresses`)
  for (const [address, operations] of known) {
    const has = Object.keys(operations).flatMap((name) => {
      if (name === 'parameters') return []
      return name === 'get' ? ['GET', 'HEAD'] : [name.toUpperCase()]
    })
    const allow = [...has, 'OPTIONS'].sort().join()
    for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS']) {
      if (has.includes(method)) continue
      const body = ['GET', 'OPTIONS'].includes(method) ? {} : { body: hello, headers: json }
      const url = `${server.url}${address.replace(/\{\w+\}/g, 'x')}`
      const response = await fetch(url, { method, ...body })
      const told = response.headers.get('allow')?.split(', ').sort().join()
      const status = method === 'OPTIONS' ? 204 : 405
      t.same([response.status, told], [status, allow], `${method} ${address}`)
      await response.arrayBuffer()
    }
  }
  const nowhere = await fetch(`${server.url}/nowhere`, { method: 'POST' })
  t.equal(nowhere.status, 404)
  await close()
})

function link(method: string, port: number): Sent {
  const site = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  return { method, path: '/plain', headers: { ...json, ...site, host: `127.0.0.1:${port}` } }
}

void t.test('options that would let anybody in are refused', async (t) => {
  const principal = { name: 'ada', token: 'token-of-ada' }
  const bad: readonly ServerOptions[] = [
    { host: '0.0.0.0' },
    { host: '::' },
    { host: '192.168.0.1' },
    { token: '' },
    { token: 'x' },
    { token: 'with a space' },
    { principals: [principal, { ...principal, token: 'another-token' }] },
    { principals: [principal, { ...principal, name: 'eve' }] },
    { principals: [null] } as never,
    { principals: null } as never,
    { hosts: 'cellar' } as never,
    { port: NaN },
    { port: 65_536 },
    { memoryBytesMax: 0 },
    { bodyMilliseconds: 0.5 },
    { bodyMilliseconds: 1e10 },
    { stallMilliseconds: 1e10 },
    { closeMilliseconds: 1e10 },
  ]
  for (const options of bad) {
    const start = CellarServer.start([], { port: 0, ...options })
    await t.rejects(start, { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(options))
  }
  const server = await CellarServer.start([], { port: 0, host: '0.0.0.0', token: 'a-secret' })
  await server.close()
  const day = 86_400_000
  const longest = { bodyMilliseconds: day, stallMilliseconds: day, closeMilliseconds: day }
  await (await CellarServer.start([], { port: 0, ...longest })).close()
})

/** Opens a connection and sends text. */
async function say(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** All that comes until the connection ends. */
async function heard(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

void t.test('heads and bodies that drip are cut off, and large ones are not', async (t) => {
  const { port, service, memory, close } = await open({ bodyMilliseconds: 300 })
  const head = `POST ${path}/publish HTTP/1.1\r\nhost: localhost\r\n`
  const typed = `${head}content-type: application/json\r\n`
  const texts = [
    [`${typed}content-length: 5000\r\n\r\n{`, /^HTTP\/1.1 408/],
    [`${typed}transfer-encoding: chunked\r\n\r\n`, /^HTTP\/1.1 408/],
    [`${head}content-type: a/b\r\ncontent-length: 5000\r\n\r\n{`, /^HTTP\/1.1 400/],
    // Refused at its head, and its body is read for the same time.
    [`${head.replace('localhost', 'a.example')}content-length: 5000\r\n\r\n{`, /^HTTP\/1.1 421/],
    [head, /^(HTTP\/1.1 408|$)/],
    ['', /^(HTTP\/1.1 408|$)/],
  ] as const
  const dripping = texts.map(async ([text, wanted]) => {
    const socket = await say(port, text)
    const drip = text.includes('chunked') ? '1\r\nx\r\n' : 'x'
    const timer = setInterval(() => text !== '' && socket.write(drip), 50)
    const answer = await heard(socket)
    clearInterval(timer)
    t.match(answer, wanted)
  })
  await Promise.all(dripping)
  t.equal(memory.bytesUsed, 0, 'their memory is free')
  const large = JSON.stringify({ messages: Array.from({ length: 6 }, () => 'aaaa'.repeat(2500)) })
  const socket = await say(port, `${typed}content-length: ${large.length}\r\n\r\n`)
  const answer = once(socket, 'data')
  // Slowly, but with more than the least bytes for its time.
  for (let at = 0; at < large.length; at += 10_000) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    socket.write(large.slice(at, at + 10_000))
  }
  t.match(String(await answer), /^HTTP\/1.1 200/)
  socket.destroy()
  t.equal((await service.poll(topic)).length, 6)
  await close()
})

void t.test('what is no request gets an answer of the same form as other errors', async (t) => {
  const { port, close } = await open({ bodyMilliseconds: 300 })
  for (const [text, status, code] of [
    ['nonsense\r\n\r\n', 400, 'ERR_INVALID_ARGUMENT'],
    [`GET ${path} HTTP/1.1\r\nhost: localhost\r\na b: c\r\n\r\n`, 400, 'ERR_INVALID_ARGUMENT'],
    [`GET ${path} HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'ERR_REQUEST_TOO_LARGE'],
    [`GET ${path} HTTP/1.1\r\nhost: loc`, 408, 'ERR_REQUEST_TIMEOUT'],
  ] as const) {
    const answer = await heard(await say(port, text))
    t.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
    t.match(answer, /\r\ncontent-type: application\/json\r\n/i)
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as object
    t.match(body, { code, message: /./ })
    t.strictSame(Object.keys(body), ['code', 'message'])
  }
  await close()
})

void t.test('bodies that become large take no more than the memory of the server', async (t) => {
  const bytesMax = 4 << 20
  const { port, memory, service, close } = await open({ memoryBytesMax: bytesMax })
  const body = gzipSync(JSON.stringify({ messages: ['aaaa'.repeat(300_000)] }))
  const headers = { ...json, 'content-encoding': 'gzip' }
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, memory.bytesUsed)), 1)
  const answers = await Promise.all(Array.from({ length: 30 }, () => send(port, { headers, body })))
  clearInterval(watch)
  const stored = answers.filter(({ status }) => status === 200).length
  const busy = answers.filter(({ text }) => text.includes('ERR_SERVER_BUSY')).length
  t.equal(stored + busy, 30)
  t.ok(stored > 0 && busy > 0, `${stored} stored, ${busy} refused`)
  t.ok(most <= bytesMax, `${most} bytes`)
  t.equal((await service.poll(topic)).length, stored)
  t.equal((await send(port, { headers, body })).status, 200, 'there is room again')
  t.equal(memory.bytesUsed, 0)
  await close()
})

void t.test('consumers that do not read take half of the memory, and stop nobody', async (t) => {
  const bytesMax = 16 << 20
  const { port, memory, service, server, close } = await open({ memoryBytesMax: bytesMax })
  const large = Buffer.alloc(1 << 20, 'x')
  for (let i = 0; i < 24; i++) await service.publish(topic, { messages: [large] })
  const sockets: Socket[] = []
  for (let i = 0; i < 24; i++) {
    const head = `POST ${path}/poll HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`
    const socket = await say(port, `${head}\r\ncontent-length: 2\r\n\r\n{}`)
    socket.pause()
    sockets.push(socket)
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.ok(memory.bytesUsed > 0, 'some wait for their readers')
  t.ok(memory.bytesUsed <= bytesMax / 2 + 1024, `${memory.bytesUsed} bytes`)
  t.equal((await send(port, { body: hello })).status, 200, 'others publish')
  for (const socket of sockets) socket.destroy()
  const found = await new MessagingClient({ url: server.url }).poll(topic)
  t.equal(found.length, 25, 'and read')
  t.equal(memory.bytesUsed, 0)
  await close()
})

void t.test('the scan of a reader that goes away is closed', async (t) => {
  const database = await Database.open('/d', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:q': 'x'.repeat(10_000) } })
  const row = await table.get({ row: 'r' })
  let isOpen = false
  async function* scan() {
    isOpen = true
    try {
      for (;;) yield row
    } finally {
      isOpen = false
    }
  }
  const served = new Proxy(database, {
    get: (_, name) => {
      if (name === 'table') return () => ({ scan })
      const member: unknown = Reflect.get(database, name, database)
      return typeof member === 'function' ? (member as () => unknown).bind(database) : member
    },
  })
  const refused = async (): Promise<object> => ({})
  const server = await CellarServer.start(
    [databaseRoutes(served, { verify: refused, inspect: refused })],
    { port: 0 },
  )
  const gone = new AbortController()
  const answer = await fetch(`${server.url}/database/tables/t/rows`, { signal: gone.signal })
  await answer.body!.getReader().read()
  t.equal(isOpen, true)
  gone.abort()
  for (let i = 0; i < 200 && isOpen; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(isOpen, false)
  await server.close()
  await database.close()
})

void t.test('a count and a verification end when their client leaves', async (t) => {
  const database = await Database.open('/d', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:q': 'v' } })
  const ended: string[] = []
  let started = 0
  /** Work without an end of its own. */
  const until = async (name: string, signal: AbortSignal | undefined): Promise<object> => {
    started++
    await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    ended.push(name)
    return {}
  }
  const served = new Proxy(database, {
    get: (_, name) => {
      const scan = async function* ({ signal }: { signal?: AbortSignal }) {
        await until('count', signal)
        yield* []
      }
      if (name === 'table') return () => ({ scan })
      const member: unknown = Reflect.get(database, name, database)
      return typeof member === 'function' ? (member as () => unknown).bind(database) : member
    },
  })
  const verbs = {
    verify: async (_: string, { signal }: { signal: AbortSignal }) => until('verify', signal),
    inspect: async (): Promise<object> => ({}),
  }
  const server = await CellarServer.start([databaseRoutes(served, verbs)], { port: 0 })
  const gone = new AbortController()
  const asked = ['tables/t/count', 'verify'].map(async (path) => {
    return fetch(`${server.url}/database/${path}`, { signal: gone.signal })
  })
  while (started < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  gone.abort()
  await Promise.allSettled(asked)
  for (let i = 0; i < 200 && ended.length < 2; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  t.strictSame(ended.sort(), ['count', 'verify'])
  await server.close()
  await database.close()
})

void t.test('a poll may wait longer than a reader may stall', async (t) => {
  const { service, server, close } = await open({ stallMilliseconds: 50 })
  const client = new MessagingClient({ url: server.url })
  const polled = client.poll(topic, { waitMilliseconds: 10_000 })
  await new Promise((resolve) => setTimeout(resolve, 400))
  await service.publish(topic, { messages: ['late'] })
  t.equal((await polled).length, 1)
  await close()
})

void t.test('a poll is compressed only for a client that accepts it', async (t) => {
  const { server, close } = await open()
  const poll = async (accepted: string): Promise<string | null> => {
    const headers = { ...json, 'accept-encoding': accepted }
    const answer = await fetch(`${server.url}${path}/poll`, { method: 'POST', headers, body: '{}' })
    t.equal(await answer.text(), '[]', accepted)
    return answer.headers.get('content-encoding')
  }
  for (const accepted of ['gzip', 'GZip', 'identity;q=0.5, gzip;q=0.001', 'br , gzip ; q=1.0']) {
    t.equal(await poll(accepted), 'gzip', accepted)
  }
  for (const refused of [
    'identity',
    'gzip;q=0',
    'br, gzip; q=0.000',
    'a-gzip-b',
    'x;a=gzip',
    '*',
  ]) {
    t.equal(await poll(refused), null, refused)
  }
  await close()
})

void t.test('connections beyond the limit are closed, and the others go on', async (t) => {
  const { port, close } = await open({ connectionsMax: 5 })
  const sockets = await Promise.all(Array.from({ length: 5 }, () => say(port, '')))
  const refused = await say(port, `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  t.equal(await heard(refused), '')
  sockets[0].write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  t.match(String(await once(sockets[0], 'data')), /^HTTP\/1.1 200/)
  for (const socket of sockets) socket.destroy()
  await close()
})

void t.test('a server that ends answers what it has stored', async (t) => {
  const { server, service, database, close } = await open()
  // A frame waits at the end, so that all publishers have a request under way.
  const atomic = database.atomic.bind(database)
  let gate = Promise.resolve()
  database.atomic = async (batch) => {
    await gate
    return atomic(batch)
  }
  const client = new MessagingClient({ url: server.url })
  const answered = new Set<string>()
  const codes = new Set<unknown>()
  const waiting = client.poll({ ...topic, topic: 't' }, { time: 2e14, waitMilliseconds: 60_000 })
  const publishers = Array.from({ length: 60 }, async (_, publisher) => {
    for (let i = 0; ; i++) {
      const text = `${publisher} ${i}`
      try {
        await client.publish(topic, { messages: [text] })
      } catch (error) {
        codes.add((error as { code?: unknown }).code)
        return
      }
      answered.add(text)
    }
  })
  // By work done, not by time: each publisher has an answer, and most wait for another one.
  while (answered.size < 65) await new Promise((resolve) => setTimeout(resolve, 5))
  let release = (): void => undefined
  gate = new Promise((resolve) => (release = resolve))
  await new Promise((resolve) => setTimeout(resolve, 50))
  setTimeout(release, 200)
  await server.close()
  await Promise.all(publishers)
  await gate
  // Behind it all that was under way is stored.
  await service.publish(topic, { messages: ['last'] })
  answered.add('last')
  t.strictSame(await waiting, [], 'a poll that waits ends with nothing')
  const found = await service.poll(topic, { limit: 100_000 })
  const stored = found.map(({ payload }) => payload.toString())
  t.ok(stored.length > 0, `${stored.length} messages`)
  t.strictSame(new Set(stored), answered, 'whatever was stored was answered')
  t.ok(
    [...codes].every((code) => typeof code === 'string'),
    [...codes].join(),
  )
  await close()
})

void t.test('a server that ends does not wait for connections without a request', async (t) => {
  const { port, server, close } = await open({ closeMilliseconds: 60_000 })
  const silence = heard(await say(port, ''))
  const used = await say(port, `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  await once(used, 'data')
  const end = performance.now()
  await server.close()
  t.ok(performance.now() - end < 30_000)
  t.equal(await silence, '')
  await close()
})

void t.test('a request that does not end is cut off by the deadline of the end', async (t) => {
  const { port, server, close } = await open({ closeMilliseconds: 100 })
  const head = `POST ${path}/publish HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`
  const socket = await say(port, `${head}\r\ncontent-length: 50\r\n\r\n{`)
  const ended = heard(socket)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await server.close()
  t.equal(await ended, '')
  await close()
})

void t.test('the health of a server that waits for its leader says so', async (t) => {
  const { service, database, server, close } = await open()
  const leadership = { messaging: service, close: async () => undefined }
  let leads = false
  const standby = await StandbyMessaging.start({
    retryMilliseconds: 0,
    open: async () => {
      if (leads) return leadership
      return (await Database.open('/d', { fileSystem: new MemoryFileSystem() })) as never
    },
  })
  await standby.resign()
  const follower = await CellarServer.start([messagingRoutes(standby)], { port: 0 })
  const health = async (url: string): Promise<[number, unknown]> => {
    const answer = await fetch(`${url}/health`)
    return [answer.status, await answer.json()]
  }
  t.strictSame(await health(follower.url), [
    503,
    { status: 'standby', systems: { messaging: 'standby' } },
  ])
  leads = true
  await standby.attempt()
  t.strictSame(await health(follower.url), [200, { status: 'ok', systems: { messaging: 'ok' } }])
  t.strictSame((await health(server.url))[0], 200)
  await follower.close()
  await standby.stop()
  t.ok(database)
  await close()
})

void t.test('metrics show the engine, the requests, the process and the consumers', async (t) => {
  const { database, service, server, close } = await open()
  await service.publish(topic, { messages: ['a'] })
  await service.setPosition(topic, 'mails', await service.end(topic))
  const standby = await StandbyMessaging.start({
    retryMilliseconds: 0,
    open: async () => ({ messaging: service, close: async () => undefined }),
  })
  const systems = [engineMetrics(() => database), messagingRoutes(standby)]
  const whole = await CellarServer.start(systems, { port: 0 })
  await (await fetch(`${whole.url}${path}`)).text()
  await (await fetch(`${whole.url}/none`)).text()
  const page = await (await fetch(`${whole.url}/metrics`)).text()
  const route = 'route="/v3/namespaces/:namespace/topics/:topic"'
  for (const line of [
    `cellar_http_requests_total{method="GET",${route},status="200"} 1`,
    `cellar_http_requests_total{method="GET",route="none",status="404"} 1`,
    `cellar_http_request_duration_seconds_count{method="GET",${route}} 1`,
    `cellar_http_request_duration_seconds_bucket{method="GET",${route},le="+Inf"} 1`,
    'cellar_http_requests_under_way 1',
    '# TYPE cellar_http_request_duration_seconds histogram',
    '# TYPE cellardb_operation_duration_seconds histogram',
    'cellardb_open_snapshots{database="/d"} 0',
    'cellar_messaging_messages_published_total{namespace="n",topic="t"} 1',
    'cellar_messaging_consumer_lag_seconds{namespace="n",topic="t",consumer="mails"} 0',
  ]) {
    t.ok(page.split('\n').includes(line), line)
  }
  t.match(page, /^process_resident_memory_bytes [0-9]+$/m)
  t.match(page, /^process_cpu_seconds_total [0-9.]+$/m)
  for (const line of page.trimEnd().split('\n')) {
    t.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [0-9.e+-]+)$/)
  }
  await whole.close()
  await standby.stop()
  t.ok(server)
  await close()
})
