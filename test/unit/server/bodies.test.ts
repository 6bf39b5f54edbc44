/**
 * Bodies that arrive in pieces of any size.
 *
 * @runs long
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { CellarServer, type RequestMemory } from '../../../src/server/index.js'
import { BodyPieces } from '../../../src/server/body-pieces.js'
import { seededRandom } from '../../../src/base/random.js'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that the process holds after a collection. */
function held(): number {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

void t.test('a body in chunks of one byte takes no more memory than it counts', async (t) => {
  let memory!: RequestMemory
  let received = ''
  const server = await CellarServer.start(
    [
      {
        name: 'plain',
        register: (app, context) => {
          memory = context.memory
          app.post('/plain', async (request) => {
            received = String(request.body)
            return {}
          })
        },
      },
    ],
    { port: 0 },
  )
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  const head = 'POST /plain HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n1\r\n"\r\n`)
  const [pieces, times] = ['1\r\na\r\n1\r\nb\r\n'.repeat(5000), 20]
  const before = held()
  for (let i = 0; i < times; i++) socket.write(pieces)
  const bytes = 1 + times * 10_000
  while (memory.bytesUsed < 3 * bytes) await new Promise((resolve) => setTimeout(resolve, 5))
  const more = held() - before
  t.ok(more < 8 << 20, `${more} bytes are held for a body of ${bytes}`)
  socket.write('1\r\n"\r\n0\r\n\r\n')
  t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1.1 200/)
  t.equal(received, `"${'ab'.repeat(100_000)}"`)
  t.equal(memory.bytesUsed, 0)
  socket.destroy()
  await server.close()
})

void t.test('pieces of random sizes are the bytes in their order', (t) => {
  const pieces = new BodyPieces()
  const random = seededRandom(20)
  const below = (count: number): number => Math.floor(random() * count)
  for (let round = 0; round < 200; round++) {
    const sizes = [0, 1, 2, 100, 5000, 16_383, 16_384, 16_385, 60_000]
    const parts = Array.from({ length: below(12) }, () => {
      return Buffer.alloc(sizes[below(sizes.length)], below(256))
    })
    for (const part of parts) pieces.add(part)
    const wanted = Buffer.concat(parts)
    t.equal(pieces.bytes, wanted.length)
    t.ok(pieces.take().equals(wanted), `round ${round}`)
    t.equal(pieces.bytes, 0)
  }
  const only = Buffer.from('only')
  pieces.add(only)
  t.equal(pieces.take(), only, 'one piece is not copied')
  t.end()
})
