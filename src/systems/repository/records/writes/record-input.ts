/**
 * Input of a write, fixed at the call, so that later changes by the caller have no effect: checked
 * and encoded, or copied if hooks may still change it. Then the rules of the record type, checked
 * against the state after the write.
 */
import { checkArray, checkObject, checkText, readArguments } from '../../../../api/index.js'
import { invalidRecord } from '../../errors.js'
import type { FieldEntry, FieldType, RecordType } from '../../schema/types.js'
import { compilePattern, leafOf } from '../../schema/type-contents.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { isBytes, isTime } from '../../value-kinds.js'
import { decodeField, encodeField } from '../field-values.js'
import type { Metadata } from '../metadata.js'
import { readInput, type RecordInput } from '../record.js'
import { eachValue } from '../../values/nested-types.js'
import type { RecordState, VersionState } from '../record-state.js'

interface FieldChange {
  readonly field: FieldType
  readonly bytes: Buffer
}

interface MetadataChange {
  readonly changes: Metadata | undefined
  readonly deletes: readonly string[] | undefined
}

/** Checked input of a write; its maps are by the number of the field type. */
export interface PreparedInput {
  /** The named record type; undefined if none is named. */
  readonly type: RecordType | undefined
  readonly sets: Map<number, FieldChange>
  readonly deletes: Map<number, FieldType>
  readonly metadata: Map<number, MetadataChange>
  readonly attributes: Readonly<Record<string, string>> | undefined
}

/**
 * Checks and encodes input. The input is not read again afterwards. `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD`, `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function prepareInput(input: RecordInput, schema: SchemaCache): PreparedInput {
  const { type, fields, fieldsToDelete, attributes, ...given } = readInput(input)
  return readArguments(() => {
    const sets = new Map<number, FieldChange>()
    for (const [name, value] of Object.entries(fields)) {
      const field = schema.field(name)
      sets.set(field.ordinal, { field, bytes: encodeField(field, value, schema) })
    }
    const deletes = new Map<number, FieldType>()
    for (const name of fieldsToDelete) {
      const field = schema.field(name)
      deletes.set(field.ordinal, field)
      sets.delete(field.ordinal)
    }
    const metadata = metadataOf(given.metadata, given.metadataToDelete, schema)
    const named = typeof type === 'string' ? { name: type } : type
    if (named !== undefined) checkObject(named, 'a type')
    const ofName = named && schema.recordType(named.name, named.version)
    return { type: ofName, sets, deletes, metadata, attributes }
  })
}

function metadataOf(
  changes: Readonly<Record<string, Metadata>>,
  deletes: Readonly<Record<string, readonly string[]>>,
  schema: SchemaCache,
): Map<number, MetadataChange> {
  const found = new Map<number, MetadataChange>()
  for (const name of new Set([...Object.keys(changes), ...Object.keys(deletes)])) {
    const field = schema.field(name)
    if (field.scope === 'VERSIONED_MUTABLE' || leafOf(field).base === 'BLOB') {
      throw invalidRecord(`${name} cannot have metadata: it is mutable, or holds blobs`)
    }
    const own = changes[name] as Metadata | undefined
    const gone = deletes[name] as readonly string[] | undefined
    const keys = gone && checkArray(gone, 'keys of metadata')
    found.set(field.ordinal, {
      changes: own && (copyValue(checkObject(own, 'metadata'), 0) as Metadata),
      deletes: keys?.map((key) => checkText(key, 'a key of metadata')),
    })
  }
  return found
}

/** Greater than the nesting of any field value. */
const depthMax = 200

/**
 * Copies input with the mutable values of its fields. Links and ids are immutable. Objects of other
 * classes are not copied; only the value types of the caller know them.
 */
export function copyInput(input: RecordInput): RecordInput {
  const parts = readInput(input)
  return readArguments(() => copyValue(parts, 0) as RecordInput)
}

/** Copies a value of a field: bytes, times, lists and plain objects, at any depth. */
function copyValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) throw invalidRecord(`values nest ${depthMax} deep at most`)
  if (isBytes(value)) return Buffer.from(value)
  if (isTime(value)) return new Date(value.getTime())
  if (Array.isArray(value)) return value.map((each) => copyValue(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value).map(([name, each]) => [name, copyValue(each, depth + 1)])
  return Object.fromEntries(entries)
}

/** Adds the defaults of a type to the input of a new record. */
export function withDefaults(
  input: PreparedInput,
  type: RecordType,
  schema: SchemaCache,
): PreparedInput {
  const sets = new Map(input.sets)
  for (const { field: id, default: value } of schema.effectiveFields(type).values()) {
    if (value === undefined) continue
    const field = schema.fieldById(id)
    if (sets.has(field.ordinal)) continue
    const bytes = encodeField(field, field.type.fromJson(value), schema)
    sets.set(field.ordinal, { field, bytes })
  }
  return { ...input, sets }
}

/**
 * Checks that all mandatory fields are present, those of supertypes included, and that strict types
 * have no other fields. Then checks the values that `input` sets. `ERR_INVALID_RECORD`.
 */
export function validate(
  state: RecordState,
  version: VersionState | undefined,
  input: PreparedInput,
  type: RecordType,
  schema: SchemaCache,
): void {
  const entries = schema.effectiveFields(type)
  for (const { field: id } of schema.ruledFields(type).mandatory) {
    const { ordinal, name } = schema.fieldById(id)
    if (state.fields.has(ordinal) || version?.fields.has(ordinal) === true) continue
    throw invalidRecord(`the field ${name} is mandatory in ${type.name}`)
  }
  if (type.isStrict) {
    for (const ordinal of [...state.fields.keys(), ...(version?.fields.keys() ?? [])]) {
      const field = schema.storedFieldAt(ordinal)
      if (entries.has(field.id)) continue
      throw invalidRecord(`${field.name} is no field of ${type.name}, which is strict`)
    }
  }
  for (const { field, bytes } of input.sets.values()) {
    const entry = entries.get(field.id)
    if (entry !== undefined) checkRules(entry, field, bytes, schema)
  }
}

function checkRules(entry: FieldEntry, field: FieldType, bytes: Buffer, schema: SchemaCache): void {
  const { min, max, pattern, values } = entry
  if (min === undefined && max === undefined && pattern === undefined && values === undefined)
    return
  const leaf = leafOf(field)
  const expression = pattern === undefined ? undefined : compilePattern(pattern)
  eachValue(field.type, decodeField(field, bytes, schema), (value) => {
    const refuse = (problem: string): never => {
      throw invalidRecord(`${field.name} ${problem}`)
    }
    const order = (bound: unknown): number => {
      return (leaf.compare as (a: unknown, b: unknown) => number)(value, leaf.fromJson(bound))
    }
    if (min !== undefined && order(min) < 0) refuse(`is below ${JSON.stringify(min)}`)
    if (max !== undefined && order(max) > 0) refuse(`is above ${JSON.stringify(max)}`)
    if (expression?.matches(value as string) === false) refuse(`does not match ${pattern}`)
    if (values === undefined) return
    const own = JSON.stringify(leaf.toJson(value))
    const isSame = (allowed: unknown): boolean => {
      if (leaf.compare !== undefined) return order(allowed) === 0
      return JSON.stringify(leaf.toJson(leaf.fromJson(allowed))) === own
    }
    if (values.some(isSame)) return
    refuse(`is none of ${JSON.stringify(values)}`)
  })
}
