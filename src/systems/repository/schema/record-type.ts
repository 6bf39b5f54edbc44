/** Record types: the fields of records, by version, with supertypes and rules. */
import type { QualifiedName } from '../qualified-name.js'

/** Rules for the values of one field in records of a type. Values are given in their JSON form. */
export interface FieldRules {
  /** The value for a new record without one. */
  readonly default?: unknown
  /** The smallest value, inclusive; for types with an order. */
  readonly min?: unknown
  /** The greatest value, inclusive; for types with an order. */
  readonly max?: unknown
  /** A text, or each text of a list, must match the whole pattern. */
  readonly pattern?: string | undefined
  /** The allowed values. */
  readonly values?: readonly unknown[] | undefined
  /** Whether no two records of a table may have the same value. */
  readonly unique?: boolean | undefined
  /**
   * `exists`: targets of links must exist. `typed`: they must also have the type that the link
   * names.
   */
  readonly linkTarget?: 'exists' | 'typed' | undefined
}

/** A field of a record type. */
export interface FieldEntry extends FieldRules {
  /** Id of the field type. */
  readonly field: string
  /** Whether a record must have a value in the field. */
  readonly mandatory: boolean
}

/** A supertype, at the version to which the subtype is pinned. */
export interface Supertype {
  /** Id of the record type. */
  readonly id: string
  /** Version of the record type, from 1. */
  readonly version: number
}

/** One version of a record type; immutable. */
export interface RecordType {
  /** A UUID, assigned by the system. */
  readonly id: string
  /** Number of the record type in stored records. */
  readonly ordinal: number
  /** The name is the same in all versions. */
  readonly name: QualifiedName
  /** From 1. */
  readonly version: number
  /** The type's own fields, without those of its supertypes. */
  readonly fields: readonly FieldEntry[]
  /** Supertypes at the versions to which the type is pinned. */
  readonly supertypes: readonly Supertype[]
  /** Whether records may hold fields of the type and its supertypes only. */
  readonly isStrict: boolean
}

/** A field of a record type as callers give it: by `name`, or by `field`, the id. */
export interface FieldEntryInput extends FieldRules {
  /** Qualified name of the field type, `{namespace}local`. */
  readonly name?: string | undefined
  /** UUID of the field type. Not together with `name`. */
  readonly field?: string | undefined
  /** Default false. */
  readonly mandatory?: boolean | undefined
}

/** A supertype as callers give it. Without version it is pinned to the newest one. */
export interface SupertypeInput {
  /** Qualified name of the record type. */
  readonly name?: string | undefined
  /** UUID of the record type. Not together with `name`. */
  readonly id?: string | undefined
  /** Version, from 1. Default: the newest. */
  readonly version?: number | undefined
}

/** Input for a new record type. */
export interface RecordTypeInput {
  /** `{namespace}local`; unique among record types. */
  readonly name: string
  /** The type's own fields. Default: none. */
  readonly fields?: readonly FieldEntryInput[] | undefined
  /** Types whose fields are also allowed in records of this type. Default: none. */
  readonly supertypes?: readonly SupertypeInput[] | undefined
  /** Whether records may hold fields of the type and its supertypes only. Default false. */
  readonly strict?: boolean | undefined
}

/**
 * Changes of a record type. Given lists replace those of the type; absent parts stay. An update by
 * id may rename; without id the name selects the type.
 */
export interface RecordTypeUpdate extends Omit<RecordTypeInput, 'name'> {
  /** UUID of the record type. */
  readonly id?: string | undefined
  /** With `id` the new name; without `id` the name of the type. */
  readonly name?: string | undefined
}
