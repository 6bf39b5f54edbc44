/** Options of creates, updates and deletes. */
import {
  boolean,
  checked,
  declareOptions,
  integer,
  type OptionsOf,
  type SettingsOf,
} from '../../../../api/index.js'
import { concurrentUpdate, invalidArgument } from '../../errors.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { conditionsOption, prepareCondition, type PreparedCondition } from '../conditions.js'
import { copyAttributes, versionOption } from '../record.js'
import type { LiveHead } from '../reads/record-heads.js'

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
  conditions: conditionsOption,
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

type Prepared<S> = Omit<S, 'conditions'> & { readonly conditions: readonly PreparedCondition[] }

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
  return {
    ...options,
    conditions: options.conditions.map((each) => prepareCondition(each, schema)),
  }
}

/** Checks the options of a delete. Errors of {@link updateSettings}. */
export function deleteSettings(given: DeleteOptions, schema: SchemaCache): DeleteSettings {
  const options = deleteOptions.read(given)
  return {
    ...options,
    conditions: options.conditions.map((each) => prepareCondition(each, schema)),
  }
}

/** Throws `ERR_CONCURRENT_RECORD_UPDATE` if a record does not have the expected revision. */
export function checkRevision({ id, state }: LiveHead, revision: number | undefined): void {
  if (revision === undefined || revision === state.occ) return
  throw concurrentUpdate(`the record ${id.text} of revision ${revision}`)
}
