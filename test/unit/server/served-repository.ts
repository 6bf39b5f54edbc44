/** A repository in memory with its indexes and its server, and requests of its principals. */
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { openSearch } from '../../../src/entries/repository-search.js'
import { RepositoryManager, type SearchIndexes } from '../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes, type Principal } from '../../../src/server/index.js'

/** What a request was answered. */
export interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

/** The server with all behind it. */
export interface ServedRepository {
  readonly manager: RepositoryManager
  readonly indexes: SearchIndexes
  readonly url: string
  /** Sends a request as a principal, whose token is `token-of-` and the name. */
  readonly as: (name: string, method: string, path: string, body?: unknown) => Promise<Answer>
  readonly close: () => Promise<void>
}

/** Starts it on a file system, which may hold what another one has left. */
export async function serveRepository(
  fileSystem: MemoryFileSystem,
  principals: readonly Principal[],
): Promise<ServedRepository> {
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  const search = await openSearch(manager, database)
  const { indexes } = search
  const server = await CellarServer.start([repositoryRoutes(manager, { indexes })], {
    port: 0,
    principals,
  })
  return {
    manager,
    indexes,
    url: server.url,
    as: async (name, method, path, body) => {
      const response = await fetch(`${server.url}/repository${path}`, {
        method,
        headers: {
          authorization: `Bearer token-of-${name}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
      })
      const text = await response.text()
      const json = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>
      return { status: response.status, json }
    },
    close: async () => {
      await server.close()
      await search.close()
      await manager.close()
      await database.close()
    },
  }
}
