/**
 * The schema in memory: every field type and every version of every record type, by name, id and
 * number. Lookups never read a table. Objects in it are frozen, and changes replace them.
 */
import { corrupt, repositoryError } from '../errors.js'
import { assert, shown, type CellarError } from '../../../api/index.js'
import type { ValueSchema } from '../values/value-type.js'
import type { FieldEntry, FieldType, RecordType } from './types.js'

/** Makes an `ERR_FIELD_TYPE_NOT_FOUND`. */
export function fieldTypeNotFound(name: unknown): CellarError {
  return repositoryError('fieldTypeNotFound', `there is no field type ${shown(name)}`)
}

/** Makes an `ERR_RECORD_TYPE_NOT_FOUND`. */
export function recordTypeNotFound(name: unknown, version?: number): CellarError {
  const which = version === undefined ? '' : ` of version ${shown(version)}`
  return repositoryError('recordTypeNotFound', `there is no record type ${shown(name)}${which}`)
}

/** Fields of a type by their rules. */
export interface RuledFields {
  readonly all: ReadonlyMap<string, FieldEntry>
  readonly unique: readonly FieldEntry[]
  readonly linked: readonly FieldEntry[]
  readonly mandatory: readonly FieldEntry[]
}

/** The types of a schema. */
export class SchemaCache implements ValueSchema {
  readonly #fieldsById = new Map<string, FieldType>()
  readonly #fieldsByName = new Map<string, FieldType>()
  readonly #fieldsByOrdinal: (FieldType | undefined)[] = []
  readonly #typesByName = new Map<string, string>()
  /** All versions by id; the newest is the last. */
  readonly #types = new Map<string, RecordType[]>()
  /** All versions, as in the map by id. */
  readonly #typesByOrdinal: (readonly RecordType[] | undefined)[] = []
  #fieldChanges = 0
  readonly #ruled = new WeakMap<RecordType, RuledFields>()

  field(name: string): FieldType {
    const found = this.#fieldsByName.get(name)
    if (found === undefined) throw fieldTypeNotFound(name)
    return found
  }

  findField(name: string): FieldType | undefined {
    return this.#fieldsByName.get(name)
  }

  fieldById(id: string): FieldType {
    const found = this.#fieldsById.get(id)
    if (found === undefined) throw fieldTypeNotFound(id)
    return found
  }

  hasFieldId(id: string): boolean {
    return this.#fieldsById.has(id)
  }

  fieldAt(ordinal: number): FieldType | undefined {
    return this.#fieldsByOrdinal[ordinal]
  }

  /** The field type of a field of a stored record. `ERR_CORRUPTION`. */
  storedFieldAt(ordinal: number): FieldType {
    const found = this.#fieldsByOrdinal[ordinal]
    if (found !== undefined) return found
    throw corrupt(`a record has a field of the type ${ordinal}, which does not exist`)
  }

  /** The greatest ordinal of a field type; later types get greater ones. */
  get ordinalMax(): number {
    return this.#fieldsByOrdinal.length - 1
  }

  /** Number of changes of field types: while it stays, they have the same names. */
  get fieldChanges(): number {
    return this.#fieldChanges
  }

  fields(): FieldType[] {
    return [...this.#fieldsByName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  findRecordType(name: string): RecordType | undefined {
    return this.#types.get(this.#typesByName.get(name) ?? '')?.at(-1)
  }

  recordType(name: string, version?: number): RecordType {
    const id = this.#typesByName.get(name)
    if (id === undefined) throw recordTypeNotFound(name, version)
    return this.recordTypeById(id, version)
  }

  recordTypeById(id: string, version?: number): RecordType {
    const versions = this.#types.get(id)
    const at = version === undefined ? versions?.length : version
    const found = typeof at === 'number' ? versions?.[at - 1] : undefined
    if (found === undefined) throw recordTypeNotFound(id, version)
    return found
  }

  recordTypeAt(ordinal: number, version?: number): RecordType | undefined {
    const versions = this.#typesByOrdinal[ordinal]
    return version === undefined ? versions?.[versions.length - 1] : versions?.[version - 1]
  }

  /** The newest version of every record type, sorted by name. */
  recordTypes(): RecordType[] {
    return [...this.#types.values()]
      .map((versions) => versions[versions.length - 1])
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** All versions of a record type, oldest first. */
  versionsOf(id: string): readonly RecordType[] {
    return this.#types.get(id) ?? []
  }

  /**
   * The fields of a type and its supertypes. A field that occurs more than once is mandatory if any
   * occurrence is; its other rules are those nearest to the type.
   */
  effectiveFields(type: RecordType): ReadonlyMap<string, FieldEntry> {
    return this.ruledFields(type).all
  }

  /** All fields of a type and its supertypes; and the unique, linked and mandatory ones. */
  ruledFields(type: RecordType): RuledFields {
    let found = this.#ruled.get(type)
    if (found === undefined) {
      const all = this.#collect(type)
      const entries = [...all.values()]
      found = {
        all,
        unique: entries.filter(({ unique }) => unique === true),
        linked: entries.filter(({ linkTarget }) => linkTarget !== undefined),
        mandatory: entries.filter(({ mandatory }) => mandatory),
      }
      this.#ruled.set(type, found)
    }
    return found
  }

  #collect(type: RecordType): ReadonlyMap<string, FieldEntry> {
    const entries = new Map<string, FieldEntry>()
    const seen = new Set<RecordType>()
    const visit = (at: RecordType): void => {
      if (seen.has(at)) return
      seen.add(at)
      for (const entry of at.fields) {
        const nearer = entries.get(entry.field)
        if (nearer === undefined) entries.set(entry.field, entry)
        else if (entry.mandatory && !nearer.mandatory) {
          entries.set(entry.field, Object.freeze({ ...nearer, mandatory: true }))
        }
      }
      for (const { id, version } of at.supertypes) {
        const supertype = this.#types.get(id)?.[version - 1]
        if (supertype !== undefined) visit(supertype)
      }
    }
    visit(type)
    return entries
  }

  /** Ids of the types whose newest version has this type as a supertype, at any version. */
  directSubtypes(id: string): string[] {
    return this.recordTypes()
      .filter(({ supertypes }) => supertypes.some((supertype) => supertype.id === id))
      .map((type) => type.id)
  }

  /** Ids of all direct and indirect subtypes, without the type itself. */
  subtypes(id: string): Set<string> {
    const found = new Set<string>()
    const waiting = [id]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const subtype of this.directSubtypes(next)) {
        if (subtype === id || found.has(subtype)) continue
        found.add(subtype)
        waiting.push(subtype)
      }
    }
    return found
  }

  putField(field: FieldType): void {
    const before = this.#fieldsById.get(field.id)
    assert(before === undefined || before.ordinal === field.ordinal, 'numbers of types stay')
    // Another type may have taken the name meanwhile.
    if (before !== undefined && this.#fieldsByName.get(before.name) === before) {
      this.#fieldsByName.delete(before.name)
    }
    this.#fieldChanges++
    const frozen = Object.freeze(field)
    this.#fieldsById.set(field.id, frozen)
    this.#fieldsByName.set(field.name, frozen)
    this.#fieldsByOrdinal[field.ordinal] = frozen
  }

  /** Puts all versions of a record type; they share one name. */
  putRecordType(versions: readonly RecordType[]): void {
    const newest = versions[versions.length - 1]
    const before = this.#types.get(newest.id)?.at(-1)
    assert(before === undefined || before.ordinal === newest.ordinal, 'numbers of types stay')
    if (before !== undefined && this.#typesByName.get(before.name) === newest.id) {
      this.#typesByName.delete(before.name)
    }
    const frozen = versions.map(frozenJson)
    this.#types.set(newest.id, frozen)
    this.#typesByName.set(newest.name, newest.id)
    this.#typesByOrdinal[newest.ordinal] = frozen
  }
}

function frozenJson<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozenJson)
  return Object.freeze(value)
}
