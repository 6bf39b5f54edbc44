/** Checks the rules of a record type against the state after a write. */
import { invalidRecord } from '../errors.js'
import type { FieldType } from '../schema/field-type.js'
import type { FieldEntry, RecordType } from '../schema/record-type.js'
import { compilePattern, leafOf } from '../schema/rule-checks.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { eachValue } from '../values/nested-types.js'
import { decodeField, encodeField } from './field-values.js'
import type { RecordState, VersionState } from './record-state.js'
import type { PreparedInput } from './writes/record-input.js'

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
