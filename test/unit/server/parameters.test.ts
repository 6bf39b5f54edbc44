/**
 * Query parameters that an address does not have: refused by every route, and nothing changes.
 *
 * @runs long
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { MessagingService } from '../../../src/systems/messaging/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import { TransactionManager } from '../../../src/systems/transactions/index.js'
import {
  CellarServer,
  consolePage,
  databaseRoutes,
  messagingRoutes,
  repositoryRoutes,
  transactionRoutes,
} from '../../../src/server/index.js'

interface Described {
  readonly requestBody?: object
  readonly parameters?: readonly { readonly name: string; readonly required: boolean }[]
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

const topic = { namespace: 'n', topic: 't' }
const headers = { 'content-type': 'application/json' }

void t.test(
  'a parameter that an address does not have is refused, and changes nothing',
  async (t) => {
    const database = await Database.open('/d', {
      fileSystem: new MemoryFileSystem(),
      executor: 'inline',
    })
    const transactions = await TransactionManager.open(database)
    const messaging = await MessagingService.open(database, { transactions })
    const repository = await RepositoryManager.open(database)
    await messaging.createTopic(topic)
    const server = await CellarServer.start(
      [
        messagingRoutes(messaging),
        transactionRoutes(transactions),
        repositoryRoutes(repository),
        databaseRoutes(database, { verify: async () => ({}), inspect: async () => ({}) }),
        consolePage(database),
      ],
      { port: 0 },
    )
    t.teardown(async () => {
      await server.close()
      await repository.close()
      await messaging.close()
      await transactions.close()
      await database.close()
    })
    const openapi = await fetch(`${server.url}/openapi.json`)
    const { paths } = (await openapi.json()) as Description
    let routes = 0
    for (const [path, methods] of Object.entries(paths)) {
      if (path === '/health' || path === '/metrics') continue
      const place = path.replace('{topic}', 't').replace(/\{\w+\}/g, 'n')
      for (const [method, { parameters = [] }] of Object.entries(methods)) {
        if (method === 'parameters') continue
        const required = parameters.filter((each) => each.required).map(({ name }) => `${name}=x&`)
        for (const wrong of ['limt=1', '__proto__=1', 'limit.x=1', 'nsp.x=1']) {
          const url = `${server.url}${place}?${required.join('')}${wrong}`
          const body = method === 'get' || method === 'delete' ? {} : { body: '{}', headers }
          const answer = await fetch(url, { method: method.toUpperCase(), ...body })
          const told = await answer.text()
          t.match(
            told,
            /"code":"ERR_INVALID_ARGUMENT","message":"unknown parameter/,
            `${method} ${url}`,
          )
          t.equal(answer.status, 400)
        }
        routes++
      }
    }
    t.ok(routes > 80, `${routes} routes`)
    t.strictSame(await messaging.listTopics('n'), ['t'])
    t.equal(transactions.statistics().inProgress, 0)
    t.strictSame(repository.listRepositories(), ['default'])
    const ask = async (path: string): Promise<number> => (await fetch(server.url + path)).status
    t.equal(await ask('/health?at=1'), 200, 'probes may add a parameter')
    t.equal(
      await ask('/repository/schema/fieldType?ns.a=b&ns.c=d'),
      200,
      'all of a group are known',
    )
    t.equal(await ask('/repository/schema/fieldType?ns.a=b&ns.a=d'), 400)
    t.equal(await ask('/repository/schema/fieldType?ns=b'), 400)
  },
)
