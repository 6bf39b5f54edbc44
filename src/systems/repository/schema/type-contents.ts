/**
 * The contents of a version of a record type: fields, supertypes, strictness. A change of contents
 * makes a new version, one of the order of their parts does not. The rules of fields are checked
 * when the type is written.
 */
import type { RE2JS } from 're2js'
import { invalidArgument, isRepositoryError } from '../errors.js'
import type {
  EntrySettings,
  FieldEntry,
  FieldRules,
  FieldType,
  RecordType,
  RecordTypeSettings,
  Supertype,
} from './types.js'
import type { SchemaCache } from './schema-cache.js'
import { requirePackage, shown } from '../../../api/index.js'

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
    const byId = [...fields].sort((x, y) => (x.field < y.field ? -1 : 1)).map(stable)
    const above = [...supertypes].sort((x, y) => (x.id < y.id ? -1 : 1)).map(stable)
    return JSON.stringify([byId, above, isStrict])
  }
  return form(a) === form(b)
}

/** The JSON of an object, the same in any order of its members. */
export function stable(value: object): string {
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The fields that are unique in the first type and not in the second. */
export function uniqueBut(types: SchemaCache, type: RecordType, other: RecordType): FieldType[] {
  const others = new Set(types.ruledFields(other).unique.map(({ field }) => field))
  const own = types.ruledFields(type).unique.filter(({ field }) => !others.has(field))
  return own.map(({ field }) => types.fieldById(field))
}

/**
 * The entry of a field in its stored form. `ERR_INVALID_ARGUMENT` for rules that do not fit the
 * field.
 */
export function entryOf(entry: EntrySettings, field: FieldType): FieldEntry {
  const { mandatory, unique } = entry
  const noRules = { name: undefined, field: undefined, mandatory: undefined }
  const all = Object.entries({ ...entry, ...noRules, unique: unique ? true : undefined })
  const rules = Object.fromEntries(all.filter(([, value]) => value !== undefined)) as FieldRules
  checkRules(rules, field)
  return { field: field.id, mandatory, ...rules }
}

function checkRules(rules: FieldRules, field: FieldType): void {
  const { min, max, pattern, values, unique, linkTarget } = rules
  const { type, name } = field
  const leaf = leafOf(field)
  const refuse = (problem: string): never => {
    throw invalidArgument(`${name} (${type.name}): ${problem}`)
  }
  const checkValue = (value: unknown, what: string): void => {
    try {
      leaf.fromJson(value)
    } catch (error) {
      if (!isRepositoryError(error)) throw error
      refuse(`${what} ${shown(value)} is no value of the field`)
    }
  }
  if (min !== undefined || max !== undefined) {
    if (leaf.compare === undefined) refuse('its values have no order, so no min and max')
    if (min !== undefined) checkValue(min, 'min')
    if (max !== undefined) checkValue(max, 'max')
    const compare = leaf.compare as (a: unknown, b: unknown) => number
    if (min !== undefined && max !== undefined) {
      if (compare(leaf.fromJson(min), leaf.fromJson(max)) > 0) refuse('min is above max')
    }
  }
  if (pattern !== undefined) {
    if (leaf.base !== 'STRING' && leaf.base !== 'URI') refuse('a pattern is for texts')
    try {
      compilePattern(pattern)
    } catch (cause) {
      refuse(`the pattern is no regular expression: ${(cause as Error).message}`)
    }
  }
  if (values !== undefined) {
    if (values.length === 0) refuse('no value is allowed')
    for (const value of values) checkValue(value, 'the allowed value')
  }
  if (unique === true && type.orderedBytes === undefined) {
    refuse('its values have no order, so they cannot be unique')
  }
  if (linkTarget !== undefined) {
    if (leaf.base !== 'LINK') refuse('linkTarget is for links')
    if (linkTarget === 'typed' && leaf.recordType === undefined) refuse('the link names no type')
  }
  if (rules.default !== undefined) {
    try {
      type.fromJson(rules.default)
    } catch (cause) {
      refuse(`the default does not fit: ${(cause as Error).message}`)
    }
  }
}

const patterns = new Map<string, RE2JS>()
const patternsMax = 1000

/**
 * Compiles an RE2 pattern, which matches in linear time. Throws the error of the RE2 package for an
 * invalid pattern.
 */
export function compilePattern(text: string): Pick<RE2JS, 'matches'> {
  let pattern = patterns.get(text)
  if (pattern === undefined) {
    const re2 = requirePackage<typeof import('re2js')>('re2js', 'the pattern of a field')
    pattern = re2.RE2JS.compile(text)
    if (patterns.size >= patternsMax) patterns.clear()
    patterns.set(text, pattern)
  }
  return pattern
}

/** The type of single values: the innermost element type of lists and paths. */
export function leafOf({ type }: Pick<FieldType, 'type'>): FieldType['type'] {
  let leaf = type
  while (leaf.element !== undefined) leaf = leaf.element
  return leaf
}
