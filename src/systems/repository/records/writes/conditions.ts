/** Conditions of updates and deletes: on fields of any scope, and on the version. */
import { checkArray, checkChoice, OptionNames, readArguments } from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import { versionField } from '../../qualified-name.js'
import type { FieldType } from '../../schema/field-type.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import type { RecordState, VersionState } from '../record-state.js'
import { checkVersion } from '../reads/record-reader.js'
import { orderTo } from '../values-compared.js'

/** The required relation: `stored operator value`. */
export type ConditionOperator =
  'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER'

/** One condition. */
export interface Condition {
  /** A field, or `{org.lilyproject.system}version`. */
  readonly field: string
  /** Default `EQUAL`. */
  readonly operator?: ConditionOperator | undefined
  /** The right operand. Null with `EQUAL`: the field is absent; with `NOT_EQUAL`: present. */
  readonly value: unknown
  /** Whether an absent field fulfils the condition. Default false. */
  readonly allowMissing?: boolean | undefined
}

/** A condition with its field, ready to be evaluated. */
export interface PreparedCondition {
  /** Undefined for the version. */
  readonly field: FieldType | undefined
  /** Decides by the stored bytes of the field, if present, and by the version. */
  readonly isFulfilledBy: (stored: Buffer | undefined, version: number) => boolean
}

const names = new OptionNames<Condition>('a condition', {
  field: true,
  operator: true,
  value: true,
  allowMissing: true,
})

const tests: Readonly<Record<ConditionOperator, (order: number) => boolean>> = {
  LESS: (order) => order < 0,
  LESS_OR_EQUAL: (order) => order <= 0,
  EQUAL: (order) => order === 0,
  NOT_EQUAL: (order) => order !== 0,
  GREATER_OR_EQUAL: (order) => order >= 0,
  GREATER: (order) => order > 0,
}

const operators = Object.keys(tests) as ConditionOperator[]

/** Checks an operator. `ERR_INVALID_ARGUMENT`. */
export function checkOperator(operator: unknown): ConditionOperator {
  return checkChoice(operator, 'the operator', operators)
}

/**
 * Checks conditions and finds their fields. Later changes of the values have no effect.
 * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_RECORD` for a value that does not fit its field,
 * `ERR_INVALID_ARGUMENT`, also for an operator that needs an order which the type lacks.
 */
export function prepareConditions(
  conditions: readonly Condition[] | undefined,
  schema: SchemaCache,
): PreparedCondition[] {
  return readArguments(() => {
    const given = checkArray(conditions ?? [], 'conditions')
    return given.map((condition) => prepare(names.copy(condition), schema))
  })
}

function prepare(condition: Condition, schema: SchemaCache): PreparedCondition {
  const { field: name, operator = 'EQUAL', value, allowMissing = false } = condition
  checkOperator(operator)
  if (value === undefined) throw invalidArgument('a condition needs a value, or null')
  const test = tests[operator]
  const isEquality = operator === 'EQUAL' || operator === 'NOT_EQUAL'
  const field = name === versionField ? undefined : schema.field(name)
  if (value === null) {
    if (!isEquality) throw invalidArgument(`${operator} needs a value other than null`)
    const isFulfilledBy = (stored: Buffer | undefined, version: number): boolean => {
      const isAbsent = field === undefined ? version === 0 : stored === undefined
      return isAbsent === (operator === 'EQUAL')
    }
    return { field, isFulfilledBy }
  }
  if (field === undefined) {
    checkVersion(value)
    const wanted = value
    const isFulfilledBy = (_: Buffer | undefined, version: number): boolean => {
      return version === 0 ? allowMissing : test(version - wanted)
    }
    return { field, isFulfilledBy }
  }
  const order = orderTo(field, value, schema, !isEquality)
  const isFulfilledBy = (stored: Buffer | undefined): boolean => {
    return stored === undefined ? allowMissing : test(order(stored))
  }
  return { field, isFulfilledBy }
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
