/**
 * The field types and record types that a configuration names. They are resolved to ids when the
 * configuration is given, and stored with it, so a renamed type stays the same type.
 */
import type { FieldType, RecordType } from '../../schema/types.js'
import type { SchemaCache } from '../../schema/schema-cache.js'

/** Ids by the names in a configuration. */
export interface StoredNames {
  /** Ids of field types. */
  readonly fields: Readonly<Record<string, string>>
  /** Ids of record types. */
  readonly recordTypes: Readonly<Record<string, string>>
}

/** Finds types by the names in one configuration. */
export class BoundNames {
  readonly schema: SchemaCache
  readonly #fields: Map<string, string>
  readonly #recordTypes: Map<string, string>

  /** Names in `stored` keep their stored ids; other names resolve by the present schema. */
  constructor(schema: SchemaCache, stored?: StoredNames) {
    this.schema = schema
    this.#fields = new Map(Object.entries(stored?.fields ?? {}))
    this.#recordTypes = new Map(Object.entries(stored?.recordTypes ?? {}))
  }

  /** The field type of a name. `ERR_FIELD_TYPE_NOT_FOUND`. */
  field(name: string): FieldType {
    const id = this.#fields.get(name)
    const field = id === undefined ? this.schema.field(name) : this.schema.fieldById(id)
    this.#fields.set(name, field.id)
    return field
  }

  /** The record type of a name. `ERR_RECORD_TYPE_NOT_FOUND`. */
  recordType(name: string): RecordType {
    const id = this.#recordTypes.get(name)
    const type = id === undefined ? this.schema.recordType(name) : this.schema.recordTypeById(id)
    this.#recordTypes.set(name, type.id)
    return type
  }

  /** See {@link recordType}; undefined if there is no such type. */
  findRecordType(name: string): RecordType | undefined {
    const isKnown = this.#recordTypes.has(name) || this.schema.findRecordType(name) !== undefined
    return isKnown ? this.recordType(name) : undefined
  }

  get stored(): StoredNames {
    const sorted = (ids: ReadonlyMap<string, string>): Record<string, string> => {
      return Object.fromEntries([...ids].sort(([a], [b]) => (a < b ? -1 : 1)))
    }
    return { fields: sorted(this.#fields), recordTypes: sorted(this.#recordTypes) }
  }
}
