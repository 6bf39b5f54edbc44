/**
 * The REST interface: both encodings, golden bytes, hostile bodies, streams and a real process.
 *
 * @runs long
 */
import { spawn } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import avsc from 'avsc'
import t from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  decodeMessageId,
  MessagingService,
  type Message,
} from '../../../src/systems/messaging/index.js'
import {
  CellarServer,
  MessagingClient,
  messagingRoutes,
  type ServerOptions,
} from '../../../src/server/index.js'
import {
  blockOf,
  consumeRequest,
  messageDecoder,
  names,
  properties,
  publishRequest,
  publishResponse,
} from '../../../src/systems/messaging/http/requests.js'
import { decode, encode, type WireType } from '../../../src/systems/messaging/http/wire-types.js'
import { Transaction } from '../../../src/systems/transactions/index.js'

const topic = { namespace: 'default', topic: 't1' }
const start = 1_489_707_864_000

async function open(options: ServerOptions = {}, chunkBytes = 128) {
  const clock = new ManualClock(start)
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, clock, executor: 'inline' })
  const lifetimeMilliseconds = Number.MAX_SAFE_INTEGER
  const service = await MessagingService.open(database, { clock, lifetimeMilliseconds })
  const routes = messagingRoutes(service, { chunkBytes })
  const server = await CellarServer.start([routes], { port: 0, ...options })
  const close = async (): Promise<void> => {
    await server.close()
    await service.close()
    await database.close()
  }
  return { server, service, clock, close, url: server.url }
}

/** Ids and payloads as plain data. */
const plain = (messages: readonly Message[]): [string, string][] =>
  messages.map(({ id, payload }) => [id.toString('hex'), payload.toString('hex')])

const texts = (messages: readonly Message[]): string[] =>
  messages.map(({ payload }) => payload.toString())

/** The schemas of the design, for an independent implementation of Avro. */
const schemas = {
  publishRequest: {
    type: 'record',
    name: 'PublishRequest',
    fields: [
      { name: 'transactionWritePointer', type: ['long', 'null'] },
      { name: 'messages', type: { type: 'array', items: 'bytes' } },
    ],
  },
  publishResponse: {
    type: 'record',
    name: 'PublishResponse',
    fields: [
      { name: 'transactionWritePointer', type: ['long', 'null'] },
      {
        name: 'rollbackRange',
        type: {
          type: 'record',
          name: 'RollbackRange',
          fields: [
            { name: 'startTimestamp', type: 'long' },
            { name: 'startSequenceId', type: 'int' },
            { name: 'endTimestamp', type: 'long' },
            { name: 'endSequenceId', type: 'int' },
          ],
        },
      },
    ],
  },
  consumeRequest: {
    type: 'record',
    name: 'ConsumeRequest',
    fields: [
      { name: 'startFrom', type: ['bytes', 'long', 'null'] },
      { name: 'inclusive', type: 'boolean' },
      { name: 'limit', type: ['int', 'null'] },
      { name: 'transaction', type: ['bytes', 'null'] },
    ],
  },
  names: { type: 'array', items: 'string' },
  properties: { type: 'map', values: 'string' },
}

const longType = avsc.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.allocUnsafe(8)
    buffer.writeBigInt64LE(value)
    return buffer
  },
  fromJSON: (value: unknown) => BigInt(value as string),
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
})

function avscType(name: keyof typeof schemas): avsc.Type {
  const options = { registry: { long: longType }, wrapUnions: true }
  return avsc.Type.forSchema(schemas[name] as avsc.Schema, options)
}

void t.test('golden bytes of requests and responses', (t) => {
  const hex = (text: string): string => text.replace(/ /g, '')
  const avro = <T>(type: WireType<unknown, T>, value: T): string => {
    return (encode(type, value, 'avro') as Buffer).toString('hex')
  }
  const publish = (transactionWritePointer: bigint | undefined, texts: string[]): string => {
    const messages = texts.map((text) => Buffer.from(text))
    return avro(publishRequest, { transactionWritePointer, messages })
  }
  t.equal(publish(undefined, ['m0', 'm1']), hex('02 04 04 6d 30 04 6d 31 00'))
  t.equal(publish(1n, ['m2']), hex('00 02 02 04 6d 32 00'))
  t.equal(publish(1n, []), hex('00 02 00'))
  const rollbackRange = {
    startTimestamp: start,
    startSequenceId: 0,
    endTimestamp: start,
    endSequenceId: 2,
  }
  const response = { transactionWritePointer: 1n, rollbackRange }
  const bytes = encode(publishResponse, response, 'avro') as Buffer
  t.equal(bytes.toString('hex'), hex('00 02 80bf9098db56 00 80bf9098db56 04'))
  t.strictSame(decode(publishResponse, bytes, 'avro'), response)
  const none = { limit: undefined, transaction: undefined }
  const consume = { startFrom: { time: 0 }, inclusive: true, ...none }
  t.equal(avro(consumeRequest, consume), hex('02 00 01 02 02'))
  const X = Buffer.alloc(20, 7)
  const after = { ...none, startFrom: { from: X }, inclusive: false, limit: 10 }
  t.equal(avro(consumeRequest, after), hex(`00 28 ${X.toString('hex')} 00 00 14 02`))
  const given = Buffer.from(hex('04 01 00 feffffff0f 02'), 'hex')
  t.strictSame(decode(consumeRequest, given, 'avro'), {
    startFrom: {},
    inclusive: true,
    limit: 2 ** 31 - 1,
    transaction: undefined,
  })
  const block = blockOf([{ id: X, payload: Buffer.from('hi') }], 'avro', true) as Buffer
  t.equal(block.toString('hex'), hex(`02 28 ${X.toString('hex')} 04 68 69`))
  for (let cut = 0; cut <= block.length; cut++) {
    const decoder = messageDecoder('avro')
    const found = [...decoder.add(block.subarray(0, cut)), ...decoder.add(block.subarray(cut))]
    t.strictSame(texts([...found, ...decoder.add(Buffer.from([0]))]), ['hi'])
    t.equal(decoder.isDone, true)
  }
  t.end()
})

void t.test('the bytes are those of another implementation of Avro', (t) => {
  const same = <T>(
    name: keyof typeof schemas,
    type: WireType<T>,
    value: T,
    plain: unknown,
  ): void => {
    const other = avscType(name)
    const bytes = encode(type, value, 'avro') as Buffer
    t.equal(bytes.toString('hex'), other.toBuffer(plain).toString('hex'), name)
    t.strictSame(decode(type, other.toBuffer(plain), 'avro'), value, name)
  }
  const pointers = [0n, 1n, -1n, 63n, 64n, -64n, -65n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]
  for (const pointer of pointers) {
    const messages = [Buffer.from('a'), Buffer.alloc(0), Buffer.alloc(300, 1)]
    const wrapped = { transactionWritePointer: { long: pointer }, messages }
    const value = { transactionWritePointer: pointer, messages }
    same('publishRequest', publishRequest as WireType<unknown>, value, wrapped)
  }
  for (const [milliseconds, sequence] of [
    [0, 0],
    [start, 127],
    [Number.MAX_SAFE_INTEGER, 2 ** 31 - 1],
  ]) {
    const ids = { startSequenceId: sequence, endSequenceId: sequence }
    const rollbackRange = { startTimestamp: milliseconds, endTimestamp: milliseconds, ...ids }
    const time = BigInt(milliseconds)
    const plain = {
      transactionWritePointer: null,
      rollbackRange: { startTimestamp: time, endTimestamp: time, ...ids },
    }
    const value = { transactionWritePointer: undefined, rollbackRange }
    same('publishResponse', publishResponse, value, plain)
  }
  for (const [limit, plain] of [
    [undefined, null],
    [7, { int: 7 }],
    [-5, { int: -5 }],
    [2 ** 31 - 1, { int: 2 ** 31 - 1 }],
  ] as const) {
    const value = { startFrom: { time: start }, inclusive: false, limit, transaction: undefined }
    const wrapped = { startFrom: { long: BigInt(start) }, inclusive: false, limit: plain }
    const whole = { ...wrapped, transaction: null }
    same('consumeRequest', consumeRequest, value, whole)
  }
  same('names', names as WireType<unknown>, ['a', '\u00fc'], ['a', '\u00fc'])
  same('names', names as WireType<unknown>, [], [])
  same('properties', properties as WireType<unknown>, { ttl: '7', b: '' }, { ttl: '7', b: '' })
  const blocks = Buffer.from('01040261020400', 'hex')
  t.throws(() => decode(names, blocks, 'avro'), { code: 'ERR_INVALID_ARGUMENT' })
  // A negative count precedes the bytes of the block.
  t.strictSame(decode(names, Buffer.from('030802610262020263' + '00', 'hex'), 'avro'), [
    'a',
    'b',
    'c',
  ])
  t.end()
})

for (const { encoding, by = {} } of [
  { encoding: 'json' },
  { encoding: 'avro' },
  { encoding: 'json', by: { fetch: globalThis.fetch } },
  { encoding: 'avro', by: { fetch: globalThis.fetch } },
] as const) {
  const title = `${encoding}${'fetch' in by ? ' by the global fetch' : ''}`
  void t.test(`149 the interface over HTTP in ${title}`, async (t) => {
    const { url, service, close } = await open()
    const client = new MessagingClient({ url, encoding, ...by })
    await client.createTopic(topic, { ttl: '100', other: 'x' })
    t.strictSame(await client.getTopic(topic), { other: 'x', ttl: '100', generation: '1' })
    await t.rejects(client.createTopic(topic), { code: 'ERR_TOPIC_EXISTS' })
    await client.updateTopic(topic, { ttl: '50' })
    t.strictSame(await client.listTopics('default'), ['t1'])
    t.equal(await client.publish(topic, { messages: ['m0', 'm1'] }), undefined)
    const pointer = 2n ** 53n + 1n
    const request = { messages: ['m2'], transactionWritePointer: pointer }
    const response = await client.publish(topic, request)
    t.equal(response?.transactionWritePointer, pointer)
    await client.store(topic, { messages: ['p0', 'p1'], transactionWritePointer: pointer })
    await client.publish(topic, { messages: [], transactionWritePointer: pointer })
    const wanted = ['m0', 'm1', 'm2', 'p0', 'p1']
    const found = await client.poll(topic)
    t.strictSame(texts(found), wanted)
    t.strictSame(plain(found), plain(await service.poll(topic)), 'as in process')
    for (const options of [
      { from: found[1].id, inclusive: false },
      { from: found[3].id.toString('hex') },
      { limit: 2 },
      { time: start },
      { time: start, inclusive: false },
      { time: 0, limit: 3 },
    ]) {
      t.strictSame(
        plain(await client.poll(topic, options)),
        plain(await service.poll(topic, options)),
      )
    }
    await client.rollback(topic, response!)
    const transaction = new Transaction({
      transactionId: pointer + 5n,
      readPointer: pointer,
      invalids: [7n],
    })
    t.strictSame(texts(await client.poll(topic, { transaction })), ['m0', 'm1', 'p0', 'p1'])
    const producer = { id: ' 100 % Größe \n', sequence: 1 }
    const first = await client.publish(topic, { messages: ['once'], producer })
    t.strictSame(await client.publish(topic, { messages: ['once'], producer }), first)
    t.strictSame(await service.publish(topic, { messages: ['once'], producer }), first)
    const waiting = client.poll(topic, {
      from: (await client.poll(topic)).at(-1)!.id,
      inclusive: false,
      limit: 1,
      waitMilliseconds: 30_000,
    })
    await service.publish(topic, { messages: ['late'] })
    t.strictSame(texts(await waiting), ['late'])
    await client.deleteTopic(topic)
    await t.rejects(client.deleteTopic(topic), { code: 'ERR_TOPIC_NOT_FOUND' })
    await t.rejects(client.poll(topic), { code: 'ERR_TOPIC_NOT_FOUND' })
    await t.rejects(client.createTopic(topic, { ttl: 'xyz' }), { code: 'ERR_INVALID_ARGUMENT' })
    await close()
    await t.rejects(client.listTopics('default'), { code: 'ERR_MESSAGING_UNAVAILABLE' })
  })

  void t.test(`53 large messages come in several chunks, in ${title}`, async (t) => {
    const { url, service, close } = await open()
    const client = new MessagingClient({ url, encoding, gzip: true, ...by })
    await service.createTopic(topic)
    const messages = Array.from({ length: 10 }, (_, i) => String(i).repeat(64))
    await client.publish(topic, { messages })
    t.strictSame(texts(await client.poll(topic)), messages)
    await close()
  })
}

void t.test('what is malformed is answered with its status, and costs nothing', async (t) => {
  const { url, service, close } = await open({ requestBytesMax: 4096, decompressedBytesMax: 8192 })
  await service.createTopic(topic)
  const base = `${url}/v1/namespaces/default/topics`
  const post = async (
    path: string,
    body: Buffer | string,
    headers: Record<string, string> = {},
  ): Promise<number> => {
    const answer = await fetch(`${base}/${path}`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'avro/binary', ...headers },
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const json = { 'content-type': 'application/json' }
  const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
  const golden = bytes('0204046d30046d3100')
  for (let length = 0; length < golden.length; length++) {
    t.equal(await post('t1/publish', golden.subarray(0, length)), 400)
  }
  // Two billion messages, and one of two billion bytes.
  t.equal(await post('t1/publish', bytes('02feffffff0f')), 400)
  t.equal(await post('t1/publish', bytes('0202feffffff0f00')), 400)
  t.equal(await post('t1/publish', Buffer.concat([golden, bytes('00')])), 400)
  t.equal(await post('t1/publish', golden, { 'content-type': 'text/plain' }), 400)
  t.equal(await post('t1/store', golden), 400)
  t.equal(await post('t1/publish', bytes('0200')), 400, 'no messages')
  for (const body of ['', '[]', 'null', '{', '{"messages":[5]}', '{"messages":["?"]}']) {
    t.equal(await post('t1/publish', body, json), 400, body)
  }
  t.equal(await post('t1/rollback', '{}', json), 400)
  t.equal(await post('t1/rollback', bytes('020000000000')), 400, 'no pointer')
  for (const body of ['{"limit":0}', '{"startFrom":{"long":"-1"}}', '{"transaction":"AAAA"}']) {
    t.equal(await post('t1/poll', body, json), 400, body)
  }
  t.equal(await post('t1/poll', '{"startFrom":"00"}', json), 400, 'a short id')
  t.equal(await post('none/poll', '{"limit":0}', json), 400, 'the limit comes before the topic')
  t.equal(await post('none/poll', '{"startFrom":"00"}', json), 404, 'the id comes behind it')
  t.equal(await post('none/publish', golden), 404)
  t.equal(await post('a%2Fb/publish', golden), 404)
  t.equal(await post('a%20b/publish', golden), 400)
  const gzip = { ...json, 'content-encoding': 'gzip' }
  t.equal(await post('t1/publish', gzipSync('{"messages":["aGk="]}'), gzip), 200)
  t.equal(await post('t1/publish', 'no gzip', gzip), 400)
  t.equal(await post('t1/publish', gzipSync(Buffer.alloc(1 << 20)), gzip), 413, 'a bomb')
  t.equal(await post('t1/publish', Buffer.alloc(5000)), 413)
  const old = { messages: ['YQ=='], transactionWritePointer: '-9223372036854775807' }
  t.equal(await post('t1/publish', JSON.stringify(old), json), 500)
  for (const body of ['null', '[]', ' ', '{"ttl":null}', '{"ttl":"x"}', '{']) {
    const put = { method: 'PUT', body, headers: json }
    t.equal((await fetch(`${base}/t2`, put)).status, 400, body)
  }
  t.equal((await fetch(`${base}/t2`, { method: 'PUT' })).status, 200)
  t.equal((await fetch(`${base}/t2`, { method: 'PUT' })).status, 409)
  const put = { method: 'PUT', body: '{"ttl":7}', headers: json }
  t.equal((await fetch(`${base}/t2/properties`, put)).status, 200)
  t.strictSame(await (await fetch(`${base}/t2`)).json(), { ttl: '7', generation: '1' })
  t.strictSame(texts(await service.poll(topic)), ['hi'], 'nothing else was published')
  await close()
})

void t.test('a token, health, metrics and the description', async (t) => {
  const { url, close } = await open({ token: 'a-secret' })
  t.equal((await fetch(`${url}/health`)).status, 200)
  for (const path of ['/metrics', '/openapi.json', '/v3/namespaces/n/topics']) {
    t.equal((await fetch(url + path)).status, 401)
    const headers = { authorization: 'Bearer a-secret' }
    t.equal((await fetch(url + path, { headers })).status, 200)
  }
  const client = new MessagingClient({ url, token: 'a-secret' })
  await client.createTopic(topic)
  await client.publish(topic, { messages: ['a'] })
  const headers = { authorization: 'Bearer a-secret' }
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text()
  t.match(metrics, /messages_published_total\{namespace="default",topic="t1"\} 1\n/)
  const wrong = new MessagingClient({ url, token: 'other' })
  await t.rejects(wrong.listTopics('n'), { code: 'ERR_UNAUTHORIZED' })
  const described = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as {
    paths: object
  }
  t.equal(Object.keys(described.paths).length, 24)
  await close()
})

void t.test(
  'a consumer that goes away ends its fetch, and one that stalls is cut off',
  async (t) => {
    const { url, service, close } = await open({ stallMilliseconds: 200 }, 60_000)
    await service.createTopic(topic)
    const messages = Array.from({ length: 60 }, () => 'x'.repeat(1 << 20))
    for (const message of messages) await service.publish(topic, { messages: [message] })
    const { port } = new URL(url)
    const path = '/v3/namespaces/default/topics/t1/poll'
    const headers = { 'content-type': 'application/json' }
    for (const goesAway of [true, false]) {
      await new Promise<void>((resolve) => {
        const outgoing = httpRequest({ port, path, method: 'POST', headers }, (answer) => {
          answer.on('close', () => resolve())
          answer.on('error', () => undefined)
          if (goesAway) answer.once('data', () => answer.destroy())
          else setTimeout(() => answer.resume(), 2000).unref()
        })
        outgoing.on('error', () => resolve())
        outgoing.end('{}')
      })
      const { messagesFetched } = service.topicStatistics(topic)
      t.ok(messagesFetched < (goesAway ? 60 : 120), `${messagesFetched} messages were read`)
    }
    await close()
  },
)

void t.test('another process publishes and polls, with gzip', async (t) => {
  const { url, service, close } = await open()
  await service.createTopic(topic)
  const script = `
    const base = '${url}/v3/namespaces/default/topics/t1'
    const { gzipSync } = await import('node:zlib')
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    for (let i = 0; i < 20; i++) {
      const messages = [Buffer.from('message ' + i).toString('base64')]
      const body = gzipSync(JSON.stringify({ messages }))
      const answer = await fetch(base + '/publish', { method: 'POST', headers, body })
      if (answer.status !== 200) throw new Error(await answer.text())
    }
    const poll = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    const answer = await fetch(base + '/poll', poll)
    const found = (await answer.json()).map(({ payload }) => Buffer.from(payload, 'base64') + '')
    console.log(JSON.stringify([answer.headers.get('content-encoding'), found]))
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  child.stderr.on('data', (text: Buffer) => t.comment(text.toString()))
  await new Promise((resolve) => child.once('close', resolve))
  const wanted = Array.from({ length: 20 }, (_, i) => `message ${i}`)
  t.strictSame(JSON.parse(output), ['gzip', wanted])
  const found = await service.poll(topic)
  t.strictSame(texts(found), wanted)
  t.ok(found.every(({ id }) => decodeMessageId(id).publishTimestamp === start))
  await close()
})
