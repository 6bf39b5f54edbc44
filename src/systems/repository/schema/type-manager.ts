/**
 * The type manager: creates, changes and finds field types and record types.
 *
 * The whole schema is in memory. A change is one atomic batch that checks its assumptions: the
 * names are free, the type is unchanged since it was read, and its ordinal is the next one. Other
 * managers of the same database follow.
 */
import {
  boolean,
  checkArray,
  checkObject,
  checkText,
  declareOptions,
  OptionNames,
  readArguments,
  shown,
  type AtomicMutation,
  type Database,
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import { checkName, type QualifiedName } from '../qualified-name.js'
import type { ValueTypes } from '../values/value-types.js'
import {
  checkScope,
  type FieldType,
  type FieldTypeInput,
  type FieldTypeUpdate,
} from './field-type.js'
import type {
  FieldEntry,
  FieldEntryInput,
  RecordType,
  RecordTypeInput,
  RecordTypeUpdate,
  Supertype,
  SupertypeInput,
} from './record-type.js'
import { copyEntry, entryOf } from './rule-checks.js'
import { fieldTypeNotFound, recordTypeNotFound, SchemaCache } from './schema-cache.js'
import type { SchemaRows, TypeKind } from './schema-rows.js'

/** Called with the changed row of a type. */
export type SchemaListener = (row: Buffer) => void

/** Dependencies of a {@link TypeManager}. */
export interface TypeManagerParts {
  readonly database: Database
  readonly rows: SchemaRows
  readonly valueTypes: ValueTypes
  readonly newUuid: () => string
  readonly uniqueFields: UniqueFields
  /** Listeners of all managers of the database. */
  readonly listeners: Set<SchemaListener>
}

/** Notified of fields that become unique in a type with possible records, before the change. */
export interface UniqueFields {
  /** Claims the existing values. `ERR_NOT_UNIQUE` if two records have the same value. */
  add(ordinal: number, fields: readonly FieldType[]): Promise<void>
  /** Takes one `add` back, because its change was not made. */
  withdraw(ordinal: number, fields: readonly FieldType[]): void
  /** Ends all claims, because the fields are no longer unique. */
  remove(ordinal: number, fields: readonly FieldType[]): void
}

const fieldNames = new OptionNames<FieldTypeInput>('a field type', {
  name: true,
  valueType: true,
  scope: true,
})
const updateNames = new OptionNames<FieldTypeUpdate>('an update of a field type', {
  id: true,
  name: true,
  valueType: true,
  scope: true,
})
const recordNames = new OptionNames<RecordTypeUpdate>('a record type', {
  id: true,
  name: true,
  fields: true,
  supertypes: true,
  strict: true,
})

const supertypeNames = new OptionNames<SupertypeInput>('a supertype', {
  name: true,
  id: true,
  version: true,
})

const updateOptions = declareOptions('the update of a record type', {
  /** Whether subtypes are pinned to the new version. Default false. */
  refreshSubtypes: boolean(false),
})

/** Options of {@link TypeManager.updateRecordType}. */
export interface TypeUpdateOptions extends OptionsOf<typeof updateOptions> {}

/** Checks the form of a record type and copies it with its lists. `ERR_INVALID_ARGUMENT`. */
function copyType<T extends RecordTypeUpdate>(given: T): T {
  return readArguments(() => {
    const input = { ...recordNames.check(given) }
    const { id, name, fields, supertypes } = input
    if (id !== undefined) checkText(id, 'the id of a record type')
    if (name !== undefined) checkName(name, 'the name of a record type')
    if (fields !== undefined) {
      Object.assign(input, { fields: checkArray(fields, 'fields').map(copyEntry) })
    }
    if (supertypes !== undefined) {
      const copies = checkArray(supertypes, 'supertypes').map((each) => supertypeNames.copy(each))
      Object.assign(input, { supertypes: copies })
    }
    return input
  })
}

const attemptsMax = 100

type Contents = Pick<RecordType, 'fields' | 'supertypes' | 'isStrict'>

/** The type manager of a repository manager. */
export class TypeManager {
  readonly #parts: TypeManagerParts
  readonly #cache = new SchemaCache()
  /** Changes and refreshes of this manager, one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #isFollowing = true
  readonly #listener: SchemaListener

  /** @internal Made by `RepositoryManager.open`. */
  constructor(parts: TypeManagerParts) {
    this.#parts = parts
    this.#listener = (row) => {
      if (this.#isFollowing) this.#follow(() => this.refreshRow(row))
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
    await this.#last
  }

  /** Stops following other managers. @internal */
  close(): void {
    this.#parts.listeners.delete(this.#listener)
  }

  /** A failed read is ignored; the next read of the type or {@link refresh} repairs the cache. */
  #follow(read: () => Promise<void>): void {
    this.#last = this.#last.then(read).catch(() => undefined)
  }

  #tell(kind: TypeKind, id: string): void {
    const { listeners, rows } = this.#parts
    for (const listener of listeners) if (listener !== this.#listener) listener(rows.row(kind, id))
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
    await this.#parts.rows.load(this.#cache, this.#parts.valueTypes)
  }

  /** Reads one type again, by its row. @internal */
  async refreshRow(row: Buffer): Promise<void> {
    const { database, rows, valueTypes } = this.#parts
    const found = await database.table(rows.table).get({ row })
    if (!found.isEmpty) rows.put(found, this.#cache, valueTypes)
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
    const {
      name,
      valueType = 'STRING',
      scope = 'NON_VERSIONED',
    } = readArguments(() => fieldNames.copy(input))
    const checked = checkName(name, 'the name of a field type')
    const type = this.#parts.valueTypes.parse(valueType)
    checkScope(scope)
    return this.#change(async () => {
      await this.#checkNameFree('field', checked)
      const { rows, newUuid } = this.#parts
      const { ordinal, stored } = await rows.nextOrdinal('field')
      const id = newUuid()
      const field: FieldType = { id, ordinal, name: checked, valueType: type.name, type, scope }
      const mutations = [
        rows.putCounter('field', ordinal),
        rows.putName('field', checked, id),
        rows.putField(field),
      ]
      const checks = [rows.checkNameFree('field', checked), rows.checkCounter('field', stored)]
      const { success } = await this.#parts.database.atomic({ checks, mutations })
      if (!success) return undefined
      this.#cache.putField(field)
      this.#tell('field', id)
      return field
    })
  }

  /**
   * Renames a field type. `ERR_FIELD_TYPE_NOT_FOUND`; `ERR_FIELD_TYPE_UPDATE` if the name is taken,
   * or if value type or scope differ.
   */
  async updateFieldType(update: FieldTypeUpdate): Promise<FieldType> {
    const { id, name, valueType, scope } = readArguments(() => updateNames.copy(update))
    checkText(id, 'the id of a field type')
    return this.#change(async () => {
      const { rows, database } = this.#parts
      const stored = await rows.read('field', id)
      if (stored.isEmpty) throw fieldTypeNotFound(id)
      rows.put(stored, this.#cache, this.#parts.valueTypes)
      const before = this.#cache.fieldById(id)
      const other =
        valueType !== undefined && valueType !== before.valueType ? 'value type' : 'scope'
      if (other === 'value type' || (scope !== undefined && scope !== before.scope)) {
        throw fieldTypeUpdate(`the ${other} of ${before.name} cannot change`)
      }
      if (name === undefined || name === before.name) return before
      const checked = checkName(name, 'the name of a field type')
      if (await rows.isNameTaken('field', checked)) throw fieldTypeUpdate(`${checked} is taken`)
      const field: FieldType = { ...before, name: checked }
      const { success } = await database.atomic({
        checks: [rows.checkNameFree('field', checked), ...rows.checkUnchanged('field', id, stored)],
        mutations: [
          rows.removeName('field', before.name),
          rows.putName('field', checked, id),
          rows.putField(field),
        ],
      })
      if (!success) return undefined
      this.#cache.putField(field)
      this.#tell('field', id)
      return field
    })
  }

  /**
   * Returns the field type of a name, and creates it if it is absent. `ERR_FIELD_TYPE_UPDATE` if a
   * given value type or scope differs.
   */
  async createOrUpdateFieldType(given: FieldTypeInput): Promise<FieldType> {
    const input = readArguments(() => fieldNames.copy(given))
    const known = this.#cache.findField(input.name)
    if (known !== undefined) return this.updateFieldType({ ...input, id: known.id })
    try {
      return await this.createFieldType(input)
    } catch (error) {
      if (!hasCode(error, RepositoryErrorCode.fieldTypeExists)) throw error
      await this.refresh()
      return this.updateFieldType({ ...input, id: this.#cache.field(input.name).id })
    }
  }

  /**
   * Creates a record type at version 1. `ERR_RECORD_TYPE_EXISTS`, `ERR_FIELD_TYPE_NOT_FOUND`,
   * `ERR_RECORD_TYPE_NOT_FOUND` for a supertype, `ERR_INVALID_ARGUMENT`.
   */
  async createRecordType(given: RecordTypeInput): Promise<RecordType> {
    const input = copyType(given)
    const name = checkName(input.name, 'the name of a record type')
    return this.#change(async () => {
      await this.#checkNameFree('record', name)
      const { rows, newUuid, database } = this.#parts
      const { ordinal, stored } = await rows.nextOrdinal('record')
      const contents = this.#contents(input)
      const type: RecordType = { id: newUuid(), ordinal, name, version: 1, ...contents }
      const { success } = await database.atomic({
        checks: [rows.checkNameFree('record', name), rows.checkCounter('record', stored)],
        mutations: [
          rows.putCounter('record', ordinal),
          rows.putName('record', name, type.id),
          rows.putRecordType(type),
        ],
      })
      if (!success) return undefined
      this.#cache.putRecordType([type])
      this.#tell('record', type.id)
      return this.#cache.recordTypeById(type.id)
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
    const update = copyType(given)
    const { refreshSubtypes } = updateOptions.read(options)
    if (update.id === undefined && update.name === undefined) {
      throw invalidArgument('an update of a record type needs its id or its name')
    }
    const id = update.id ?? this.#cache.recordType(update.name!).id
    const updated = await this.#change(() => this.#updateRecordType(id, update))
    if (refreshSubtypes) await this.#refreshSubtypes(id, new Set([id]))
    return updated
  }

  /** Creates the record type of a name, or replaces its contents. */
  async createOrUpdateRecordType(given: RecordTypeInput): Promise<RecordType> {
    const input = copyType(given)
    if (this.#cache.findRecordType(input.name) !== undefined) return this.updateRecordType(input)
    try {
      return await this.createRecordType(input)
    } catch (error) {
      if (!hasCode(error, RepositoryErrorCode.recordTypeExists)) throw error
      await this.refresh()
      return this.updateRecordType(input)
    }
  }

  async #updateRecordType(id: string, update: RecordTypeUpdate): Promise<RecordType | undefined> {
    const { rows, database, valueTypes } = this.#parts
    const stored = await rows.read('record', id)
    if (stored.isEmpty) throw recordTypeNotFound(id)
    rows.put(stored, this.#cache, valueTypes)
    const before = this.#cache.recordTypeById(id)
    const name = checkName(update.name ?? before.name, 'the name of a record type')
    const contents = this.#contents(update, before)
    if (name === before.name && sameContents(before, contents)) return before
    const type: RecordType = { ...before, name, version: before.version + 1, ...contents }
    const mutations: AtomicMutation[] = [rows.putRecordType(type)]
    const checks = rows.checkUnchanged('record', id, stored)
    if (name !== before.name) {
      if (await rows.isNameTaken('record', name)) {
        throw new RepositoryError(RepositoryErrorCode.type, `the name ${name} is taken`)
      }
      checks.push(rows.checkNameFree('record', name))
      mutations.push(rows.removeName('record', before.name), rows.putName('record', name, id))
    }
    const [lost, added] = [this.#uniqueBut(before, type), this.#uniqueBut(type, before)]
    const { uniqueFields } = this.#parts
    if (added.length > 0) await uniqueFields.add(type.ordinal, added)
    let isDone = false
    try {
      isDone = (await database.atomic({ checks, mutations })).success
    } finally {
      if (!isDone) uniqueFields.withdraw(type.ordinal, added)
    }
    if (!isDone) return undefined
    uniqueFields.remove(type.ordinal, lost)
    const versions = this.#cache.versionsOf(id).map((version) => ({ ...version, name }))
    this.#cache.putRecordType([...versions, type])
    this.#tell('record', id)
    return this.#cache.recordTypeById(id)
  }

  /** The fields that are unique in the first type and not in the second. */
  #uniqueBut(type: RecordType, other: RecordType): FieldType[] {
    const others = new Set(this.#cache.ruledFields(other).unique.map(({ field }) => field))
    const own = this.#cache.ruledFields(type).unique.filter(({ field }) => !others.has(field))
    return own.map(({ field }) => this.#cache.fieldById(field))
  }

  /** `parents` are the types on the path; a cycle stops at the first repeated type. */
  async #refreshSubtypes(id: string, parents: ReadonlySet<string>): Promise<void> {
    for (const subtype of this.#cache.directSubtypes(id)) {
      if (parents.has(subtype)) continue
      const { version } = this.#cache.recordTypeById(id)
      const before = this.#cache.recordTypeById(subtype)
      const supertypes = before.supertypes.map((each) => (each.id === id ? { id, version } : each))
      const { fields, isStrict } = before
      const update = { id: subtype, fields, supertypes, strict: isStrict }
      await this.#change(() => this.#updateRecordType(subtype, update))
      await this.#refreshSubtypes(subtype, new Set([...parents, subtype]))
    }
  }

  /** The given parts of an update; all other parts stay as before. */
  #contents(input: RecordTypeUpdate, before?: RecordType): Contents {
    const { strict = before?.isStrict ?? false } = input
    if (typeof strict !== 'boolean') throw invalidArgument('strict must be true or false')
    const fields = input.fields === undefined ? (before?.fields ?? []) : this.#entries(input.fields)
    const supertypes =
      input.supertypes === undefined
        ? (before?.supertypes ?? [])
        : this.#supertypes(input.supertypes)
    return { fields, supertypes, isStrict: strict }
  }

  #entries(inputs: readonly FieldEntryInput[]): FieldEntry[] {
    const fields = new Map<string, FieldEntry>()
    for (const entry of inputs) {
      const { name, field: id } = entry
      if (name === undefined && id === undefined) throw invalidArgument('a field needs a name')
      const field = id === undefined ? this.#cache.field(name!) : this.#cache.fieldById(id)
      fields.set(field.id, entryOf(entry, field))
    }
    return [...fields.values()]
  }

  #supertypes(inputs: readonly SupertypeInput[]): Supertype[] {
    const supertypes = new Map<string, Supertype>()
    for (const { name, id, version } of inputs) {
      if (name === undefined && id === undefined) throw invalidArgument('a supertype needs a name')
      const supertype =
        id === undefined
          ? this.#cache.recordType(name!, version)
          : this.#cache.recordTypeById(id, version)
      supertypes.set(supertype.id, { id: supertype.id, version: supertype.version })
    }
    return [...supertypes.values()]
  }

  async #checkNameFree(kind: TypeKind, name: QualifiedName): Promise<void> {
    if (!(await this.#parts.rows.isNameTaken(kind, name))) return
    const code =
      kind === 'field' ? RepositoryErrorCode.fieldTypeExists : RepositoryErrorCode.recordTypeExists
    throw new RepositoryError(code, `there is a ${kind} type ${name} already`)
  }

  /**
   * Runs a change exclusively. An attempt returns undefined if its checks failed, and is repeated.
   */
  #change<T>(attempt: () => Promise<T | undefined>): Promise<T> {
    const run = async (): Promise<T> => {
      for (let attempts = 0; attempts < attemptsMax; attempts++) {
        const result = await attempt()
        if (result !== undefined) return result
      }
      const message = 'the schema changes too often at the moment'
      throw new RepositoryError(RepositoryErrorCode.concurrentRecordUpdate, message)
    }
    const result = this.#last.then(run, run)
    this.#last = result.catch(() => undefined)
    return result
  }
}

function hasCode(error: unknown, code: RepositoryErrorCode): boolean {
  return error instanceof RepositoryError && error.code === code
}

function fieldTypeUpdate(message: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.fieldTypeUpdate, message)
}

function sameContents(a: Contents, b: Contents): boolean {
  const form = ({ fields, supertypes, isStrict }: Contents): string => {
    const byId = [...fields].sort((x, y) => (x.field < y.field ? -1 : 1)).map(sortedKeys)
    const above = [...supertypes].sort((x, y) => (x.id < y.id ? -1 : 1)).map(sortedKeys)
    return JSON.stringify([byId, above, isStrict])
  }
  return form(a) === form(b)
}

function sortedKeys(value: object): unknown {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}
