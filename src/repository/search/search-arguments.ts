/** Checks of what callers give to a search backend. All throw `ERR_INVALID_ARGUMENT`. */
import { OptionNames, shown } from '../../api/index.js'
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

/** Changes with copies of everything. */
export function checkedChanges(changes: SearchChanges): {
  documents: SearchDocument[]
  removedKeys: string[]
  removedRecords: { table: string; id: string }[]
} {
  const { documents = [], removedKeys = [], removedRecords = [] } = changesNames.check(changes)
  return {
    documents: listOf(documents, 'documents').map(checkedDocument),
    removedKeys: listOf(removedKeys, 'removedKeys').map((key) => textOf(key, 'a key')),
    removedRecords: listOf(removedRecords, 'removedRecords').map((record) => {
      if (typeof record !== 'object' || record === null)
        throw wrong(record, 'a record', 'an object')
      return { table: textOf(record.table, 'a table'), id: textOf(record.id, 'an id') }
    }),
  }
}

function checkedDocument(document: SearchDocument): SearchDocument {
  documentNames.check(document)
  const key = textOf(document.key, 'a key')
  const { fields } = document
  if (typeof fields !== 'object' || fields === null) throw wrong(fields, 'fields', 'an object')
  const copy = Object.create(null) as Record<string, readonly string[]>
  for (const [name, values] of Object.entries(fields)) {
    copy[textOf(name, 'a field')] = listOf(values, name).map((value) => textOf(value, name, true))
  }
  return { key, fields: copy }
}

/** A query with its defaults. */
export function checkedQuery(query: SearchQuery): {
  query: string
  filters: string[]
  defaultField: string | undefined
  sort: SearchSort[]
  offset: number
  limit: number
} {
  queryNames.check(query)
  const { filters = [], defaultField, sort = [], offset = 0, limit = 10 } = query
  for (const [what, value] of Object.entries({ offset, limit })) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw wrong(value, what, 'a whole number, 0 or more')
  }
  if (defaultField !== undefined) textOf(defaultField, 'defaultField')
  return {
    query: textOf(query.query, 'query', true),
    filters: listOf(filters, 'filters').map((filter) => textOf(filter, 'a filter', true)),
    defaultField,
    sort: listOf(sort, 'sort').map((order) => {
      const { field, descending = false } = sortNames.check(order)
      if (typeof descending !== 'boolean') throw wrong(descending, 'descending', 'true or false')
      return { field: textOf(field, 'a field'), descending }
    }),
    offset,
    limit,
  }
}

function listOf<T>(value: readonly T[], what: string): readonly T[] {
  if (Array.isArray(value)) return value as readonly T[]
  throw wrong(value, what, 'a list')
}

function textOf(value: unknown, what: string, isEmptyAllowed = false): string {
  if (typeof value === 'string' && (isEmptyAllowed || value !== '')) return value
  throw wrong(value, what, 'a text')
}

function wrong(value: unknown, what: string, expected: string): Error {
  return invalidArgument(`${what} must be ${expected}, got ${shown(value)}`)
}
