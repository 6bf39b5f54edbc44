/**
 * The blobs in the fields of a record. The states of blobs are updated in the batches that write
 * records: a blob becomes used with the first record that refers to it, and dead with the write
 * that removes its last reference. A failed write reserves nothing.
 */
import { shown, type AtomicMutation, type Clock, type Table } from '../../../api/index.js'
import { concurrentUpdate, invalidArgument, invalidRecord, repositoryError } from '../errors.js'
import type { StoredRecord } from '../records/record.js'
import { leafOf } from '../schema/type-contents.js'
import type { RecordChange } from '../records/writes/record-change.js'
import type { FieldCells } from '../records/record-state.js'
import { decodeField } from '../records/field-values.js'
import type { FieldType } from '../schema/types.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { inlineStore, type Blob } from '../values/blob-value.js'
import { eachValue } from '../values/nested-types.js'
import type { ValueType } from '../values/value-type.js'
import { blobNotFound, parseBlobKey } from './blob-store.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from '../records/writes/commit.js'
import { decodeState, encodeState, stateColumn, type BlobState } from './blob-state.js'

interface ReferenceChange {
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
function referenceChanges(change: RecordChange, schema: SchemaCache): readonly ReferenceChange[] {
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

interface Reference extends ReferenceChange {
  readonly changed: TableChange
}

/** The commit part that counts references; `remove` deletes a dead blob: its bytes and its row. */
export function blobLedger(
  table: Table,
  clock: Clock,
  remove: (key: Buffer) => Promise<void>,
): CommitPart {
  const count = async (groups: readonly Reference[][]): Promise<PartWrites> => {
    const gets = groups.map(([{ key }]) => ({ row: key, columns: [stateColumn] }))
    const rows = await table.getList(gets)
    const checks: CommitCheck[] = []
    const mutations: AtomicMutation[] = []
    const dead: Buffer[] = []
    groups.forEach((references, index) => {
      const { key, changed } = references[0]
      const stored = rows[index].value(stateColumn)
      const state = nextState(references, stored, clock.now())
      if (state === undefined) return
      const row = { table, row: key }
      const failure = (): Error => concurrentUpdate(`a blob of ${changed.change.id.text}`)
      checks.push({ check: { ...row, column: stateColumn, equals: stored! }, failure })
      const cells = { [stateColumn]: encodeState(state) }
      mutations.push({ ...row, mutations: [{ put: { cells, timestamp: 1 } }] })
      if (state.kind === 'dead') dead.push(key)
    })
    // The row of a dead blob stays until the blob is removed, so a sweep can repeat the removal.
    const committed = async (): Promise<void> => {
      for (const key of dead) await remove(key)
    }
    return { checks, mutations, committed }
  }
  return (changes) => {
    const byKey = new Map<string, Reference[]>()
    for (const changed of changes) {
      for (const reference of referenceChanges(changed.change, changed.context.schema)) {
        const name = reference.key.toString('latin1')
        byKey.set(name, [...(byKey.get(name) ?? []), { ...reference, changed }])
      }
    }
    return byKey.size === 0 ? undefined : count([...byKey.values()])
  }
}

/** The state after a write; undefined if the blob is gone and the write only drops references. */
function nextState(
  references: readonly Reference[],
  stored: Buffer | undefined,
  time: number,
): BlobState | undefined {
  const before = stored === undefined ? undefined : decodeState(stored, references[0].key)
  let owner = before?.owner
  let count = before?.references ?? 0
  for (const { changed, field, delta, wasThere, key, newSizes } of references) {
    const { context, change } = changed
    const isGone = before === undefined || before.kind === 'open' || before.kind === 'dead'
    // Another writer has taken it out of the record since that was read.
    if (isGone && wasThere && delta > 0) throw concurrentUpdate(`a blob of ${change.id.text}`)
    if (delta > 0) {
      const table = context.key.toString('utf8')
      const isOwn =
        owner?.table === table &&
        owner.record.equals(change.id.bytes) &&
        owner.field === field.ordinal
      if (isGone) {
        const { store } = parseBlobKey(key)
        throw invalidRecord(`${field.name} has a blob that is not in the store ${store}`)
      }
      if (owner !== undefined && !isOwn) {
        throw invalidRecord(`${field.name} has a blob that belongs to another record or field`)
      }
      owner = { table, record: change.id.bytes, field: field.ordinal }
    }
    if ([...newSizes].some((size) => size !== before?.size)) {
      throw invalidRecord(`${field.name} has a blob with another size than its bytes have`)
    }
    count += delta
  }
  if (before === undefined) return undefined
  // Another writer has dropped the same references since the record was read.
  if (count < 0) throw concurrentUpdate(`a blob of ${references[0].changed.change.id.text}`)
  if (count > 0) return { ...before, kind: 'used', time, references: count, owner }
  return { ...before, kind: 'dead', time, references: 0, owner: undefined }
}
