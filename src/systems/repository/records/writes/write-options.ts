/** Options of creates, updates and deletes, and writes prepared for the commit. */
import { OptionNames, readArguments, shown } from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import type { RecordId } from '../../record-id.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { checkRevisionOption } from './commit.js'
import { prepareConditions, type Condition, type PreparedCondition } from './conditions.js'
import type { RecordChange } from './record-change.js'
import { copyAttributes } from './submission.js'
import { checkVersion } from '../reads/record-reader.js'
import type { StoredRecord, WriteStatus } from '../record.js'

/** Options of a create. */
export interface CreateOptions {
  /**
   * Whether the newest version of the type is used, even if an older one is named. Default true.
   */
  readonly useLatestRecordType?: boolean | undefined
}

/** Options of an update. */
export interface UpdateOptions extends CreateOptions {
  /** All must hold, else the status is `CONFLICT`. */
  readonly conditions?: readonly Condition[] | undefined
  /**
   * Changes the mutable fields of this version; other fields of the input are ignored. Later
   * versions stay unchanged, except for a field that neither they nor this version ever had.
   */
  readonly version?: number | undefined
  /**
   * The new version is overwritten by the next autosave, until a save without this option, or until
   * a version tag points to it. Not together with `version`. Default false.
   */
  readonly autosave?: boolean | undefined
  /** The record must have this `revision`, else `ERR_CONCURRENT_RECORD_UPDATE`. */
  readonly revision?: number | undefined
  /** Retries of a write that loses a race. Default 0. */
  readonly retries?: number | undefined
}

/** Options of a delete. */
export type DeleteOptions = Pick<UpdateOptions, 'conditions' | 'revision' | 'retries'> & {
  /** Texts for the event. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A write ready for the commit, or the result that nothing is to be written. */
export interface PreparedWrite {
  readonly id: RecordId
  readonly change: RecordChange | undefined
  readonly status: WriteStatus
  /** Builds the record of the result. */
  readonly show: () => StoredRecord
  /** Builds the stored record with the same fields; undefined if there is no record. */
  readonly showStored: () => StoredRecord | undefined
}

/** A write with its input fixed at the call. Each run applies the input to the present record. */
export interface Attempt {
  readonly id: RecordId
  readonly run: () => Promise<PreparedWrite>
}

const updateNames = new OptionNames<UpdateOptions>('an update of a record', {
  useLatestRecordType: true,
  conditions: true,
  version: true,
  autosave: true,
  revision: true,
  retries: true,
})
const createNames = new OptionNames<CreateOptions>('a create of a record', {
  useLatestRecordType: true,
})
const deleteNames = new OptionNames<DeleteOptions>('a delete of a record', {
  conditions: true,
  revision: true,
  retries: true,
  attributes: true,
})

/** Options of a write besides its input, fixed at the call. */
export interface Wishes {
  readonly options: Omit<UpdateOptions, 'conditions'>
  readonly conditions: readonly PreparedCondition[]
  /** Texts for the event of a delete. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** Checks the options of a create. `ERR_INVALID_ARGUMENT`. */
export function checkCreate(options: CreateOptions): CreateOptions {
  return readArguments(() => createNames.copy(options))
}

/** Checks the options of an update. `ERR_INVALID_ARGUMENT`; errors of {@link prepareConditions}. */
export function updateWishes(given: UpdateOptions, schema: SchemaCache): Wishes {
  const { conditions, ...options } = readArguments(() => updateNames.copy(given))
  const { version, autosave = false } = options
  if (version !== undefined) {
    checkVersion(version)
    if (autosave) throw invalidArgument('an autosave makes a version, and changes no old one')
  }
  checkAgain(options)
  return { options, conditions: prepareConditions(conditions, schema) }
}

/** Checks the options of a delete. Errors of {@link updateWishes}. */
export function deleteWishes(given: DeleteOptions, schema: SchemaCache): Wishes {
  const { conditions, attributes, ...options } = readArguments(() => deleteNames.copy(given))
  checkAgain(options)
  return {
    options,
    conditions: prepareConditions(conditions, schema),
    attributes: readArguments(() => copyAttributes(attributes)),
  }
}

function checkAgain({ retries, revision }: Wishes['options']): void {
  checkRevisionOption(revision)
  if (retries === undefined || (Number.isSafeInteger(retries) && retries >= 0)) return
  throw invalidArgument(`retries must be a whole number, 0 or more, got ${shown(retries)}`)
}
