/**
 * Decides whether a record matches: by type, value, variant properties and table. Also patterns of
 * names, of variant properties and of value types.
 */
import { splitEscaped, unescaped, type RecordId } from '../../record-id.js'
import { encodeField } from '../../records/field-values.js'
import type { FieldType } from '../../schema/types.js'
import type { BoundNames } from './bound-names.js'
import type { FieldMatch, RecordMatch } from './configuration.js'
import type { ValueType } from '../../values/value-type.js'

/** The subject of a match: a record, or an embedded record with the id and table of its holder. */
export interface MatchSubject {
  readonly id: RecordId
  readonly table: string
  /** Name of the record type; undefined matches no type condition. */
  readonly type: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
}

type Test = (subject: MatchSubject) => boolean

/** A compiled condition. */
export interface RecordMatcher {
  readonly matches: Test
  /** Id of the field that the condition refers to. */
  readonly field: string | undefined
}

/** Compiles a checked condition. Throws if the condition names what is not there. */
export function prepareMatch(match: RecordMatch, names: BoundNames): RecordMatcher {
  const { recordType, instanceOf, field, variant, tables } = match
  const tests: Test[] = []
  if (recordType !== undefined) tests.push(typeTest(recordType, names))
  if (instanceOf !== undefined) tests.push(instanceTest(instanceOf, names))
  if (variant !== undefined) tests.push(variantTest(variant))
  if (tables !== undefined) {
    const wanted = new Set(tables)
    tests.push(({ table }) => wanted.has(table))
  }
  const fieldId = field === undefined ? undefined : names.field(field.name).id
  if (field !== undefined) tests.push(valueTest(field, names))
  return { matches: (subject) => tests.every((test) => test(subject)), field: fieldId }
}

function typeTest(pattern: string, names: BoundNames): Test {
  const { schema } = names
  const one = pattern.includes('*') ? undefined : names.findRecordType(pattern)?.id
  if (one !== undefined) {
    return ({ type }) => type !== undefined && schema.findRecordType(type)?.id === one
  }
  const parts = /^\{([^{}]*)\}(.+)$/.exec(pattern)
  if (parts === null) throw new Error(`a record type is {namespace}Name, got ${pattern}`)
  const namespace = namePattern(parts[1])
  const local = namePattern(parts[2])
  return ({ type }) => {
    if (type === undefined) return false
    const end = type.indexOf('}')
    return namespace(type.slice(1, end)) !== undefined && local(type.slice(end + 1)) !== undefined
  }
}

function instanceTest(name: string, names: BoundNames): Test {
  const { schema } = names
  const { id } = names.recordType(name)
  return ({ type }) => {
    if (type === undefined) return false
    const own = schema.findRecordType(type)?.id
    return own !== undefined && (own === id || schema.subtypes(id).has(own))
  }
}

function valueTest(match: FieldMatch, names: BoundNames): Test {
  const { schema } = names
  const { equals, notEquals } = match
  const field = names.field(match.name)
  const wanted = encodeField(field, valueOfText(field, equals ?? notEquals), schema)
  const isEquality = equals !== undefined
  return ({ fields }) => {
    const { name } = schema.fieldById(field.id)
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (value === undefined) return !isEquality
    return encodeField(field, value, schema).equals(wanted) === isEquality
  }
}

/** A value from its JSON form, or from its text as in XML. */
function valueOfText(field: FieldType, given: unknown): unknown {
  if (typeof given !== 'string') return field.type.fromJson(given)
  switch (field.type.base) {
    case 'INTEGER':
    case 'DOUBLE':
      return field.type.fromJson(Number(given.trim() === '' ? NaN : given))
    case 'LONG':
      if (/^-?\d+$/.test(given)) return BigInt(given)
      break
    case 'BOOLEAN':
      if (given === 'true' || given === 'false') return given === 'true'
      break
    default:
      break
  }
  return field.type.fromJson(given)
}

function variantTest(text: string): Test {
  const parts = text.trim() === '' ? [] : splitEscaped(text, ',').map((each) => each.trim())
  const pattern = variantPattern(
    parts.filter((part) => part !== '*'),
    text,
  )
  const hasOthers = parts.includes('*')
  return ({ id }) => fitsPattern(pattern, id, hasOthers)
}

/** Returns the text matched by the `*`, '' without one; undefined if the name does not match. */
type NamePattern = (name: string) => string | undefined

/** Whether a pattern of names has a `*` that stands for other text. */
export function hasWildcard(pattern: string): boolean {
  return pattern.startsWith('*') || pattern.endsWith('*')
}

/**
 * A pattern with a `*` at the beginning or the end; a `*` elsewhere, or a second one, is a literal
 * character.
 */
export function namePattern(pattern: string): NamePattern {
  if (pattern.startsWith('*')) {
    const end = pattern.slice(1)
    return (name) => (name.endsWith(end) ? name.slice(0, name.length - end.length) : undefined)
  }
  if (pattern.endsWith('*')) {
    const start = pattern.slice(0, -1)
    return (name) => (name.startsWith(start) ? name.slice(start.length) : undefined)
  }
  return (name) => (name === pattern ? '' : undefined)
}

/** Variant properties of records; null matches any value. */
export type VariantPattern = Readonly<Record<string, string | null>>

/** The pattern of parts such as `lang` and `lang=en`. Throws if one is malformed, with `text`. */
export function variantPattern(parts: readonly string[], text: string): VariantPattern {
  const pattern = new Map<string, string | null>()
  for (const part of parts) {
    const [name, value, ...more] = splitEscaped(part, '=').map((each) => each.trim())
    const isMalformed = name === '' || value === '' || more.length > 0
    if (isMalformed || pattern.has(unescaped(name, text))) {
      throw new Error(`the variant properties '${text}' cannot be read`)
    }
    const given = value as string | undefined
    pattern.set(unescaped(name, text), given === undefined ? null : unescaped(given, text))
  }
  return Object.fromEntries(pattern)
}

/** Whether a record has the variant properties of a pattern, and others only if `hasOthers`. */
export function fitsPattern(pattern: VariantPattern, id: RecordId, hasOthers = false): boolean {
  const own = id.variantProperties
  const names = Object.keys(pattern)
  const fits = names.every((name) => {
    return Object.hasOwn(own, name) && (pattern[name] === null || pattern[name] === own[name])
  })
  return fits && (hasOthers || names.length === Object.keys(own).length)
}

/** Tests the names of a type from a level inwards. */
type Level = (names: readonly string[]) => boolean

const levelsMax = 32

const anyLevels: Readonly<Record<string, Level>> = {
  '*': ({ length }) => length <= 1,
  '+': ({ length }) => length === 1,
  '**': () => true,
  '++': ({ length }) => length >= 1,
}

/**
 * A pattern of value types: names with `*`. For arguments: `<x>`, `<*>` zero or one level, `<+>`
 * exactly one, `<**>` any number of levels, `<++>` at least one. Parentheses may replace angle
 * brackets, so that XML needs no escapes. Commas separate alternatives. Throws if malformed.
 */
export function typePattern(pattern: string): (type: ValueType) => boolean {
  const text = pattern.replaceAll('(', '<').replaceAll(')', '>')
  const levels = alternatives(text).map((each) => levelOf(each.trim(), 0))
  return (type) => {
    const names = namesOf(type)
    return levels.some((matches) => matches(names))
  }
}

/** A name with the levels below, or the name of a record type. */
function levelOf(text: string, depth: number): Level {
  if (depth > levelsMax) throw new Error('the pattern of a type is too deep')
  const isRecordType = depth > 0 && text.startsWith('{')
  const open = isRecordType ? -1 : text.indexOf('<')
  const name = (open < 0 ? text : text.slice(0, open)).trim()
  const isName = name !== '' && (isRecordType || !/[<>]/.test(name))
  if (!isName) throw new Error(`a pattern of a type is incomplete: ${text}`)
  const matches = namePattern(name)
  if (open < 0) return (names) => names.length === 1 && matches(names[0]) !== undefined
  if (!text.endsWith('>')) throw new Error(`a pattern of a type lacks its '>': ${text}`)
  const inner = text.slice(open + 1, -1).trim()
  const below = Object.hasOwn(anyLevels, inner) ? anyLevels[inner] : levelOf(inner, depth + 1)
  return (names) => names.length > 0 && matches(names[0]) !== undefined && below(names.slice(1))
}

function alternatives(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const char of text) {
    if (char === '<' || char === '{') depth++
    else if (char === '>' || char === '}') depth--
    if (char === ',' && depth <= 0) parts.push('')
    else parts[parts.length - 1] += char
  }
  return parts
}

/** The names of a type from the outside in: `LIST<LINK<{n}a>>` is LIST, LINK and `{n}a`. */
function namesOf({ base, recordType, element }: ValueType): string[] {
  const own = recordType === undefined ? [base] : [base, recordType]
  return element === undefined ? own : [...own, ...namesOf(element)]
}
