/**
 * Bodies and clients that mean no good: every answer is a named error or success, nothing is lost,
 * and the server goes on. CELLAR_SEED repeats the bodies.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { seededRandom } from '../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import { CellarServer, messagingRoutes } from '../../../src/server/index.js'
import { childEnvironment } from '../../helpers/child-environment.js'
import { lengthOf } from '../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const rounds = lengthOf('CELLAR_HOSTILE_BODIES', 80, 6000)
const namespace = 'default'
const kept = { namespace, topic: 'kept' }
const target = { namespace, topic: 'target' }

async function open() {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const lifetimeMilliseconds = Number.MAX_SAFE_INTEGER
  const service = await MessagingService.open(database, { lifetimeMilliseconds })
  await service.createTopic(kept)
  await service.createTopic(target)
  await service.publish(kept, { messages: ['kept'] })
  const server = await CellarServer.start([messagingRoutes(service)], { port: 0 })
  const close = async (): Promise<void> => {
    await server.close()
    await service.close()
    await database.close()
  }
  return { service, close, url: `${server.url}/v3/namespaces/default/topics` }
}

const transaction = `0a000100000000000000030a000200000000000000030f00030a00000000
0f00040a0000000100000000000000020a000500000000000000020800060000000
10a000700000000000000030f00080a000000000800090000000100`.replaceAll('\n', '')
const base64 = Buffer.from(transaction, 'hex').toString('base64')

/** Good bodies, from which the hostile ones are made. */
const bodies: readonly (readonly [path: string, type: string, body: Buffer])[] = [
  ['publish', 'avro/binary', Buffer.from('0204046d30046d3100', 'hex')],
  ['publish', 'avro/binary', Buffer.from('000202046d3200', 'hex')],
  ['store', 'avro/binary', Buffer.from('000202046d3200', 'hex')],
  ['rollback', 'avro/binary', Buffer.from('000280bf9098db560080bf9098db5604', 'hex')],
  ['poll', 'avro/binary', Buffer.from('040102', 'hex')],
  ['poll', 'avro/binary', Buffer.from(`040102 00b601${transaction}`.replace(' ', ''), 'hex')],
  ['publish', 'application/json', Buffer.from('{"messages":["aGk=","aG8="]}')],
  ['store', 'application/json', Buffer.from('{"transactionWritePointer":"1","messages":["aGk="]}')],
  [
    'rollback',
    'application/json',
    Buffer.from(
      '{"transactionWritePointer":"1","rollbackRange":{"startTimestamp":"1","startSequenceId":0,' +
        '"endTimestamp":"9","endSequenceId":5}}',
    ),
  ],
  ['poll', 'application/json', Buffer.from('{"startFrom":{"long":"0"},"limit":{"int":5}}')],
  ['poll', 'application/json', Buffer.from(`{"transaction":"${base64}","inclusive":true}`)],
]

void t.test('bodies that are changed at random', async (t) => {
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const { service, url, close } = await open()
  const pieces = ['[', '{', '"', '9'.repeat(40), 'null', '-1', '1e999', '\u0000', ',', '\ud800']
  const changed = (body: Buffer, isJson: boolean): Buffer => {
    let bytes = Buffer.from(body)
    for (let i = 0; i <= below(3); i++) {
      const at = below(bytes.length + 1)
      const kind = below(4)
      if (kind === 0) bytes = bytes.subarray(0, at)
      else if (kind === 1 && at < bytes.length) bytes[at] = below(256)
      else if (kind === 2) {
        const piece = isJson
          ? Buffer.from(pieces[below(pieces.length)])
          : Buffer.from(Array.from({ length: below(12) }, () => 0x80 | below(256)))
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)])
      } else bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + below(4))])
    }
    return bytes
  }
  const statuses = new Map<number, number>()
  for (let round = 0; round < rounds; round++) {
    const [path, type, body] = bodies[below(bodies.length)]
    const hostile = changed(body, type === 'application/json')
    const answer = await fetch(`${url}/target/${path}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: hostile,
    })
    const text = await answer.text()
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    const isNamed = answer.status === 200 || text.includes('"code":"ERR_')
    // A changed number may be the transaction, and then names one that is long over.
    const isOver = answer.status === 500 && text.includes('"code":"ERR_TRANSACTION_TOO_OLD"')
    if ((![200, 400].includes(answer.status) && !isOver) || !isNamed) {
      t.fail(`${answer.status} for ${path} ${type} ${hostile.toString('hex')}: ${text}`)
    }
  }
  t.ok((statuses.get(400) ?? 0) > rounds / 4, JSON.stringify([...statuses]))
  t.equal((await service.poll(kept)).length, 1)
  await close()
})

void t.test('bodies that are large or deep', async (t) => {
  const { service, url, close } = await open()
  const post = async (path: string, body: Buffer | string, more = {}): Promise<number> => {
    const headers = { 'content-type': 'application/json', ...more }
    const answer = await fetch(`${url}/target/${path}`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
    return answer.status
  }
  const megabyte = 1 << 20
  t.equal(await post('publish', '['.repeat(megabyte)), 400)
  t.equal(await post('publish', `{"messages":${'['.repeat(megabyte)}`), 400)
  t.equal(await post('poll', '{"a":'.repeat(100_000)), 400)
  t.equal(await post('poll', `{"startFrom":{"long":"${'9'.repeat(megabyte)}"}}`), 400)
  t.equal(await post('poll', `{"startFrom":"${'0'.repeat(megabyte)}"}`), 400)
  t.equal(await post('poll', `{"limit":${'9'.repeat(megabyte)}}`), 400)
  t.equal(await post('publish', `{"messages":["${'a'.repeat(megabyte)}?"]}`), 400)
  const bomb = gzipSync(Buffer.alloc(66 * megabyte))
  const bombs = Buffer.concat([bomb, bomb])
  t.equal(await post('publish', bomb, { 'content-encoding': 'gzip' }), 413)
  t.equal(await post('publish', bombs, { 'content-encoding': 'gzip' }), 413)
  const cut = gzipSync('{"messages":["aGk="]}').subarray(0, -5)
  t.equal(await post('publish', cut, { 'content-encoding': 'gzip' }), 400)
  t.equal(await post('publish', 'x', { 'content-encoding': 'br' }), 400)
  t.strictSame(await service.poll(target), [])
  await close()
})

void t.test('uploads that break off publish nothing', async (t) => {
  const { service, url, close } = await open()
  const { port, pathname } = new URL(`${url}/target/publish`)
  const head = `POST ${pathname} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
  const whole = '{"messages":["aGk="]}'
  for (const sent of [
    `${head}content-length: 1000\r\n\r\n${whole}`,
    `${head}transfer-encoding: chunked\r\n\r\n15\r\n${whole}\r\n`,
    head,
  ]) {
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.end(sent)
    socket.on('error', () => undefined)
    // The server answers with an error, or closes the connection.
    socket.resume()
    await once(socket, 'close')
  }
  t.strictSame(await service.poll(target), [])
  const chunk = `${head}transfer-encoding: chunked\r\nconnection: close\r\n\r\n`
  const socket = connect(Number(port), '127.0.0.1')
  socket.end(`${chunk}15\r\n${whole}\r\n0\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.match(answer.toString(), /^HTTP\/1.1 200/)
  t.equal((await service.poll(target)).length, 1)
  await close()
})

void t.test('another process sends in chunks with gzip, and resumes polls it aborts', async (t) => {
  const { service, url, close } = await open()
  const script = `
    import { request } from 'node:http'
    import { createGzip, createGunzip } from 'node:zlib'
    import { Readable } from 'node:stream'
    const url = '${url}/target'
    const headers = { 'content-type': 'application/json' }
    const send = (path, more) =>
      request(url + path, { method: 'POST', headers: { ...headers, ...more } })
    for (let i = 0; i < 5; i++) {
      const messages = Array.from({ length: 400 }, (_, j) =>
        Buffer.from('message ' + (400 * i + j) + ' ' + 'x'.repeat(500)).toString('base64'))
      const body = JSON.stringify({ messages })
      const pieces = body.match(/[^]{1,1000}/g)
      await new Promise((resolve, reject) => {
        const outgoing = send('/publish', { 'content-encoding': 'gzip' })
        outgoing.on('response', (answer) => {
          answer.resume()
          answer.statusCode === 200 ? resolve() : reject(new Error(String(answer.statusCode)))
        })
        outgoing.on('error', reject)
        Readable.from(pieces).pipe(createGzip()).pipe(outgoing)
      })
    }
    const found = []
    let aborted = 0
    for (;;) {
      const from = found.length === 0 ? null : { bytes: found.at(-1).id }
      const before = found.length
      await new Promise((resolve, reject) => {
        const outgoing = send('/poll', { 'accept-encoding': 'gzip' })
        outgoing.on('error', (error) => (error.code === 'ECONNRESET' ? resolve() : reject(error)))
        outgoing.on('response', (answer) => {
          let text = ''
          let isOver = false
          const unpacked = answer.pipe(createGunzip())
          unpacked.on('error', () => resolve())
          answer.on('error', () => resolve())
          unpacked.on('end', () => resolve())
          unpacked.on('data', (chunk) => {
            if (isOver) return
            text += chunk
            for (;;) {
              const end = text.indexOf('}')
              if (end < 0) break
              found.push(JSON.parse(text.slice(text.indexOf('{'), end + 1)))
              text = text.slice(end + 1)
            }
            if (aborted < 3 && found.length > 100 * (aborted + 1)) {
              aborted++
              isOver = true
              outgoing.destroy()
              resolve()
            }
          })
        })
        outgoing.end(JSON.stringify({ startFrom: from, inclusive: false }))
      })
      if (found.length === before) break
    }
    const numberOf = (payload) => Number(Buffer.from(payload, 'base64').toString().split(' ')[1])
    const numbers = found.map(({ payload }) => numberOf(payload))
    console.log(JSON.stringify({ aborted, numbers }))
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: childEnvironment,
  })
  let output = ''
  child.stdout.on('data', (text: Buffer) => (output += text.toString()))
  child.stderr.on('data', (text: Buffer) => t.comment(text.toString()))
  await once(child, 'close')
  const { aborted, numbers } = JSON.parse(output) as { aborted: number; numbers: number[] }
  t.equal(aborted, 3)
  t.strictSame(
    numbers,
    Array.from({ length: 2000 }, (_, i) => i),
  )
  t.equal((await service.poll(target, { limit: 10_000 })).length, 2000)
  await close()
})
