/**
 * The contents of a version of a record type: fields, supertypes, strictness. A change of contents
 * makes a new version, one of the order of their parts does not.
 */
import { invalidArgument } from '../errors.js'
import type { FieldType } from './field-type.js'
import type { FieldEntry, RecordType, RecordTypeSettings, Supertype } from './record-type.js'
import { entryOf } from './rule-checks.js'
import type { SchemaCache } from './schema-cache.js'

/** The parts that a version of a record type has for itself. */
export type TypeContents = Pick<RecordType, 'fields' | 'supertypes' | 'isStrict'>

/**
 * The given parts of an update; all other parts stay as before. `ERR_FIELD_TYPE_NOT_FOUND`,
 * `ERR_RECORD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
 */
export function typeContents(
  types: SchemaCache,
  input: RecordTypeSettings,
  before?: RecordType,
): TypeContents {
  const entries = input.fields?.map((entry): FieldEntry => {
    const { name, field: id } = entry
    if (name === undefined && id === undefined) throw invalidArgument('a field needs a name')
    return entryOf(entry, id === undefined ? types.field(name!) : types.fieldById(id))
  })
  const supertypes = input.supertypes?.map(({ name, id, version }): Supertype => {
    if (name === undefined && id === undefined) throw invalidArgument('a supertype needs a name')
    const type =
      id === undefined ? types.recordType(name!, version) : types.recordTypeById(id, version)
    return { id: type.id, version: type.version }
  })
  return {
    fields: lastOf(entries, ({ field }) => field) ?? before?.fields ?? [],
    supertypes: lastOf(supertypes, ({ id }) => id) ?? before?.supertypes ?? [],
    isStrict: input.strict ?? before?.isStrict ?? false,
  }
}

/** The parts with the last value of each key, in the order of the first ones. */
function lastOf<T>(parts: readonly T[] | undefined, keyOf: (part: T) => string): T[] | undefined {
  return parts && [...new Map(parts.map((part) => [keyOf(part), part])).values()]
}

/** Whether contents are the same, in any order of their parts. */
export function sameContents(a: TypeContents, b: TypeContents): boolean {
  const form = ({ fields, supertypes, isStrict }: TypeContents): string => {
    const byId = [...fields].sort((x, y) => (x.field < y.field ? -1 : 1)).map(sortedKeys)
    const above = [...supertypes].sort((x, y) => (x.id < y.id ? -1 : 1)).map(sortedKeys)
    return JSON.stringify([byId, above, isStrict])
  }
  return form(a) === form(b)
}

function sortedKeys(value: object): unknown {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

/** The contents of a type with one of its supertypes in another version. */
export function pinnedTo(type: RecordType, pinned: Supertype): TypeContents {
  const { fields, supertypes, isStrict } = type
  const others = supertypes.map((each) => (each.id === pinned.id ? pinned : each))
  return { fields, supertypes: others, isStrict }
}

/** The fields that are unique in the first type and not in the second. */
export function uniqueBut(types: SchemaCache, type: RecordType, other: RecordType): FieldType[] {
  const others = new Set(types.ruledFields(other).unique.map(({ field }) => field))
  const own = types.ruledFields(type).unique.filter(({ field }) => !others.has(field))
  return own.map(({ field }) => types.fieldById(field))
}
