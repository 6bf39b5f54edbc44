/** Checks the arguments of search backends. All checks throw `ERR_INVALID_ARGUMENT`. */
import { checkArray, checkObject, OptionNames, readArguments, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
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
const queryNames = new OptionNames<SearchQuery>('a search', {
  query: true,
  filters: true,
  defaultField: true,
  sort: true,
  offset: true,
  limit: true,
})
const sortNames = new OptionNames<SearchSort>('a sort of a search', {
  field: true,
  descending: true,
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

interface CheckedQuery {
  query: string
  filters: string[]
  defaultField: string | undefined
  sort: SearchSort[]
  offset: number
  limit: number
}

/** Checks a query and fills in the defaults. */
export function checkedQuery(query: SearchQuery): CheckedQuery {
  return readArguments(() => readQuery(queryNames.copy(query)))
}

function readQuery(given: SearchQuery): CheckedQuery {
  const { query, filters = [], defaultField, sort = [], offset = 0, limit = 10 } = given
  for (const [what, value] of Object.entries({ offset, limit })) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw wrong(value, what, 'a whole number, 0 or more')
  }
  if (defaultField !== undefined) textOf(defaultField, 'defaultField')
  return {
    query: textOf(query, 'query', true),
    filters: checkArray(filters, 'filters').map((filter) => textOf(filter, 'a filter', true)),
    defaultField,
    sort: checkArray(sort, 'sort').map((order) => {
      const { field, descending = false } = sortNames.copy(order)
      if (typeof descending !== 'boolean') throw wrong(descending, 'descending', 'true or false')
      return { field: textOf(field, 'a field'), descending }
    }),
    offset,
    limit,
  }
}

function textOf(value: unknown, what: string, isEmptyAllowed = false): string {
  if (typeof value === 'string' && (isEmptyAllowed || value !== '')) return value
  throw wrong(value, what, 'a text')
}

function wrong(value: unknown, what: string, expected: string): Error {
  return invalidArgument(`${what} must be ${expected}, got ${shown(value)}`)
}
