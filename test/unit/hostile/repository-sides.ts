/**
 * The exports of `cellardb/repository` in two parts, for two tests with hostile values:
 * repository-search.test.ts calls these, repository.test.ts all the others.
 */

/** Blobs, search, subscriptions, maintenance, import, and rows for readers. */
export const searchSide: readonly string[] = [
  'EmbeddedSearch',
  'FileBlobStore',
  'RepositoryMaintenance',
  'S3BlobStore',
  'SearchIndexes',
  'SolrSearch',
  'TableBlobStore',
  'TextExtraction',
  'defaultFieldPatterns',
  'describeRow',
  'importRecords',
  'maintain',
  'parseQuery',
  'queryFields',
  'readXmlConfiguration',
  'reservedFields',
  'retryAll',
]

/** Methods of the repository manager that belong to the first part. */
export const searchSideOfManager: readonly string[] = [
  'manager.followLinks',
  'manager.removeSubscription',
  'manager.storedSubscriptions',
  'manager.subscribe',
]
