/**
 * What an index of records needs of a search server: documents by key, an explicit moment at which
 * changes become visible, and queries in a subset of Lucene's language.
 *
 * A backend may be told of the same document more than once, so every operation is idempotent.
 */

/** A document: the text of the fields of one record in one of its versions. */
export interface SearchDocument {
  /** Unique in the index: table, record id and version tag. */
  readonly key: string
  /** Values by field, in their order, as text in the form of the field's kind. */
  readonly fields: Readonly<Record<string, readonly string[]>>
}

/** Names of the fields that every document of a record has. */
export const reservedFields = {
  /** Key of the document. */
  key: 'lily.key',
  /** Text of the record's id. */
  id: 'lily.id',
  /** Name of the record table. */
  table: 'lily.table',
  /** Local name of the version tag. */
  versionTag: 'lily.vtag',
  /** Id of the field type of the version tag. */
  versionTagId: 'lily.vtagId',
  /** Number of the version. */
  version: 'lily.version',
} as const

/** Changes that are sent together. Removals come first, then documents in their order. */
export interface SearchChanges {
  /** Each replaces the document of the same key. */
  readonly documents?: readonly SearchDocument[] | undefined
  /** Keys of documents to remove; one that does not exist is no error. */
  readonly removedKeys?: readonly string[] | undefined
  /** Records all of whose documents are removed. */
  readonly removedRecords?:
    | readonly {
        /** Name of the record table. */
        readonly table: string
        /** Text of the record's id. */
        readonly id: string
      }[]
    | undefined
}

/** A document that the backend will never take, for instance a number that is none. */
export interface RejectedDocument {
  /** Key of the document. */
  readonly key: string
  /** Why it can never be taken, for people. */
  readonly reason: string
}

/** A search. */
export interface SearchQuery {
  /** A query in Lucene's language; `*:*` finds everything. */
  readonly query: string
  /** Further queries that must hold and do not count for the score. */
  readonly filters?: readonly string[] | undefined
  /** Field of terms that name none. */
  readonly defaultField?: string | undefined
  /** Default: by falling score, then by key. A field must have one value a document. */
  readonly sort?: readonly SearchSort[] | undefined
  /** Documents that are left out at the beginning. Default 0. */
  readonly offset?: number | undefined
  /** Documents that are returned. Default 10. */
  readonly limit?: number | undefined
}

/** An order of the documents found. */
export interface SearchSort {
  /** A field, or 'score'. */
  readonly field: string
  /** Default false. */
  readonly descending?: boolean | undefined
}

/** A document that was found. */
export interface SearchHit extends SearchDocument {
  /** How well the document matches, above 0; comparable within one search. */
  readonly score: number
}

/** What a search found. */
export interface SearchResult {
  /** All documents found, not only those returned. */
  readonly total: number
  /** The documents from `offset` on, at most `limit`, in the order of the search. */
  readonly hits: readonly SearchHit[]
}

/** A search server or an embedded index. */
export interface SearchBackend {
  /**
   * Takes changes; they may be invisible until `commit`. Documents that can never be taken are
   * returned and the others are kept. Any other failure rejects, and the changes are sent again.
   */
  update(changes: SearchChanges): Promise<RejectedDocument[]>
  /** Makes all changes visible and lasting. */
  commit(): Promise<void>
  /** Searches what was committed. A query with an error rejects with `ERR_INVALID_ARGUMENT`. */
  search(query: SearchQuery): Promise<SearchResult>
  /** Removes all documents, visible at once. */
  clear(): Promise<void>
  /** Lets go of everything; changes since the last `commit` may be lost. */
  close(): Promise<void>
}
