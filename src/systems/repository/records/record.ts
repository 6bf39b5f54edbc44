/** Records as callers give and get them. */
import { checkText, OptionNames } from '../../../api/index.js'
import type { QualifiedName } from '../qualified-name.js'
import type { RecordId, RecordIdLike } from '../record-id.js'
import type { Metadata } from './metadata.js'

/** Values by the qualified name of the field. */
export type FieldValues = Readonly<Record<string, unknown>>

/** A version of a record type. */
export interface RecordTypeName {
  /** Qualified name, `{namespace}local`. */
  readonly name: QualifiedName
  /** From 1. */
  readonly version: number
}

/** A record type as callers name it; without version the newest one. */
export type RecordTypeLike =
  | string
  | {
      /** Qualified name, `{namespace}local`. */
      readonly name: string
      /** From 1. Default: the newest. */
      readonly version?: number | undefined
    }

/** What is created or changed. */
export interface RecordInput {
  /** Default for a new record: a random UUID. */
  readonly id?: RecordIdLike | undefined
  /** Ignored, so that a record that was read can be sent back. */
  readonly version?: number | undefined
  /** A new record needs one; default for a change: the one it has. */
  readonly type?: RecordTypeLike | undefined
  /** Fields that are absent stay as they are. */
  readonly fields?: FieldValues | undefined
  /** Fields to remove; a field that is also among `fields` is removed. */
  readonly fieldsToDelete?: readonly string[] | undefined
  /** Metadata by field; keys that are absent stay as they are. */
  readonly metadata?: Readonly<Record<string, Metadata>> | undefined
  /** Keys of metadata to remove, by field. */
  readonly metadataToDelete?: Readonly<Record<string, readonly string[]>> | undefined
  /** Texts for the event of the change; they are not stored in the record. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A record as it is read. */
export interface StoredRecord {
  /** Id of the record. */
  readonly id: RecordId
  /** The record table. */
  readonly table: string
  /** The version that is shown; undefined for a record that has none. */
  readonly version: number | undefined
  /** Type of the non-versioned fields. */
  readonly type: RecordTypeName
  /** Types of the versioned and of the mutable fields; undefined if it never had such fields. */
  readonly versionedType: RecordTypeName | undefined
  /** Type of the versioned-mutable fields; undefined if it never had such fields. */
  readonly mutableType: RecordTypeName | undefined
  /** Values by qualified name. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Metadata by field; only fields that have some. */
  readonly metadata: Readonly<Record<string, Metadata>>
  /** Milliseconds. */
  readonly created: number
  /** When the record was written last, whichever version, in milliseconds since the Unix epoch. */
  readonly modified: number
  /** Grows with every write of the record, of whatever version. */
  readonly revision: number
}

/** What a write did. `CONFLICT`: a condition does not hold, and nothing was written. */
export type WriteStatus = 'CREATED' | 'UPDATED' | 'UP_TO_DATE' | 'CONFLICT' | 'DELETED'

/** Outcome of a write. */
export interface WriteResult {
  /** Whether the write changed the record, and how. */
  readonly status: WriteStatus
  /** The submitted fields as they are now; of a conflict, as they are stored. */
  readonly record: StoredRecord
  /** Sequence of the write in the change feed; undefined if nothing was written. */
  readonly sequence: number | undefined
}

const draftNames = new OptionNames<Pick<RecordInput, 'id' | 'type'>>('a draft of a record', {
  id: true,
  type: true,
})

/**
 * A draft of a record to write, built call by call: setting a field takes back that it is deleted.
 */
export class RecordDraft implements RecordInput {
  readonly id: RecordIdLike | undefined
  readonly type: RecordTypeLike | undefined
  readonly #fields = new Map<string, unknown>()
  readonly #deletes = new Set<string>()

  /** A draft without fields. Without `id` the repository makes one. `ERR_INVALID_ARGUMENT`. */
  constructor(parts: Pick<RecordInput, 'id' | 'type'> = {}) {
    const { id, type } = draftNames.check(parts)
    this.id = id
    this.type = type
  }

  /** Gives a field a value. `ERR_INVALID_ARGUMENT` for a name that is no text. */
  set(name: string, value: unknown): this {
    this.#fields.set(checkText(name, 'the name of a field'), value)
    this.#deletes.delete(name)
    return this
  }

  /** Asks for the removal of a field. `ERR_INVALID_ARGUMENT` for a name that is no text. */
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
