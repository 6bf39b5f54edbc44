/** Checks the rules of the fields of a record type when the type is written. */
import { requirePackage, shown } from '../../../api/index.js'
import { invalidArgument, isRepositoryError } from '../errors.js'
import type { FieldType } from './field-type.js'
import type { EntrySettings, FieldEntry, FieldRules } from './record-type.js'

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

/** A compiled pattern. Matching takes linear time for every pattern and text. */
export interface Pattern {
  matches(text: string): boolean
}

const patterns = new Map<string, Pattern>()
const patternsMax = 1000

/** Compiles an RE2 pattern. Throws the error of the RE2 package for an invalid pattern. */
export function compilePattern(text: string): Pattern {
  let pattern = patterns.get(text)
  if (pattern === undefined) {
    const { RE2JS } = requirePackage<typeof import('re2js')>('re2js', 'the pattern of a field')
    const compiled = RE2JS.compile(text)
    pattern = { matches: (value) => compiled.matches(value) }
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
