/** Records as callers give and get them, and the hooks that see them before a write. */
import {
  checkArray,
  checked,
  checkObject,
  checkText,
  declareOptions,
  integer,
  readArguments,
  required,
  unchecked,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import type { QualifiedName } from '../qualified-name.js'
import type { RecordId, RecordIdLike } from '../record-id.js'
import type { Metadata } from './metadata.js'
import { versionMax } from './record-state.js'

/** The option of a version of a record; absent: undefined. */
export const versionOption = integer({ min: 0, max: versionMax, default: undefined })

/** Checks a version. `ERR_INVALID_ARGUMENT`. */
export function checkVersion(version: unknown): number {
  return required(versionOption).read(version, 'version')
}

/** Checks the texts of an event and copies them. `ERR_INVALID_ARGUMENT`. */
export function copyAttributes(
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const attributes = { ...checkObject(given, 'attributes') }
  for (const [name, each] of Object.entries(attributes)) checkText(each, `the attribute '${name}'`)
  return attributes
}

/** Values by the qualified name of the field. */
export type FieldValues = Readonly<Record<string, unknown>>

/** A version of a record type. */
export interface RecordTypeName {
  /** Qualified name, `{namespace}local`. */
  readonly name: QualifiedName
  /** From 1. */
  readonly version: number
}

/** A record type as callers name it. Without version: the newest one. */
export type RecordTypeLike =
  | string
  | {
      /** Qualified name, `{namespace}local`. */
      readonly name: string
      /** From 1. Default: the newest. */
      readonly version?: number | undefined
    }

const inputOptions = declareOptions('a record', {
  /** Default for a new record: a random UUID. */
  id: unchecked<RecordIdLike>(),
  /** Ignored, so that a record that was read can be sent back. */
  version: unchecked<number>(),
  /** Required for a new record. Default for an update: the stored type. */
  type: unchecked<RecordTypeLike>(),
  /** Fields to set; absent fields stay unchanged. */
  fields: checked(checkObject<FieldValues>, {}),
  /** Fields to remove; a field that is also among `fields` is removed. */
  fieldsToDelete: checked(checkArray<string>, []),
  /** Metadata to set, by field; absent keys stay unchanged. */
  metadata: checked(checkObject<Readonly<Record<string, Metadata>>>, {}),
  /** Keys of metadata to remove, by field. */
  metadataToDelete: checked(checkObject<Readonly<Record<string, readonly string[]>>>, {}),
  /** Texts for the event of the change; they are not stored in the record. */
  attributes: checked(copyAttributes),
})

/** Input of a create or an update. */
export interface RecordInput extends OptionsOf<typeof inputOptions> {}

/** Checks the form of an input and copies its parts. `ERR_INVALID_ARGUMENT`. */
export function readInput(input: RecordInput): SettingsOf<typeof inputOptions> {
  return readArguments(() => {
    const isPlain = Object.getPrototypeOf(checkObject(input, 'a record')) === Object.prototype
    return inputOptions.read(isPlain ? input : partsOf(input))
  })
}

/** The parts of an input. Those of a draft are getters, which are not own properties. */
function partsOf(input: RecordInput): RecordInput {
  const { id, version, type, fields, fieldsToDelete } = input
  const { metadata, metadataToDelete, attributes } = input
  return { id, version, type, fields, fieldsToDelete, metadata, metadataToDelete, attributes }
}

/** A record as it is read. */
export interface StoredRecord {
  /** Id of the record. */
  readonly id: RecordId
  /** The record table. */
  readonly table: string
  /** The version that was read; undefined for a record without versions. */
  readonly version: number | undefined
  /** Type of the non-versioned fields. */
  readonly type: RecordTypeName
  /** Type of the versioned fields; undefined if the record never had such fields. */
  readonly versionedType: RecordTypeName | undefined
  /** Type of the versioned-mutable fields; undefined if it never had such fields. */
  readonly mutableType: RecordTypeName | undefined
  /** Values by qualified name. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Metadata by field, for the fields with metadata. */
  readonly metadata: Readonly<Record<string, Metadata>>
  /** Time of creation in milliseconds. */
  readonly created: number
  /** Time of the last write of the record, to any version, in milliseconds since the Unix epoch. */
  readonly modified: number
  /** Grows with every write of the record, to any version. */
  readonly revision: number
}

/** Outcome of a write. `CONFLICT`: a condition does not hold, and nothing was written. */
export type WriteStatus = 'CREATED' | 'UPDATED' | 'UP_TO_DATE' | 'CONFLICT' | 'DELETED'

/** Result of a write. */
export interface WriteResult {
  /** Whether the write changed the record, and how. */
  readonly status: WriteStatus
  /** The submitted fields after the write; for a conflict, as they are stored. */
  readonly record: StoredRecord
  /** Sequence of the write in the change feed; undefined if nothing was written. */
  readonly sequence: number | undefined
}

const draftOptions = declareOptions('a draft of a record', {
  /** Default: the repository makes an id. */
  id: unchecked<RecordIdLike>(),
  /** Required for a new record. Default for an update: the stored type. */
  type: unchecked<RecordTypeLike>(),
})

/** A draft of a record, built call by call. Setting a field cancels its removal. */
export class RecordDraft implements RecordInput {
  readonly id: RecordIdLike | undefined
  readonly type: RecordTypeLike | undefined
  readonly #fields = new Map<string, unknown>()
  readonly #deletes = new Set<string>()

  /**
   * Creates a draft without fields. Without `id` the repository makes one. `ERR_INVALID_ARGUMENT`.
   */
  constructor(parts: Pick<RecordInput, 'id' | 'type'> = {}) {
    const { id, type } = draftOptions.read(parts)
    this.id = id
    this.type = type
  }

  /** Sets the value of a field. `ERR_INVALID_ARGUMENT` for a name that is no text. */
  set(name: string, value: unknown): this {
    this.#fields.set(checkText(name, 'the name of a field'), value)
    this.#deletes.delete(name)
    return this
  }

  /** Marks a field for removal. `ERR_INVALID_ARGUMENT` for a name that is no text. */
  delete(name: string): this {
    this.#fields.delete(checkText(name, 'the name of a field'))
    this.#deletes.add(name)
    return this
  }

  get fields(): FieldValues {
    return Object.fromEntries(this.#fields)
  }

  get fieldsToDelete(): readonly string[] {
    return [...this.#deletes]
  }
}

/** Arguments of a hook besides the input. */
export interface HookContext {
  /** Name of the repository. */
  readonly repository: string
  /** Name of the record table. */
  readonly table: string
  /** Id of the record, also of a new one. */
  readonly id: RecordId
  /** The stored record; undefined for a new one. */
  readonly stored: StoredRecord | undefined
}

/**
 * A hook: functions of the program that run before a write, ahead of the check of its conditions.
 * The return value of its functions replaces the input; the id cannot change. A retried
 * write calls its hooks again, so they should have no side effects.
 */
export interface RepositoryHook {
  /** Name of the hook in messages. */
  readonly name: string
  /** Called for a record that does not exist. An exception is the error of the write. */
  beforeCreate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Called for a record that exists. An exception is the error of the write. */
  beforeUpdate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Called before a deletion; an exception prevents it. */
  beforeDelete?(context: HookContext): void | Promise<void>
}
