/** Addresses of the server: where it listens, and what a request may name. */
import dns from 'node:dns'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { CellarServer } from '../../../src/server/index.js'

void t.test('localhost is one address, under all limits of the server', async (t) => {
  // As on a machine whose localhost has both addresses.
  const { lookup } = dns
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
  const known = (name: string, options: object, done: (error: null, all: object) => void): void => {
    const isAsked = name === 'localhost' && 'all' in options
    if (isAsked) process.nextTick(done, null, both)
    else Reflect.apply(lookup, dns, [name, options, done])
  }
  t.teardown(() => (dns.lookup = lookup))
  dns.lookup = known as typeof lookup
  const server = await CellarServer.start([], { host: 'localhost', port: 0 })
  t.teardown(() => server.close())
  const { hostname, port } = new URL(server.url)
  t.equal(hostname, '127.0.0.1')
  const socket = connect(Number(port), '::1')
  socket.once('connect', () => socket.destroy(new Error('another server listens')))
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  t.ok(['ECONNREFUSED', 'EADDRNOTAVAIL', 'ENETUNREACH'].includes(error.code!), error.message)
  t.equal((await fetch(`${server.url}/health`)).status, 200)
})
