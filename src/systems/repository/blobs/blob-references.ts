/** The blobs in the fields of a record, and the changes of their references by a write. */
import { shown } from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import type { StoredRecord } from '../records/record.js'
import { leafOf } from '../schema/rule-checks.js'
import type { RecordChange } from '../records/writes/record-change.js'
import type { FieldCells } from '../records/record-state.js'
import { decodeField } from '../records/field-values.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { inlineStore, type Blob } from '../values/blob-value.js'
import { eachValue } from '../values/nested-types.js'
import type { ValueType } from '../values/value-type.js'
import { blobNotFound, parseBlobKey } from './blob-store.js'

/** The change of the number of references from one field to a blob. */
export interface ReferenceChange {
  /** The whole key, with the name of the store. */
  readonly key: Buffer
  readonly field: FieldType
  delta: number
  /** Whether the field had the blob before the change, in some version. */
  wasThere: boolean
  /** Sizes in the values after the change that no value before had. */
  readonly newSizes: ReadonlySet<number>
}

/** Whether values of a field may hold blobs, also in embedded records. */
function mayHoldBlobs(field: FieldType): boolean {
  return ['BLOB', 'RECORD'].includes(leafOf(field).base)
}

const none: ReferenceChange[] = []

/** The changes of references by key and field. Inline blobs have no references. */
export function referenceChanges(
  change: RecordChange,
  schema: SchemaCache,
): readonly ReferenceChange[] {
  const found = new Map<string, ReferenceChange & { readonly newSizes: Set<number> }>()
  /** By name: sizes in values before the write. */
  const oldSizes = new Set<string>()
  const count = (cells: FieldCells | undefined, sign: 1 | -1): void => {
    for (const [ordinal, { value }] of cells ?? []) {
      const field = schema.fieldAt(ordinal)
      if (field === undefined || !mayHoldBlobs(field)) continue
      const note = (each: unknown, { base }: ValueType): void => {
        if (base !== 'BLOB') return
        const { key, size } = each as Blob
        if (parseBlobKey(key).store === inlineStore) return
        const name = `${ordinal} ${key.toString('latin1')}`
        const first = { key, field, delta: 0, wasThere: false, newSizes: new Set<number>() }
        const known = found.get(name) ?? first
        known.delta += sign
        if (sign > 0) known.newSizes.add(size)
        else {
          oldSizes.add(`${size} ${name}`)
          known.wasThere = true
        }
        found.set(name, known)
      }
      eachValue(field.type, decodeField(field, value, schema), note, schema)
    }
  }
  const { before, after, versions, versionsBefore, event } = change
  // An update changes only the fields of its event, and most fields hold no blobs.
  const isSmall = versions.size === 0 && (event.kind === 'updated' || before === undefined)
  if (isSmall && !event.fields.some(mayHoldBlobs)) return none
  // Parts that a write does not change are the same object before and after.
  if (before?.fields !== after.fields) {
    count(before?.fields, -1)
    count(after.fields, 1)
  }
  if (before?.latest?.fields !== after.latest?.fields) {
    count(before?.latest?.fields, -1)
    count(after.latest?.fields, 1)
  }
  for (const [version, state] of versions) {
    count(versionsBefore.get(version)?.fields, -1)
    count(state?.fields, 1)
  }
  for (const [name, { newSizes }] of found) {
    for (const size of newSizes) if (oldSizes.has(`${size} ${name}`)) newSizes.delete(size)
  }
  return [...found.values()].filter(({ delta, newSizes }) => delta !== 0 || newSizes.size > 0)
}

/**
 * The blob at the given indexes of a field. `ERR_BLOB` for a field without blobs,
 * `ERR_FIELD_NOT_FOUND` if the record has no value, `ERR_BLOB_NOT_FOUND` for too few, too many or
 * too great indexes.
 */
export function blobAt(record: StoredRecord, field: FieldType, indexes: readonly number[]): Blob {
  if (leafOf(field).base !== 'BLOB') {
    throw repositoryError('blob', `${field.name} is ${field.valueType}, which holds no blobs`)
  }
  let value = record.fields[field.name]
  if (value === undefined) {
    throw repositoryError('fieldNotFound', `the record ${record.id.text} has no ${field.name}`)
  }
  let { type } = field
  for (const index of indexes) {
    if (!Number.isSafeInteger(index)) throw invalidArgument(`no index ${shown(index)}`)
    const elements = type.element === undefined ? undefined : (value as readonly unknown[])
    if (elements === undefined || index < 0 || index >= elements.length) {
      throw blobNotFound(`${field.name} has no blob at ${indexes.join()}`)
    }
    value = elements[index]
    type = type.element!
  }
  if (type.element !== undefined) {
    throw blobNotFound(`${field.name} is ${field.valueType}; give an index for each level`)
  }
  return value as Blob
}
