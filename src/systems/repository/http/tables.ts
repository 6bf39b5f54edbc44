/** Routes of repositories and record tables. */
import { repositoryError } from '../errors.js'
import { objectOf, textOf } from '../json/json-shapes.js'
import { invalidArgument } from '../../../api/index.js'
import type { Call } from './call.js'
import { changing, route, schemas, type Route } from './declarations.js'

const changes: Partial<Route> = { needs: 'tables' }
const named: Partial<Route> = { ...changing, ...changes, body: schemas.named }

/** Routes of tables, below the address of a repository. */
export const tableRoutes: readonly Route[] = [
  route('get /table', 'list tables', {}, listTables),
  route('post /table', 'create table', named, async (call) => {
    const name = nameOf(call)
    await call.manager.repository(call.repository).createTable(name)
    return { name }
  }),
  route('delete /table/:name', 'drop table', changes, (call) => {
    return call.manager.repository(call.repository).dropTable(call.parameter('name'))
  }),
]

/** Routes of repositories. */
export const repositoryListRoutes: readonly Route[] = [
  route('get /repositories', 'list repositories', {}, (call) => {
    return knownRepositories(call).map((name) => ({ name }))
  }),
  route('post /repositories', 'create repository', named, async (call) => {
    const { name } = await call.manager.createRepository(nameOf(call))
    return { name }
  }),
  route('delete /repositories/:name', 'delete repository', changes, (call) => {
    return call.manager.deleteRepository(call.parameter('name'))
  }),
]

const splitNames = ['splitKeys', 'numRegions', 'keyPrefix']

function nameOf(call: Call): string {
  const body = objectOf(call.json, 'the body')
  const split = splitNames.find((name) => body[name] !== undefined)
  if (split !== undefined) {
    throw invalidArgument(`${split}: a table of one process is not split into regions`)
  }
  return textOf(objectOf(body, 'the body', ['name'])['name'], 'name')
}

/** Whether a table is visible to a principal: it reads its records, or may make and drop tables. */
function mayKnow(call: Call, repository: string, table: string): boolean {
  const { readsRecords } = call.accessTo(table, repository)
  return readsRecords || call.principal.changeTables === true
}

/** GET of the record tables of a repository that the principal may read. */
function listTables(call: Call): unknown {
  const { manager, repository } = call
  if (!knownRepositories(call).includes(repository)) {
    // A hidden repository and a missing one have the same answer.
    throw repositoryError('repositoryNotFound', `there is no repository ${repository}`)
  }
  const tables = manager.repository(repository).listTables()
  return tables.filter((name) => mayKnow(call, repository, name)).map((name) => ({ name }))
}

function knownRepositories(call: Call): string[] {
  const { manager } = call
  return manager.listRepositories().filter((repository) => {
    const tables = manager.repository(repository).listTables()
    return tables.some((table) => mayKnow(call, repository, table))
  })
}
