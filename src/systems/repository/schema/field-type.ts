/** Field types: name, value type and scope of a field, shared by all records. */
import { checkChoice } from '../../../api/index.js'
import type { QualifiedName } from '../qualified-name.js'
import type { ValueType } from '../values/value-type.js'

/**
 * How a field follows versions. `NON_VERSIONED`: one value for the whole record. `VERSIONED`: a
 * change makes a version. `VERSIONED_MUTABLE`: the same, and it may change in an old version.
 */
export type Scope = 'NON_VERSIONED' | 'VERSIONED' | 'VERSIONED_MUTABLE'

/** The scopes. */
export const scopes: readonly Scope[] = ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE']

/** Checks a scope. `ERR_INVALID_ARGUMENT`. */
export function checkScope(scope: unknown): Scope {
  return checkChoice(scope, 'the scope of a field type', scopes)
}

/** A field type; immutable. Only its name can change, which makes another object. */
export interface FieldType {
  /** A UUID, assigned by the system. */
  readonly id: string
  /** Its number in stored records. */
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

/** What a field type is created from. */
export interface FieldTypeInput {
  /** `{namespace}local`; unique among field types. */
  readonly name: string
  /** Default `STRING`. */
  readonly valueType?: string | undefined
  /** Default `NON_VERSIONED`. */
  readonly scope?: Scope | undefined
}

/** Changes of a field type: a new name. Value type and scope, if given, must be those it has. */
export interface FieldTypeUpdate extends Partial<FieldTypeInput> {
  /** UUID of the field type. */
  readonly id: string
}
