/** The search indexes as the command line has them: in tables of the database, with blob texts. */
import type { Database } from './index.js'
import {
  EmbeddedSearch,
  SearchIndexes,
  TextExtraction,
  type RepositoryManager,
} from './repository/index.js'

/** Open indexes, and what ends them with the thread that reads documents. */
export interface OpenSearch {
  readonly indexes: SearchIndexes
  readonly close: () => Promise<void>
}

/** Opens the indexes of a repository. Documents are read in a worker thread, with its limits. */
export async function openSearch(
  manager: RepositoryManager,
  database: Database,
): Promise<OpenSearch> {
  const extraction = new TextExtraction()
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
    extract: extraction.extract,
  })
  const close = async (): Promise<void> => {
    await indexes.close()
    await extraction.close()
  }
  return { indexes, close }
}
