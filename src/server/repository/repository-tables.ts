/** Routes of repositories and record tables. */
import type { FastifyReply } from 'fastify'
import { RepositoryError, RepositoryErrorCode } from '../../systems/repository/index.js'
import { objectOf, textOf } from '../../systems/repository/json/json-shapes.js'
import { forbidden } from '../http/access.js'
import { invalidArgument } from '../http/http-errors.js'
import type { Call } from './repository-call.js'

const splitNames = ['splitKeys', 'numRegions', 'keyPrefix']

function checkChanges({ principal }: Call): void {
  if (principal.administrator === true || principal.changeTables === true) return
  throw forbidden('tables cannot be changed')
}

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
export async function listTables(call: Call): Promise<unknown> {
  const { manager, repository } = call
  if (!knownRepositories(call).includes(repository)) {
    // A hidden repository and a missing one have the same answer.
    const message = `there is no repository ${repository}`
    throw new RepositoryError(RepositoryErrorCode.repositoryNotFound, message)
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

/** POST of a record table. */
export async function createTable(call: Call): Promise<FastifyReply> {
  checkChanges(call)
  const name = nameOf(call)
  await call.manager.repository(call.repository).createTable(name)
  return call.reply.code(200).send({ name })
}

/** DELETE of a record table. */
export async function dropTable(call: Call): Promise<FastifyReply> {
  checkChanges(call)
  await call.manager.repository(call.repository).dropTable(call.parameter('name'))
  return call.reply.code(200).send()
}

/** GET of the repositories with a table that the principal may read. */
export async function listRepositories(call: Call): Promise<unknown> {
  return knownRepositories(call).map((name) => ({ name }))
}

/** POST of a repository. */
export async function createRepository(call: Call): Promise<FastifyReply> {
  checkChanges(call)
  const { name } = await call.manager.createRepository(nameOf(call))
  return call.reply.code(200).send({ name })
}

/** DELETE of a repository. */
export async function deleteRepository(call: Call): Promise<FastifyReply> {
  checkChanges(call)
  await call.manager.deleteRepository(call.parameter('name'))
  return call.reply.code(200).send()
}
