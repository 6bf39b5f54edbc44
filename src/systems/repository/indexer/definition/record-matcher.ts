/** Decides whether a record matches: by type, value, variant properties and table. */
import { splitEscaped, type RecordId } from '../../record-id.js'
import { encodeField } from '../../records/field-values.js'
import type { FieldType } from '../../schema/field-type.js'
import type { BoundNames } from './bound-names.js'
import type { FieldMatch, RecordMatch } from './configuration.js'
import { fitsPattern, namePattern, variantPattern } from './patterns.js'

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
