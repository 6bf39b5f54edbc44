/** Opens the search indexes of the command line: with blob texts, as configured. */
import type { Database } from '../table/database.js'
import {
  EmbeddedSearch,
  SearchIndexes,
  TextExtraction,
  type RepositoryManager,
} from '../systems/repository/index.js'
import type { CellarConfiguration } from '../server/configuration.js'

/** Open indexes; `close` also ends the threads that extract text. */
export interface OpenSearch {
  readonly indexes: SearchIndexes
  readonly close: () => Promise<void>
}

/**
 * Opens the indexes of a repository: in tables of the database unless another search server is
 * configured. Worker threads extract the text of documents, within the limits.
 */
export async function openSearch(
  manager: RepositoryManager,
  database: Database,
  { indexes: options = {}, extraction: limits = {} }: CellarConfiguration = {},
): Promise<OpenSearch> {
  const extraction = new TextExtraction(limits)
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
    extract: extraction.extract,
    ...options,
  })
  const close = async (): Promise<void> => {
    await indexes.close()
    await extraction.close()
  }
  return { indexes, close }
}
