/** Formatters turn values into the texts of a document. */
import type { FieldType } from '../../schema/types.js'
import { leafOf } from '../../schema/type-contents.js'
import type { Blob } from '../../values/blob-value.js'
import type { EmbeddedRecord } from '../../values/nested-types.js'
import type { ValueType } from '../../values/value-type.js'
import type { Formatter, IndexValue } from './configuration.js'

/** Finds the field type of a field in an embedded record, by its name. */
export type FieldFinder = (name: string) => FieldType

/** Flattens a value: the elements of a list become values of their own. */
export function flattened(value: unknown, type: ValueType): IndexValue[] {
  if (type.base !== 'LIST') return [{ value, type }]
  return (value as readonly unknown[]).map((each) => ({ value: each, type: type.element! }))
}

/** The text of one value; '' if the value has no text form. */
export function textOf({ value, type }: IndexValue, find: FieldFinder): string {
  if (type.element !== undefined) {
    const element = type.element
    const parts = (value as readonly unknown[]).map((each) => {
      return textOf({ value: each, type: element }, find)
    })
    return type.base === 'PATH'
      ? parts.map((part) => `/${part}`).join('')
      : parts.filter((part) => part !== '').join(' ')
  }
  switch (type.base) {
    case 'RECORD':
      return Object.entries((value as EmbeddedRecord).fields)
        .map(([name, each]) => textOf({ value: each, type: find(name).type }, find))
        .filter((part) => part !== '')
        .join(' ')
    case 'DATE':
      return `${value as string}T00:00:00Z/DAY`
    case 'DATETIME':
      return (value as Date).toISOString()
    case 'BLOB':
      return (value as Blob).name ?? ''
    default: {
      const json = type.toJson(value)
      return typeof json === 'string' ? json : String(json)
    }
  }
}

/** `foo/bar` becomes `0/foo` and `1/foo/bar`. */
function facetsOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '')
  return parts.map((_, level) => `${level}/${parts.slice(0, level + 1).join('/')}`)
}

/** The JSON of a value; of a record its fields by local name, without embedded records. */
function jsonOf(value: unknown, type: ValueType, find: FieldFinder): unknown {
  if (type.element !== undefined) {
    return (value as readonly unknown[]).map((each) => jsonOf(each, type.element!, find))
  }
  if (type.base === 'RECORD') {
    const shown = Object.entries((value as EmbeddedRecord).fields).flatMap(([name, each]) => {
      const field = find(name)
      if (leafOf(field).base === 'RECORD') return []
      return [[name.slice(name.indexOf('}') + 1), jsonOf(each, field.type, find)] as const]
    })
    return Object.fromEntries(shown)
  }
  const json = type.toJson(value)
  return typeof json === 'bigint' ? String(json) : json
}

/** The built-in formatters, by their names and by the class names of the XML form. */
export function builtInFormatters(find: FieldFinder): ReadonlyMap<string, Formatter> {
  const text: Formatter = (values) => {
    return values.map((value) => textOf(value, find)).filter((each) => each !== '')
  }
  const first: Formatter = (values) => text(values.slice(0, 1))
  const json: Formatter = (values) => {
    return values.map(({ value, type }) => JSON.stringify(jsonOf(value, type, find)))
  }
  const facets: Formatter = (values) => [...new Set(text(values).flatMap(facetsOf))]
  const named: readonly (readonly [string, string, Formatter])[] = [
    ['default', 'DefaultFormatter', text],
    ['firstValue', 'FirstValueFormatter', first],
    ['shallowJson', 'ShallowJsonFormatter', json],
    ['hierarchicalFacetPrefix', 'HierarchicalFacetPrefixFormatter', facets],
  ]
  return new Map(
    named.flatMap(([name, className, formatter]) => [
      [name, formatter],
      [className, formatter],
    ]),
  )
}
