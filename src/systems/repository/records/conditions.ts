/** Conditions of updates and deletes: on fields of any scope, and on the version. */
import {
  boolean,
  comparisons,
  declareOptions,
  list,
  required,
  checked,
  text,
  unchecked,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { versionField } from '../qualified-name.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { comparison, isEquality, operatorOption } from './field-values.js'
import type { RecordState, VersionState } from './record-state.js'
import { checkVersion } from './record.js'

const conditionOptions = declareOptions('a condition', {
  /** A field, or `{org.lilyproject.system}version`. */
  field: required(text(undefined)),
  /** The required relation: `stored operator value`. Default `EQUAL`. */
  operator: operatorOption,
  /** The right operand. Null with `EQUAL`: the field is absent; with `NOT_EQUAL`: present. */
  value: required(unchecked()),
  /** Whether an absent field fulfils the condition. Default false. */
  allowMissing: boolean(false),
})

/** One condition. */
export interface Condition extends OptionsOf<typeof conditionOptions> {}

/** The option of conditions. */
export const conditionsOption = list(
  required(checked((each: Condition) => conditionOptions.read(each))),
)

/** A condition with its field, ready to be evaluated. */
export interface PreparedCondition {
  /** Undefined for the version. */
  readonly field: FieldType | undefined
  /** Decides by the stored bytes of the field, if present, and by the version. */
  readonly isFulfilledBy: (stored: Buffer | undefined, version: number) => boolean
}

/**
 * Finds the field of a condition. Later changes of the value have no effect.
 * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_RECORD` for a value that does not fit its field,
 * `ERR_INVALID_ARGUMENT`, also for an operator that needs an order which the type lacks.
 */
export function prepareCondition(
  { field: name, operator, value, allowMissing }: SettingsOf<typeof conditionOptions>,
  schema: SchemaCache,
): PreparedCondition {
  const field = name === versionField ? undefined : schema.field(name)
  if (value === null) {
    if (!isEquality(operator)) throw invalidArgument(`${operator} needs a value other than null`)
    const isFulfilledBy = (stored: Buffer | undefined, version: number): boolean => {
      const isAbsent = field === undefined ? version === 0 : stored === undefined
      return isAbsent === (operator === 'EQUAL')
    }
    return { field, isFulfilledBy }
  }
  if (field === undefined) {
    const wanted = checkVersion(value)
    const isFulfilledBy = (_: Buffer | undefined, version: number): boolean => {
      return version === 0 ? allowMissing : comparisons[operator](version - wanted)
    }
    return { field, isFulfilledBy }
  }
  const compares = comparison(field, operator, value, schema)
  return { field, isFulfilledBy: (stored) => (stored ? compares(stored) : allowMissing) }
}

/**
 * Whether all conditions hold for a version of a record; version 0 = the record has no versions.
 */
export function holds(
  conditions: readonly PreparedCondition[],
  state: RecordState,
  version: number,
  ofVersion: VersionState | undefined,
): boolean {
  return conditions.every(({ field, isFulfilledBy }) => {
    if (field === undefined) return isFulfilledBy(undefined, version)
    const cell = state.fields.get(field.ordinal) ?? ofVersion?.fields.get(field.ordinal)
    return isFulfilledBy(cell?.value, version)
  })
}
