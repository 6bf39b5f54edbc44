/**
 * Field types: name, value type and scope of a field, shared by all records. Record types: the
 * fields of records, by version, with supertypes and rules.
 */
import {
  boolean,
  checked,
  choice,
  declareOptions,
  integer,
  list,
  required,
  text,
  type GivenOptions,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { checkName, type QualifiedName } from '../qualified-name.js'
import type { ValueField, ValueRecordType } from '../values/value-type.js'

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

const depthMax = 1000

function isJson(value: unknown, depth = 0): boolean {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return true
  if (typeof value !== 'object' || depth > depthMax) return false
  const prototype = Object.getPrototypeOf(value) as unknown
  const isPlain = Array.isArray(value) || prototype === Object.prototype || prototype === null
  // The copy of a list turns its holes into undefined.
  const parts: unknown[] = Array.isArray(value) ? [...(value as unknown[])] : Object.values(value)
  return isPlain && parts.every((each) => isJson(each, depth + 1))
}

/** A value in its JSON form; the code gets a copy. */
const json = checked((value: unknown, what): unknown => {
  if (!isJson(value)) throw invalidArgument(`${what} is no JSON, or nests too deep`)
  return JSON.parse(JSON.stringify(value)) as unknown
})

/** The declaration of {@link FieldRules}. */
export const fieldRules = {
  /** The value for a new record without one. */
  default: json,
  /** The smallest value, inclusive; for types with an order. */
  min: json,
  /** The greatest value, inclusive; for types with an order. */
  max: json,
  /** A text, or each text of a list, must match the whole pattern. */
  pattern: text(undefined),
  /** The allowed values. */
  values: list(required(json), undefined),
  /** Whether no two records of a table may have the same value. */
  unique: boolean(false),
  /**
   * `exists`: targets of links must exist. `typed`: they must also have the type that the link
   * names.
   */
  linkTarget: choice(['exists', 'typed'], undefined),
}

/** Rules for the values of one field in records of a type. Values are given in their JSON form. */
export interface FieldRules extends GivenOptions<typeof fieldRules> {}

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

/** One version of a record type; immutable. The name is the same in all versions. */
export interface RecordType extends ValueRecordType {
  /** From 1. */
  readonly version: number
  /** The type's own fields, without those of its supertypes. */
  readonly fields: readonly FieldEntry[]
  /** Supertypes at the versions to which the type is pinned. */
  readonly supertypes: readonly Supertype[]
  /** Whether records may hold fields of the type and its supertypes only. */
  readonly isStrict: boolean
}

const entryInput = declareOptions('a field of a record type', {
  /** Qualified name of the field type, `{namespace}local`. */
  name: text(undefined),
  /** UUID of the field type. Not together with `name`. */
  field: text(undefined),
  /** Default false. */
  mandatory: boolean(false),
  ...fieldRules,
})

/** A field of a record type as callers give it: by `name`, or by `field`, the id. */
export interface FieldEntryInput extends OptionsOf<typeof entryInput> {}

/** A copy of a {@link FieldEntryInput}. */
export type EntrySettings = SettingsOf<typeof entryInput>

/** Checks the form of an entry and copies it with its rules. `ERR_INVALID_ARGUMENT`. */
export function readEntry(entry: FieldEntryInput): EntrySettings {
  return entryInput.read(entry)
}

const supertypeInput = declareOptions('a supertype', {
  /** Qualified name of the record type. */
  name: text(undefined),
  /** UUID of the record type. Not together with `name`. */
  id: text(undefined),
  /** Version, from 1. Default: the newest. */
  version: integer({ min: 0, default: undefined }),
})

/** A supertype as callers give it. Without version it is pinned to the newest one. */
export interface SupertypeInput extends OptionsOf<typeof supertypeInput> {}

/** The declaration of {@link RecordTypeUpdate}. */
export const recordTypeUpdate = declareOptions('a record type', {
  /** UUID of the record type. */
  id: text(undefined),
  /** With `id` the new name; without `id` the name of the type. */
  name: checked<string, QualifiedName>(checkName),
  /** The type's own fields. Default: none. */
  fields: list(required(checked(readEntry)), undefined),
  /** Types whose fields are also allowed in records of this type. Default: none. */
  supertypes: list(
    required(checked((each: SupertypeInput) => supertypeInput.read(each))),
    undefined,
  ),
  /** Whether records may hold fields of the type and its supertypes only. Default false. */
  strict: boolean(undefined),
})

/**
 * Changes of a record type. Given lists replace those of the type; absent parts stay. An update by
 * id may rename; without id the name selects the type.
 */
export interface RecordTypeUpdate extends OptionsOf<typeof recordTypeUpdate> {}

/** A copy of a {@link RecordTypeUpdate}. */
export type RecordTypeSettings = SettingsOf<typeof recordTypeUpdate>

/** Input for a new record type. */
export interface RecordTypeInput extends Omit<RecordTypeUpdate, 'id' | 'name'> {
  /** `{namespace}local`; unique among record types. */
  readonly name: string
}
