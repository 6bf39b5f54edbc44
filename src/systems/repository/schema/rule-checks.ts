/** Checks the rules of the fields of a record type when the type is written. */
import { OptionNames, readArguments, requirePackage, shown } from '../../../api/index.js'
import { invalidArgument, RepositoryError } from '../errors.js'
import type { FieldType } from './field-type.js'
import type { FieldEntry, FieldEntryInput, FieldRules } from './record-type.js'

const names = new OptionNames<FieldEntryInput>('a field of a record type', {
  name: true,
  field: true,
  mandatory: true,
  default: true,
  min: true,
  max: true,
  pattern: true,
  values: true,
  unique: true,
  linkTarget: true,
})

/** Checks the names of the properties, and copies the entry. `ERR_INVALID_ARGUMENT`. */
export function copyEntry(input: FieldEntryInput): FieldEntryInput {
  return names.copy(input)
}

/**
 * The entry of a field in its stored form. `ERR_INVALID_ARGUMENT` for rules that do not fit the
 * field.
 */
export function entryOf(input: FieldEntryInput, field: FieldType): FieldEntry {
  names.check(input)
  const { mandatory = false } = input
  if (typeof mandatory !== 'boolean') throw invalidArgument('mandatory must be true or false')
  const given = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => {
      if (name === 'name' || name === 'field' || name === 'mandatory') return false
      return value !== undefined && (name !== 'unique' || value !== false)
    }),
  ) as FieldRules
  for (const [name, value] of Object.entries(given)) {
    if (!readArguments(() => isJson(value)))
      throw invalidArgument(`${field.name}.${name} is no JSON, or nests too deep`)
  }
  checkRules(given, field)
  return { field: field.id, mandatory, ...given }
}

const depthMax = 1000

/** Whether a value is JSON at every depth. */
function isJson(value: unknown, depth = 0): boolean {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return true
  if (typeof value !== 'object' || depth > depthMax) return false
  const prototype = Object.getPrototypeOf(value) as unknown
  const isPlain = Array.isArray(value) || prototype === Object.prototype || prototype === null
  // The copy of a list turns its holes into undefined.
  const parts: unknown[] = Array.isArray(value) ? [...(value as unknown[])] : Object.values(value)
  return isPlain && parts.every((each) => isJson(each, depth + 1))
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
      if (!(error instanceof RepositoryError)) throw error
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
    if (!Array.isArray(values) || values.length === 0) refuse('values must be a list')
    for (const value of values) checkValue(value, 'the allowed value')
  }
  if (unique === true && type.orderedBytes === undefined) {
    refuse('its values have no order, so they cannot be unique')
  }
  if (unique !== undefined && unique !== true) refuse('unique must be true or false')
  if (linkTarget !== undefined) {
    if (leaf.base !== 'LINK') refuse('linkTarget is for links')
    if (linkTarget !== 'exists' && linkTarget !== 'typed') refuse("linkTarget: 'exists' or 'typed'")
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
export function leafOf({ type }: FieldType): FieldType['type'] {
  let leaf = type
  while (leaf.element !== undefined) leaf = leaf.element
  return leaf
}
