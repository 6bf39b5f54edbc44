/**
 * The interface between an index of records and a search server: documents by key, an explicit
 * commit that makes changes visible, and queries in a subset of Lucene's language.
 *
 * The same change may be sent more than once, so every operation is idempotent.
 */
import type { OptionsOf } from '../../api/index.js'
import type { searchOptions, sortOptions } from './search-arguments.js'

/** A document: the text of the fields of one record in one of its versions. */
export interface SearchDocument {
  /** Unique in the index: table, record id and version tag. */
  readonly key: string
  /** Values by field, in order, as text in the form of the field's kind. */
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

/** Changes that are sent together. Removals are applied first, then documents in order. */
export interface SearchChanges {
  /** Each document replaces the one with the same key. */
  readonly documents?: readonly SearchDocument[] | undefined
  /** Keys of documents to remove; a key without a document is no error. */
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

/** A document that the backend can never accept, for instance for an invalid number. */
export interface RejectedDocument {
  /** Key of the document. */
  readonly key: string
  /** Why the document was rejected, for people. */
  readonly reason: string
}

/** A search. */
export interface SearchQuery extends OptionsOf<typeof searchOptions> {
  /** A query in Lucene's language; `*:*` matches every document. */
  readonly query: string
}

/** A sort order of the documents found. */
export interface SearchSort extends OptionsOf<typeof sortOptions> {
  /** A field, or 'score'. */
  readonly field: string
}

/** A document that was found. */
export interface SearchHit extends SearchDocument {
  /** How well the document matches, above 0; comparable within one search. */
  readonly score: number
}

/** The result of a search. */
export interface SearchResult {
  /** Number of all documents found, not only of those returned. */
  readonly total: number
  /** The documents from `offset` on, at most `limit`, in the order of the query. */
  readonly hits: readonly SearchHit[]
}

/** A search server or an embedded index. */
export interface SearchBackend {
  /**
   * Applies changes, which may stay invisible until `commit`. Returns the documents that can never
   * be accepted; the others are kept. After any other failure the call rejects, and the caller
   * sends the changes again.
   */
  update(changes: SearchChanges): Promise<RejectedDocument[]>
  /** Makes all changes visible and durable. */
  commit(): Promise<void>
  /** Searches the committed documents. A malformed query rejects with `ERR_INVALID_ARGUMENT`. */
  search(query: SearchQuery): Promise<SearchResult>
  /** Removes all documents; the removal is visible at once. */
  clear(): Promise<void>
  /** Releases all resources; changes since the last `commit` may be lost. */
  close(): Promise<void>
}
