/**
 * The type manager: creates, changes and finds field types and record types.
 *
 * The whole schema is in memory. A change is one atomic batch that checks its assumptions: the
 * names are free, the type is unchanged since it was read, and its ordinal is the next one. Other
 * managers of the same database follow.
 */
import {
  assert,
  boolean,
  checkObject,
  declareOptions,
  readArguments,
  shown,
  type OptionsOf,
  type Result,
} from '../../../api/index.js'
import { hasCode, invalidArgument, repositoryError } from '../errors.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { lastTag, type QualifiedName } from '../qualified-name.js'
import type { ValueTypes } from '../values/value-types.js'
import {
  fieldTypeInput,
  fieldTypeUpdate,
  recordTypeUpdate,
  type FieldEntry,
  type FieldType,
  type FieldTypeInput,
  type FieldTypeUpdate,
  type RecordType,
  type RecordTypeInput,
  type RecordTypeUpdate,
} from './types.js'
import { fieldTypeNotFound, recordTypeNotFound, SchemaCache } from './schema-cache.js'
import {
  kindOf,
  rowOf,
  rowOfId,
  type SchemaRows,
  type StoredType,
  type TypeKind,
} from './schema-rows.js'
import { sameContents, typeContents, uniqueBut, type TypeContents } from './type-contents.js'

/** Called with the changed row of a type. */
export type SchemaListener = (row: Buffer) => void

/** Dependencies of a {@link TypeManager}. */
export interface TypeManagerParts {
  readonly rows: SchemaRows
  readonly valueTypes: ValueTypes
  readonly newUuid: () => string
  /**
   * Makes a change of the unique fields of a type. First claims the values of the added ones in the
   * existing records, `ERR_NOT_UNIQUE` if two records have the same value. `change` returns
   * undefined if it was not made.
   */
  readonly changeUnique: <T>(
    ordinal: number,
    fields: { readonly added: readonly FieldType[]; readonly lost: readonly FieldType[] },
    change: () => Promise<T | undefined>,
  ) => Promise<T | undefined>
  /** Listeners of all managers of the database. */
  readonly listeners: Set<SchemaListener>
}

const updateOptions = declareOptions('the update of a record type', {
  /** Whether subtypes are pinned to the new version. Default false. */
  refreshSubtypes: boolean(false),
})

/** Options of {@link TypeManager.updateRecordType}. */
export interface TypeUpdateOptions extends OptionsOf<typeof updateOptions> {}

const attemptsMax = 100

/** The codes of the errors for a name that another type has. */
const takenCodes = {
  field: { create: 'fieldTypeExists', rename: 'fieldTypeUpdate' },
  record: { create: 'recordTypeExists', rename: 'type' },
} as const

/** The type manager of a repository manager. */
export class TypeManager {
  readonly #parts: TypeManagerParts
  readonly #cache = new SchemaCache()
  /** The changes of this manager, and the reads by which it follows other managers. */
  readonly #order = new CallOrder()
  #isFollowing = true
  readonly #listener: SchemaListener

  /** @internal Made by `RepositoryManager.open`. */
  constructor(parts: TypeManagerParts) {
    this.#parts = parts
    this.#listener = (row) => {
      if (this.#isFollowing) this.#follow(() => parts.rows.loadRow(row, this.#cache))
    }
    parts.listeners.add(this.#listener)
  }

  /**
   * Whether changes by other managers of the same database are followed. Switching this on again
   * reads all types. Default true.
   */
  get isFollowing(): boolean {
    return this.#isFollowing
  }

  /** Whether changes by other managers are applied at once. Default true. */
  set isFollowing(isFollowing: boolean) {
    if (isFollowing && !this.#isFollowing) this.#follow(() => this.refresh())
    this.#isFollowing = isFollowing
  }

  /** Resolves when all changes are applied that other managers reported before the call. */
  async settled(): Promise<void> {
    await this.#order.run(() => undefined)
  }

  /** Stops following other managers. @internal */
  close(): void {
    this.#parts.listeners.delete(this.#listener)
  }

  /** Checks that a value is a type manager. `ERR_INVALID_ARGUMENT`. @internal */
  static check(value: unknown): TypeManager {
    if (typeof value === 'object' && value !== null && #cache in value) return value
    throw invalidArgument(`the types of a repository are wanted, got ${shown(value)}`)
  }

  /** The schema for reading and writing records. @internal */
  get schema(): SchemaCache {
    return this.#cache
  }

  /** Reads all types again. */
  async refresh(): Promise<void> {
    await this.#parts.rows.load(this.#cache)
  }

  /** The field type of a name. `ERR_FIELD_TYPE_NOT_FOUND`. */
  getFieldType(name: string): FieldType {
    return this.#cache.field(name)
  }

  /** The field type of an id. `ERR_FIELD_TYPE_NOT_FOUND`. */
  getFieldTypeById(id: string): FieldType {
    return this.#cache.fieldById(id)
  }

  /** All field types, sorted by name. */
  listFieldTypes(): FieldType[] {
    return this.#cache.fields()
  }

  /** A record type, by default its newest version. `ERR_RECORD_TYPE_NOT_FOUND`. */
  getRecordType(name: string, version?: number): RecordType {
    return this.#cache.recordType(name, version)
  }

  /** A record type by id, by default its newest version. `ERR_RECORD_TYPE_NOT_FOUND`. */
  getRecordTypeById(id: string, version?: number): RecordType {
    return this.#cache.recordTypeById(id, version)
  }

  /** The newest version of all record types, sorted by name. */
  listRecordTypes(): RecordType[] {
    return this.#cache.recordTypes()
  }

  /**
   * The fields of a version of a record type and its supertypes, by name.
   * `ERR_RECORD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  effectiveFields(type: RecordType): Map<QualifiedName, FieldEntry> {
    const { id, version } = readArguments(() => ({ ...checkObject(type, 'a record type') }))
    const own = this.#cache.recordTypeById(id, version)
    const entries = [...this.#cache.effectiveFields(own).values()]
    return new Map(entries.map((entry) => [this.#cache.fieldById(entry.field).name, entry]))
  }

  /** Names of all direct and indirect subtypes, by their newest versions. */
  findSubtypes(name: string): QualifiedName[] {
    const ids = this.#cache.subtypes(this.#cache.recordType(name).id)
    return [...ids].map((id) => this.#cache.recordTypeById(id).name).sort()
  }

  /** Whether a record type equals another one or is a subtype of it. */
  isInstanceOf(name: string, supertype: string): boolean {
    return name === supertype || this.findSubtypes(supertype).includes(name as QualifiedName)
  }

  /**
   * Creates a field type. `ERR_FIELD_TYPE_EXISTS`, `ERR_TYPE` for an unknown value type,
   * `ERR_INVALID_ARGUMENT`.
   */
  async createFieldType(input: FieldTypeInput): Promise<FieldType> {
    const { name, valueType = 'STRING', scope = 'NON_VERSIONED' } = fieldTypeInput.read(input)
    const type = this.#parts.valueTypes.parse(valueType)
    return this.#create('field', (id, ordinal): FieldType => {
      return { id, ordinal, name, valueType: type.name, type, scope }
    })
  }

  /**
   * Renames a field type. `ERR_FIELD_TYPE_NOT_FOUND`; `ERR_FIELD_TYPE_UPDATE` if the name is taken,
   * if value type or scope differ, or for the version tag `last`.
   */
  async updateFieldType(update: FieldTypeUpdate): Promise<FieldType> {
    const { id, name, valueType, scope } = fieldTypeUpdate.read(update)
    return this.#change(async () => {
      const row = await this.#stored('field', id)
      const before = this.#cache.fieldById(id)
      for (const [what, given, present] of [
        ['value type', valueType, before.valueType],
        ['scope', scope, before.scope],
      ]) {
        if (given === undefined || given === present) continue
        throw repositoryError('fieldTypeUpdate', `the ${what} of ${before.name} cannot change`)
      }
      if (name === undefined || name === before.name) return before
      // By this name the newest version is found, and read by everybody who reads the record.
      if (before.name === lastTag) {
        throw repositoryError('fieldTypeUpdate', `${lastTag} keeps its name`)
      }
      return this.#write({ ...before, name }, { name: before.name, row })
    })
  }

  /**
   * Returns the field type of a name, and creates it if it is absent. `ERR_FIELD_TYPE_UPDATE` if a
   * given value type or scope differs.
   */
  async createOrUpdateFieldType(given: FieldTypeInput): Promise<FieldType> {
    const input = fieldTypeInput.read(given)
    return this.#orUpdate(
      this.#cache.findField(input.name),
      () => this.createFieldType(input),
      () => this.updateFieldType({ ...input, id: this.#cache.field(input.name).id }),
    )
  }

  /**
   * Creates a record type at version 1. `ERR_RECORD_TYPE_EXISTS`, `ERR_FIELD_TYPE_NOT_FOUND`,
   * `ERR_RECORD_TYPE_NOT_FOUND` for a supertype, `ERR_INVALID_ARGUMENT`.
   */
  async createRecordType(given: RecordTypeInput): Promise<RecordType> {
    const input = recordTypeUpdate.read(given)
    const { name } = input
    if (name === undefined) throw invalidArgument('a record type needs a name')
    return this.#create('record', (id, ordinal): RecordType => {
      return { id, ordinal, name, version: 1, ...typeContents(this.#cache, input) }
    })
  }

  /**
   * Replaces the given parts of a record type: fields, supertypes, strictness. A change makes a new
   * version. With `id` the type may also be renamed, in all versions at once.
   *
   * With `refreshSubtypes` all direct and indirect subtypes are pinned to the new versions. A field
   * becomes unique only if the existing records of the type have different values.
   *
   * `ERR_RECORD_TYPE_NOT_FOUND`, `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_NOT_UNIQUE`, `ERR_TYPE` if the
   * new name is taken.
   */
  async updateRecordType(
    given: RecordTypeUpdate,
    options: TypeUpdateOptions = {},
  ): Promise<RecordType> {
    const update = recordTypeUpdate.read(given)
    const { refreshSubtypes } = updateOptions.read(options)
    if (update.id === undefined && update.name === undefined) {
      throw invalidArgument('an update of a record type needs its id or its name')
    }
    const id = update.id ?? this.#cache.recordType(update.name!).id
    const updated = await this.#change(() => {
      return this.#updateRecordType(id, update.name, (before) => {
        return typeContents(this.#cache, update, before)
      })
    })
    if (refreshSubtypes) await this.#refreshSubtypes(id, new Set([id]))
    return updated
  }

  /** Creates the record type of a name, or replaces its contents. */
  async createOrUpdateRecordType(given: RecordTypeInput): Promise<RecordType> {
    const input = recordTypeUpdate.read(given)
    const { name } = input
    if (name === undefined) throw invalidArgument('a record type needs a name')
    return this.#orUpdate(
      this.#cache.findRecordType(name),
      () => this.createRecordType({ ...input, name }),
      () => this.updateRecordType(input),
    )
  }

  /** Creates a type, or updates it if it exists already or another manager creates it meanwhile. */
  async #orUpdate<T>(
    known: T | undefined,
    create: () => Promise<T>,
    update: () => Promise<T>,
  ): Promise<T> {
    if (known !== undefined) return update()
    try {
      return await create()
    } catch (error) {
      if (!hasCode(error, 'fieldTypeExists', 'recordTypeExists')) throw error
      await this.refresh()
      return update()
    }
  }

  /** A failed read is ignored; the next read of the type or a refresh repairs the cache. */
  #follow(read: () => Promise<unknown>): void {
    this.#order.run(read).catch(() => undefined)
  }

  /**
   * Runs a change exclusively. An attempt returns undefined if its checks failed, and is repeated.
   */
  #change<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    return this.#order.run(async () => {
      for (let attempts = 0; attempts < attemptsMax; attempts++) {
        const result = await attempt()
        if (result !== undefined) return result
      }
      const message = 'the schema changes too often at the moment'
      throw repositoryError('concurrentRecordUpdate', message)
    })
  }

  #create<T extends FieldType | RecordType>(
    kind: TypeKind,
    typeOf: (id: string, ordinal: number) => T,
  ): Promise<T> {
    return this.#change(async () => {
      const { rows, newUuid } = this.#parts
      return this.#write(typeOf(newUuid(), await rows.nextOrdinal(kind)))
    })
  }

  /** Writes a new type, or a new name or version of a type; undefined if others changed it. */
  async #write<T extends FieldType | RecordType>(
    type: T,
    before?: StoredType,
  ): Promise<T | undefined> {
    const { rows, listeners } = this.#parts
    const outcome = await rows.write(type, before)
    if (outcome === 'changed') return undefined
    if (outcome === 'taken') {
      const codes = takenCodes[kindOf(type)]
      const code = before === undefined ? codes.create : codes.rename
      throw repositoryError(code, `there is a ${kindOf(type)} type ${type.name} already`)
    }
    if ('valueType' in type) this.#cache.putField(type)
    else {
      const { id, name, version } = type
      // A refresh may have read the new version already.
      const older = this.#cache.versionsOf(id).slice(0, version - 1)
      assert(older.length === version - 1, 'the versions of a record type have no gap')
      const renamed = older.map((each) => ({ ...each, name }))
      this.#cache.putRecordType([...renamed, type])
    }
    const row = rowOf(type)
    for (const listener of listeners) if (listener !== this.#listener) listener(row)
    return type
  }

  async #stored(kind: TypeKind, id: string): Promise<Result> {
    const stored = await this.#parts.rows.loadRow(rowOfId(kind, id), this.#cache)
    if (stored.isEmpty) throw kind === 'field' ? fieldTypeNotFound(id) : recordTypeNotFound(id)
    return stored
  }

  async #updateRecordType(
    id: string,
    newName: QualifiedName | undefined,
    contentsOf: (before: RecordType) => TypeContents,
  ): Promise<RecordType | undefined> {
    const row = await this.#stored('record', id)
    const before = this.#cache.recordTypeById(id)
    const name = newName ?? before.name
    const contents = contentsOf(before)
    if (name === before.name && sameContents(before, contents)) return before
    const type: RecordType = { ...before, name, version: before.version + 1, ...contents }
    const fields = {
      added: uniqueBut(this.#cache, type, before),
      lost: uniqueBut(this.#cache, before, type),
    }
    return this.#parts.changeUnique(type.ordinal, fields, () => {
      return this.#write(type, { name: before.name, row })
    })
  }

  /** `parents` are the types on the path; a cycle stops at the first repeated type. */
  async #refreshSubtypes(id: string, parents: ReadonlySet<string>): Promise<void> {
    for (const subtype of this.#cache.directSubtypes(id)) {
      if (parents.has(subtype)) continue
      const { version } = this.#cache.recordTypeById(id)
      await this.#change(() => {
        return this.#updateRecordType(subtype, undefined, ({ fields, supertypes, isStrict }) => {
          const pinned = supertypes.map((each) => (each.id === id ? { id, version } : each))
          return { fields, supertypes: pinned, isStrict }
        })
      })
      await this.#refreshSubtypes(subtype, new Set([...parents, subtype]))
    }
  }
}
