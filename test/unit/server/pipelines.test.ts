/**
 * Requests that a client sends before it has the answers to the earlier ones.
 *
 * @runs long
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { CellarServer, type RequestMemory, type ServerSystem } from '../../../src/server/index.js'

/** A request for the address, with a body. */
function post(address: string, body: string): string {
  const type = 'content-type: application/json'
  const head = `POST ${address} HTTP/1.1\r\nhost: localhost\r\n${type}`
  return `${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function open() {
  let memory!: RequestMemory
  let answerFirst!: () => void
  let arrived = 0
  let closed = 0
  const system: ServerSystem = {
    name: 'plain',
    register: (app, context) => {
      memory = context.memory
      app.post('/:which', async (request, reply) => {
        arrived++
        reply.raw.once('close', () => closed++)
        if (request.url === '/first') await new Promise<void>((resolve) => (answerFirst = resolve))
        return { at: request.url }
      })
    },
  }
  const server = await CellarServer.start([system], { port: 0 })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const counts = () => ({ arrived, closed, bytes: memory.bytesUsed })
  return { server, socket, until, counts, answerFirst: () => answerFirst() }
}

void t.test('answers whose turn has not come end with their connection', async (t) => {
  const { server, socket, until, counts, answerFirst } = await open()
  const body = JSON.stringify('a'.repeat(10_000))
  socket.write(post('/first', body) + post('/second', body).repeat(20))
  await until(() => counts().arrived === 21)
  t.ok(counts().bytes >= 21 * 30_000, `${counts().bytes} bytes`)
  socket.destroy()
  await until(() => counts().closed >= 1)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame(counts(), { arrived: 21, closed: 21, bytes: 0 })
  answerFirst()
  const { status } = await fetch(`${server.url}/second`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
  })
  t.equal(status, 200)
  const page = await (await fetch(`${server.url}/metrics`)).text()
  t.match(page, /^cellar_http_requests_under_way 1$/m, 'the request for this page')
  await server.close()
})

void t.test('answers come in the order of their requests', async (t) => {
  const { server, socket, until, counts, answerFirst } = await open()
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  socket.write(post('/first', '{}') + post('/second', '{}') + post('/third', '{}'))
  await until(() => counts().arrived === 3)
  t.equal(text, '')
  answerFirst()
  await until(() => text.includes('/third'))
  t.match(text, /\/first[^]*\/second[^]*\/third/)
  await until(() => counts().closed === 3)
  t.equal(counts().bytes, 0)
  socket.destroy()
  await server.close()
})
