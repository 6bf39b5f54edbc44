/** Field types: name, value type and scope of a field, shared by all records. */
import {
  checked,
  choice,
  declareOptions,
  required,
  text,
  type OptionsOf,
} from '../../../api/index.js'
import { checkName, type QualifiedName } from '../qualified-name.js'
import type { ValueField } from '../values/value-type.js'

/**
 * How a field is versioned. `NON_VERSIONED`: one value for the whole record. `VERSIONED`: a change
 * makes a version. `VERSIONED_MUTABLE`: the same, but old versions may be changed.
 */
export type Scope = 'NON_VERSIONED' | 'VERSIONED' | 'VERSIONED_MUTABLE'

/** All scopes. */
export const scopes: readonly Scope[] = ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE']

/** A field type; immutable. A rename makes a new object. */
export interface FieldType extends ValueField {
  /** Whether the field is versioned, not versioned, or mutable in each version. */
  readonly scope: Scope
}

const name = checked<string, QualifiedName>(checkName)

const parts = {
  /** Default `STRING`. */
  valueType: text(undefined),
  /** Default `NON_VERSIONED`. */
  scope: choice<Scope, undefined>(scopes, undefined),
}

/** The declaration of {@link FieldTypeInput}. */
export const fieldTypeInput = declareOptions('a field type', {
  /** `{namespace}local`; unique among field types. */
  name: required(name),
  ...parts,
})

/** Input for a new field type. */
export interface FieldTypeInput extends OptionsOf<typeof fieldTypeInput> {}

/** The declaration of {@link FieldTypeUpdate}. */
export const fieldTypeUpdate = declareOptions('an update of a field type', {
  /** UUID of the field type. */
  id: required(text(undefined)),
  /** The new name. Default: the name stays. */
  name,
  ...parts,
})

/**
 * An update of a field type: a new name. A given value type or scope must equal the present one.
 */
export interface FieldTypeUpdate extends OptionsOf<typeof fieldTypeUpdate> {}
