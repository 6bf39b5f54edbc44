/**
 * A server that speaks HTTPS: its certificate, and connections without a handshake.
 *
 * @runs long
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarServer, engineMetrics, type ServerSystem } from '../../../src/server/index.js'

void t.test('a server with a certificate speaks HTTPS alone', async (t) => {
  const { certificate, key } = selfSigned(t)
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const tls = { certificate, key }
  const server = await CellarServer.start([engineMetrics(() => database)], { port: 0, tls })
  t.teardown(async () => {
    await server.close()
    await database.close()
  })
  t.match(server.url, /^https:/)
  const { port, hostname } = new URL(server.url)
  const status = await new Promise((resolve, reject) => {
    const options = {
      host: hostname,
      port,
      path: '/health',
      ca: certificate,
      servername: 'localhost',
    }
    get(options, (answer) => resolve(answer.resume().statusCode)).once('error', reject)
  })
  t.equal(status, 200)
  await t.rejects(fetch(server.url.replace('https:', 'http:')), 'and no HTTP')
  for (const wrong of [
    { certificate, key: 'x' },
    { certificate, key: '' },
    { certificate: '', key },
    { certificate: '', key: '' },
    { certificate },
    { certificate, key, more: 1 },
  ]) {
    const start = CellarServer.start([], { port: 0, tls: wrong as never })
    await t.rejects(start, { code: 'ERR_INVALID_ARGUMENT' })
  }
})

/** The first bytes of a handshake, which never goes on. */
const begunHandshake = Buffer.from([22, 3, 1, 1, 0, 1, 0])

void t.test('a server ends beside connections without a handshake', async (t) => {
  const tls = selfSigned(t)
  let arrived!: () => void
  let answer!: () => void
  const system: ServerSystem = {
    name: 'slow',
    register: (app) => {
      app.get('/slow', async () => {
        arrived()
        await new Promise<void>((resolve) => (answer = resolve))
        return {}
      })
    },
  }
  const server = await CellarServer.start([system], { port: 0, tls, closeMilliseconds: 500 })
  const port = Number(new URL(server.url).port)
  const silent = connect(port, '127.0.0.1')
  const begun = connect(port, '127.0.0.1')
  await Promise.all([once(silent, 'connect'), once(begun, 'connect')])
  const closed = [silent, begun].map((socket: Socket) => once(socket.resume(), 'close'))
  for (const socket of [silent, begun]) socket.on('error', () => undefined)
  begun.write(begunHandshake)
  const reader = connectTls({ port, ca: tls.certificate, servername: 'localhost' })
  const handled = new Promise<void>((resolve) => (arrived = resolve))
  reader.write('GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await handled
  const start = performance.now()
  const end = server.close()
  const head = once(reader, 'data') as Promise<[Buffer]>
  answer()
  t.match(String((await head)[0]), /^HTTP\/1.1 200/, 'the request under way is answered')
  await end
  await Promise.all(closed)
  t.ok(performance.now() - start < 10_000, `${performance.now() - start} ms`)
  t.match(server.url, /^https:/, 'the address stays')
})

void t.test('a handshake has the time of a head', async (t) => {
  const tls = selfSigned(t)
  const server = await CellarServer.start([], { port: 0, tls, bodyMilliseconds: 200 })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(begunHandshake)
  const start = performance.now()
  await once(socket.resume(), 'close')
  t.ok(performance.now() - start < 10_000)
  await server.close()
})

/** A certificate for localhost, made by openssl. */
function selfSigned(t: Test): { readonly certificate: string; readonly key: string } {
  const directory = t.testdir()
  const [keyFile, file] = ['key.pem', 'certificate.pem'].map((name) => join(directory, name))
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = ['-nodes', '-days', '2', '-keyout', keyFile, '-out', file]
  execFileSync('openssl', [...words, ...names, ...made], { stdio: 'ignore' })
  return { certificate: readFileSync(file, 'utf8'), key: readFileSync(keyFile, 'utf8') }
}
