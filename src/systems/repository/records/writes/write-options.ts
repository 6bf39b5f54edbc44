/** Options of creates, updates and deletes; conditions of updates and deletes. */
import {
  boolean,
  checked,
  comparisons,
  declareOptions,
  integer,
  list,
  required,
  text,
  unchecked,
  type OptionsOf,
  type SettingsOf,
} from '../../../../api/index.js'
import { concurrentUpdate, invalidArgument } from '../../errors.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { checkVersion, copyAttributes, versionOption } from '../record.js'
import type { LiveHead } from '../reads/record-heads.js'
import { versionField } from '../../qualified-name.js'
import type { FieldType } from '../../schema/types.js'
import { comparison, isEquality, operatorOption } from '../field-values.js'
import type { RecordState, VersionState } from '../record-state.js'

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

/** A condition with its field, ready to be evaluated. */
interface PreparedCondition {
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
function prepareCondition(
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

/** The option of a revision. */
export const revisionOption = integer({
  min: Number.MIN_SAFE_INTEGER,
  max: Number.MAX_SAFE_INTEGER,
  default: undefined,
})

const ofType = {
  /**
   * Whether the newest version of the type is used, even if an older one is named. Default true.
   */
  useLatestRecordType: boolean(true),
}

const ofRetries = {
  /** All must hold, else the status is `CONFLICT`. */
  conditions: list(required(checked((each: Condition) => conditionOptions.read(each)))),
  /** The record must have this `revision`, else `ERR_CONCURRENT_RECORD_UPDATE`. */
  revision: revisionOption,
  /** Retries of a write that loses a race. Default 0. */
  retries: integer({ min: 0, default: 0 }),
}

/** The declaration of {@link CreateOptions}. */
export const createOptions = declareOptions('a create of a record', ofType)

/** Options of a create. */
export interface CreateOptions extends OptionsOf<typeof createOptions> {}

const updateOptions = declareOptions('an update of a record', {
  ...ofType,
  ...ofRetries,
  /**
   * Changes the mutable fields of this version; other fields of the input are ignored. Later
   * versions stay unchanged, except for a field that neither they nor this version ever had.
   */
  version: versionOption,
  /**
   * The new version is overwritten by the next autosave, until a save without this option, or until
   * a version tag points to it. Not together with `version`. Default false.
   */
  autosave: boolean(false),
})

/** Options of an update. */
export interface UpdateOptions extends OptionsOf<typeof updateOptions> {}

const deleteOptions = declareOptions('a delete of a record', {
  ...ofRetries,
  /** Texts for the event. Default: none. */
  attributes: checked(copyAttributes),
})

/** Options of a delete. */
export interface DeleteOptions extends OptionsOf<typeof deleteOptions> {}

type Conditional = Pick<SettingsOf<typeof deleteOptions>, 'conditions'>

type Prepared<S> = Omit<S, 'conditions'> & { readonly conditions: readonly PreparedCondition[] }

function prepared<S extends Conditional>(options: S, schema: SchemaCache): Prepared<S> {
  const conditions = options.conditions.map((each) => prepareCondition(each, schema))
  return { ...options, conditions }
}

/** Options of an update, fixed at the call. */
export type UpdateSettings = Prepared<SettingsOf<typeof updateOptions>>

/** Options of a delete, fixed at the call. */
export type DeleteSettings = Prepared<SettingsOf<typeof deleteOptions>>

// Most updates have no options, so these are read once.
const noUpdateOptions: UpdateSettings = { ...updateOptions.read({}), conditions: [] }

/** Checks the options of an update. `ERR_INVALID_ARGUMENT`; errors of {@link prepareCondition}. */
export function updateSettings(
  given: UpdateOptions | undefined,
  schema: SchemaCache,
): UpdateSettings {
  if (given === undefined) return noUpdateOptions
  const options = updateOptions.read(given)
  if (options.version !== undefined && options.autosave) {
    throw invalidArgument('an autosave makes a version, and changes no old one')
  }
  return prepared(options, schema)
}

/** Checks the options of a delete. Errors of {@link updateSettings}. */
export function deleteSettings(given: DeleteOptions, schema: SchemaCache): DeleteSettings {
  return prepared(deleteOptions.read(given), schema)
}

/** Throws `ERR_CONCURRENT_RECORD_UPDATE` if a record does not have the expected revision. */
export function checkRevision({ id, state }: LiveHead, revision: number | undefined): void {
  if (revision === undefined || revision === state.occ) return
  throw concurrentUpdate(`the record ${id.text} of revision ${revision}`)
}
