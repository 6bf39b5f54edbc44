/**
 * The interface between an index of records and a search server: documents by key, an explicit
 * commit that makes changes visible, and queries in a subset of Lucene's language.
 *
 * The same change may be sent more than once, so every operation is idempotent.
 */
import {
  boolean,
  checkArray,
  checked,
  checkObject,
  declareOptions,
  integer,
  invalidArgument,
  list,
  required,
  shown,
  type OptionsOf,
} from '../../api/index.js'

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalidArgument(`${what} must be a text, got ${shown(value)}`)
}

const someText = required(checked<string>(textOf))

/** A text that may be empty. */
const anyText = required(
  checked((value: string, what) => (value === '' ? value : textOf(value, what))),
)

type FieldValues = Readonly<Record<string, readonly string[]>>

/** Copies the values of a document deeply, also of a field with the name `__proto__`. */
function copyOfFields(given: FieldValues, what: string): FieldValues {
  const fields = Object.entries(checkObject(given, what)).map(([name, values]) => {
    return [
      textOf(name, 'a field'),
      checkArray(values, name).map((each) => anyText.read(each, name)),
    ]
  })
  return Object.fromEntries(fields) as FieldValues
}

const documentOptions = declareOptions('a search document', {
  /** Unique in the index: table, record id and version tag. */
  key: someText,
  /** Values by field, in order, as text in the form of the field's kind. */
  fields: required(checked(copyOfFields)),
})

/** A document: the text of the fields of one record in one of its versions. */
export interface SearchDocument extends OptionsOf<typeof documentOptions> {}

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

/** The declaration of a record all of whose documents are removed. */
const recordOptions = declareOptions('a record', {
  /** Name of the record table. */
  table: someText,
  /** Text of the record's id. */
  id: someText,
})

/** A record, standing for all its documents. */
export interface RecordName extends OptionsOf<typeof recordOptions> {}

/** The declaration of {@link SearchChanges}. */
export const changesOptions = declareOptions('changes of a search index', {
  /** Each document replaces the one with the same key. */
  documents: list(required(checked((each: SearchDocument) => documentOptions.read(each)))),
  /** Keys of documents to remove; a key without a document is no error. */
  removedKeys: list(someText),
  /** Records all of whose documents are removed. */
  removedRecords: list(required(checked((each: RecordName) => recordOptions.read(each)))),
})

/** Changes that are sent together. Removals are applied first, then documents in order. */
export interface SearchChanges extends OptionsOf<typeof changesOptions> {}

/** A document that the backend can never accept, for instance for an invalid number. */
export interface RejectedDocument {
  /** Key of the document. */
  readonly key: string
  /** Why the document was rejected, for people. */
  readonly reason: string
}

const sortOptions = declareOptions('a sort of a search', {
  /** A field, or 'score'. */
  field: someText,
  /** Default false. */
  descending: boolean(false),
})

/** A sort order of the documents found. */
export interface SearchSort extends OptionsOf<typeof sortOptions> {}

/** The declaration of {@link SearchQuery}. */
export const searchOptions = declareOptions('a search', {
  /** A query in Lucene's language; `*:*` matches every document. */
  query: anyText,
  /** Further queries that must match and do not contribute to the score. */
  filters: list(anyText),
  /** Field of terms that name no field. */
  defaultField: checked<string>(textOf),
  /** Default: by descending score, then by key. A sort field must have one value per document. */
  sort: list(required(checked((order: SearchSort) => sortOptions.read(order)))),
  /** Number of documents to skip. Default 0. */
  offset: integer({ min: 0, default: 0 }),
  /** Maximum number of documents to return. Default 10. */
  limit: integer({ min: 0, default: 10 }),
})

/** A search. */
export interface SearchQuery extends OptionsOf<typeof searchOptions> {}

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
