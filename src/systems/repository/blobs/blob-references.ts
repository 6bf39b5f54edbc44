/** The blobs in the stored states of a record, and the changes of their references by a write. */
import type { RecordChange } from '../records/writes/record-change.js'
import type { FieldCells } from '../records/record-state.js'
import { decodeField } from '../records/field-values.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { inlineStore, type Blob } from '../values/blob-value.js'
import type { EmbeddedRecord } from '../values/nested-types.js'
import type { ValueType } from '../values/value-type.js'
import { parseBlobKey } from './blob-store.js'

/** The change of the number of references from one field to a blob. */
export interface ReferenceChange {
  /** The whole key, with the name of the store. */
  readonly key: Buffer
  readonly field: FieldType
  delta: number
  /** Sizes in the values after the change that no value before had. */
  readonly newSizes: ReadonlySet<number>
}

/** Whether values of a type may hold blobs, also in embedded records. */
export function mayHoldBlobs({ base, element }: ValueType): boolean {
  if (element !== undefined) return mayHoldBlobs(element)
  return base === 'BLOB' || base === 'RECORD'
}

/** Calls back for every blob of a value, also in embedded records. */
function eachBlob(
  type: ValueType,
  value: unknown,
  schema: SchemaCache,
  callback: (blob: Blob) => void,
): void {
  if (type.element !== undefined) {
    for (const each of value as unknown[]) eachBlob(type.element, each, schema, callback)
  } else if (type.base === 'BLOB') callback(value as Blob)
  else if (type.base === 'RECORD') {
    for (const [name, inner] of Object.entries((value as EmbeddedRecord).fields)) {
      eachBlob(schema.field(name).type, inner, schema, callback)
    }
  }
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
      if (field === undefined || !mayHoldBlobs(field.type)) continue
      eachBlob(field.type, decodeField(field, value, schema), schema, ({ key, size }) => {
        if (parseBlobKey(key).store === inlineStore) return
        const name = `${ordinal} ${key.toString('latin1')}`
        const known = found.get(name) ?? { key, field, delta: 0, newSizes: new Set<number>() }
        known.delta += sign
        if (sign > 0) known.newSizes.add(size)
        else oldSizes.add(`${size} ${name}`)
        found.set(name, known)
      })
    }
  }
  const { before, after, versions, versionsBefore, event } = change
  // An update changes only the fields of its event, and most fields hold no blobs.
  const isSmall = versions.size === 0 && (event.kind === 'updated' || before === undefined)
  if (isSmall && !event.fields.some(({ type }) => mayHoldBlobs(type))) return none
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
