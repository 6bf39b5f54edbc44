/** Field types: name, value type and scope of a field, shared by all records. */
import { checkChoice } from '../../../api/index.js'
import type { QualifiedName } from '../qualified-name.js'
import type { ValueType } from '../values/value-type.js'

/**
 * How a field is versioned. `NON_VERSIONED`: one value for the whole record. `VERSIONED`: a change
 * makes a version. `VERSIONED_MUTABLE`: the same, but old versions may be changed.
 */
export type Scope = 'NON_VERSIONED' | 'VERSIONED' | 'VERSIONED_MUTABLE'

/** All scopes. */
export const scopes: readonly Scope[] = ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE']

/** Checks a scope. `ERR_INVALID_ARGUMENT`. */
export function checkScope(scope: unknown): Scope {
  return checkChoice(scope, 'the scope of a field type', scopes)
}

/** A field type; immutable. A rename makes a new object. */
export interface FieldType {
  /** A UUID, assigned by the system. */
  readonly id: string
  /** Number of the field type in stored records. */
  readonly ordinal: number
  /** Qualified name, `{namespace}local`; unique among field types. */
  readonly name: QualifiedName
  /** Text form of {@link type}. */
  readonly valueType: string
  /** The value type. */
  readonly type: ValueType
  /** Whether the field is versioned, not versioned, or mutable in each version. */
  readonly scope: Scope
}

/** Input for a new field type. */
export interface FieldTypeInput {
  /** `{namespace}local`; unique among field types. */
  readonly name: string
  /** Default `STRING`. */
  readonly valueType?: string | undefined
  /** Default `NON_VERSIONED`. */
  readonly scope?: Scope | undefined
}

/**
 * An update of a field type: a new name. A given value type or scope must equal the present one.
 */
export interface FieldTypeUpdate extends Partial<FieldTypeInput> {
  /** UUID of the field type. */
  readonly id: string
}
