/** Checks the arguments of search backends. All checks throw `ERR_INVALID_ARGUMENT`. */
import {
  boolean,
  checkArray,
  checked,
  checkObject,
  declareOptions,
  integer,
  invalidArgument,
  list,
  OptionNames,
  readArguments,
  shown,
  type Option,
  type SettingsOf,
} from '../../api/index.js'
import type { SearchChanges, SearchDocument, SearchQuery, SearchSort } from './search-backend.js'

const changesNames = new OptionNames<SearchChanges>('changes of a search index', {
  documents: true,
  removedKeys: true,
  removedRecords: true,
})
const documentNames = new OptionNames<SearchDocument>('a search document', {
  key: true,
  fields: true,
})

/** A text that must be given. */
const someText: Option<string, string> = { read: (value, name) => textOf(value, name) }

/** A text that must be given, and may be empty. */
const anyText: Option<string, string> = { read: (value, name) => textOf(value, name, true) }

/** The declaration of {@link SearchSort}. */
export const sortOptions = declareOptions('a sort of a search', {
  field: someText,
  /** Default false. */
  descending: boolean(false),
})

/** The declaration of {@link SearchQuery}. */
export const searchOptions = declareOptions('a search', {
  query: anyText,
  /** Further queries that must match and do not contribute to the score. */
  filters: list(anyText),
  /** Field of terms that name no field. */
  defaultField: checked<string>(textOf),
  /** Default: by descending score, then by key. A sort field must have one value per document. */
  sort: list<SearchSort, SearchSort>({ read: (order) => sortOptions.read(order as SearchSort) }),
  /** Number of documents to skip. Default 0. */
  offset: integer({ min: 0, default: 0 }),
  /** Maximum number of documents to return. Default 10. */
  limit: integer({ min: 0, default: 10 }),
})

interface Changes {
  documents: SearchDocument[]
  removedKeys: string[]
  removedRecords: { table: string; id: string }[]
}

/** Checks changes and copies them deeply. */
export function checkedChanges(changes: SearchChanges): Changes {
  return readArguments(() => readChanges(changes))
}

function readChanges(changes: SearchChanges): Changes {
  const { documents = [], removedKeys = [], removedRecords = [] } = changesNames.copy(changes)
  return {
    documents: checkArray(documents, 'documents').map(checkedDocument),
    removedKeys: checkArray(removedKeys, 'removedKeys').map((key) => textOf(key, 'a key')),
    removedRecords: checkArray(removedRecords, 'removedRecords').map((record) => {
      const { table, id } = checkObject(record, 'a record')
      return { table: textOf(table, 'a table'), id: textOf(id, 'an id') }
    }),
  }
}

function checkedDocument(document: SearchDocument): SearchDocument {
  const { key: given, fields } = documentNames.copy(document)
  const key = textOf(given, 'a key')
  checkObject(fields, 'fields')
  const copy = Object.create(null) as Record<string, readonly string[]>
  for (const [name, values] of Object.entries(fields)) {
    copy[textOf(name, 'a field')] = checkArray(values, name).map((value) =>
      textOf(value, name, true),
    )
  }
  return { key, fields: copy }
}

/** Checks a query and fills in the defaults. */
export function checkedQuery(query: SearchQuery): SettingsOf<typeof searchOptions> {
  return searchOptions.read(query)
}

function textOf(value: unknown, what: string, isEmptyAllowed = false): string {
  if (typeof value === 'string' && (isEmptyAllowed || value !== '')) return value
  throw invalidArgument(`${what} must be a text, got ${shown(value)}`)
}
