/**
 * Every route of the repository is behind the server's guards, uploads and scans among them.
 *
 * @runs long
 */
import { request } from 'node:http'
import t from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { serveRepository } from './served-repository.js'

type Headers = Readonly<Record<string, string>>

interface Route {
  readonly method: string
  readonly path: string
}

async function statusOf(url: string, { method, path }: Route, headers: Headers): Promise<number> {
  const body = method === 'GET' || method === 'DELETE' ? '' : '{"name":"x","action":"create"}'
  return new Promise((resolve, reject) => {
    const options = { method, headers: { 'content-length': Buffer.byteLength(body), ...headers } }
    const sent = request(`${url}${path}`, options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

void t.test('pages of others reach no route, and nothing is written', async (t) => {
  const root = { name: 'root', token: 'token-of-root', administrator: true }
  const { url, manager, close } = await serveRepository(new MemoryFileSystem(), [root])
  await manager.types.createFieldType({ name: '{n}title' })
  await manager.types.createRecordType({ name: '{n}page', fields: [{ name: '{n}title' }] })
  const fields = { '{n}title': 'x' }
  await manager.repository().table().create({ id: 'USER.x', type: '{n}page', fields })
  const token = { authorization: 'Bearer token-of-root' }
  const json = { 'content-type': 'application/json' }
  const { paths } = (await (await fetch(`${url}/openapi.json`, { headers: token })).json()) as {
    paths: Record<string, object>
  }
  const routes = Object.entries(paths).flatMap(([path, operations]): Route[] => {
    if (!path.startsWith('/repository')) return []
    const methods = Object.keys(operations).filter((name) => name !== 'parameters')
    const address = path.replace('{id}', 'USER.x').replace(/\{\w+\}/g, 'x')
    return methods.map((method) => ({ method: method.toUpperCase(), path: address }))
  })
  t.ok(routes.length > 80)
  const refused = async (what: string, headers: Headers, statuses: number[]): Promise<void> => {
    const wrong: string[] = []
    for (const route of routes) {
      const status = await statusOf(url, route, headers)
      if (!statuses.includes(status)) wrong.push(`${route.method} ${route.path}: ${status}`)
    }
    t.same(wrong, [], what)
  }
  await refused('another Host', { ...token, ...json, host: 'evil.example' }, [403, 421])
  await refused('another Origin', { ...token, ...json, origin: 'https://evil.example' }, [403])
  await refused('another site', { ...token, ...json, 'sec-fetch-site': 'cross-site' }, [403])
  await refused('no token', json, [401])
  await refused('a wrong token', { ...json, authorization: 'Bearer token-of-ro' }, [401])
  // What a form can send without asking: only uploads take any content type.
  const plain = { ...token, 'content-type': 'text/plain' }
  const taken: string[] = []
  for (const route of routes.filter(({ method }) => method === 'PUT' || method === 'POST')) {
    const status = await statusOf(url, route, plain)
    if (status !== 415 && !route.path.endsWith('/blob')) taken.push(`${route.path}: ${status}`)
  }
  t.same(taken, [], 'a body that is no JSON')
  t.same((await manager.repository().table().read('USER.x')).version, undefined)
  t.same(manager.listRepositories(), ['default'])
  t.same(manager.repository().listTables(), ['record'])
  await close()
})
