/** Conditions of updates and deletes: on fields of any scope, and on the version. */
import { OptionNames, shown } from '../../api/index.js'
import { invalidArgument } from '../errors.js'
import { versionField } from '../qualified-name.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'

/** How the stored value must relate to that of the condition: `stored operator value`. */
export type ConditionOperator =
  'LESS' | 'LESS_OR_EQUAL' | 'EQUAL' | 'NOT_EQUAL' | 'GREATER_OR_EQUAL' | 'GREATER'

/** One condition. */
export interface Condition {
  /** A field, or `{org.lilyproject.system}version`. */
  readonly field: string
  /** Default `EQUAL`. */
  readonly operator?: ConditionOperator | undefined
  /** Null with `EQUAL`: the field is absent; with `NOT_EQUAL`: it is there. */
  readonly value: unknown
  /** Whether an absent field fulfils the condition. Default false. */
  readonly allowMissing?: boolean | undefined
}

/** A condition with its field, ready to be checked. */
export interface PreparedCondition {
  /** Undefined for the version. */
  readonly field: FieldType | undefined
  isFulfilledBy(stored: unknown): boolean
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

/** Compares two values of a field. Types without an order are equal or not. */
export type Compare = (field: FieldType, stored: unknown, value: unknown) => number

/**
 * Checks conditions and finds their fields. `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`,
 * also for an operator that the type of the field has no order for.
 */
export function prepareConditions(
  conditions: readonly Condition[] | undefined,
  schema: SchemaCache,
  compare: Compare,
): PreparedCondition[] {
  return (conditions ?? []).map((condition) => prepare(names.check(condition), schema, compare))
}

function prepare(condition: Condition, schema: SchemaCache, compare: Compare): PreparedCondition {
  const { field: name, operator = 'EQUAL', value, allowMissing = false } = condition
  if (!Object.hasOwn(tests, operator)) throw invalidArgument(`no operator ${shown(operator)}`)
  if (value === undefined) throw invalidArgument('a condition needs a value, or null')
  const test = tests[operator]
  const isEquality = operator === 'EQUAL' || operator === 'NOT_EQUAL'
  const field = name === versionField ? undefined : schema.field(name)
  if (value === null) {
    if (!isEquality) throw invalidArgument(`${operator} needs a value other than null`)
    const isFulfilledBy = (stored: unknown): boolean => {
      return (stored === undefined) === (operator === 'EQUAL')
    }
    return { field, isFulfilledBy }
  }
  if (field !== undefined && !isEquality && field.type.compare === undefined) {
    throw invalidArgument(`values of ${field.valueType} have no order`)
  }
  const order = (stored: unknown): number => {
    if (field !== undefined) return compare(field, stored, value)
    return Number(stored) - Number(value)
  }
  return {
    field,
    isFulfilledBy: (stored) => (stored === undefined ? allowMissing : test(order(stored))),
  }
}
