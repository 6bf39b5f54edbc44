/**
 * Computes how a write changes the state of a record. The functions are pure: nothing is read or
 * written.
 */
import type { FieldType, RecordType, Scope } from '../../schema/types.js'
import type { RecordId } from '../../record-id.js'
import { mergeMetadata } from '../metadata.js'
import type { PreparedInput } from './record-input.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import {
  newestCell,
  noNumbers,
  sameBytes,
  type FieldCells,
  type RecordState,
  type TypeReference,
  type VersionState,
} from '../record-state.js'

/** A change of one record. */
export interface RecordChange {
  readonly id: RecordId
  /** The stored head from which the change was computed, and its state; undefined without a row. */
  readonly beforeBytes: Buffer | undefined
  readonly before: RecordState | undefined
  readonly after: RecordState
  /** New states of versions that are no longer the newest; undefined = removed. */
  readonly versions: ReadonlyMap<number, VersionState | undefined>
  /** The states of these versions before the write, as far as they were read. */
  readonly versionsBefore: ReadonlyMap<number, VersionState>
  readonly event: ChangeEvent
}

/** The part of a change that follows from state and input. */
export type StateChange = Pick<RecordChange, 'after' | 'versions' | 'event'>

/** The content of the event of a change. */
export interface ChangeEvent {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly versionCreated?: number | undefined
  readonly versionUpdated?: number | undefined
  readonly oldestVersion?: number | undefined
  readonly isTypeChanged?: boolean | undefined
  /** Added, changed and removed fields. */
  readonly fields: readonly FieldType[]
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

function referenceOf({ ordinal, version }: RecordType): TypeReference {
  return { ordinal, version }
}

/**
 * Adds the stored values of fields that change in metadata only; fields without a value are
 * skipped.
 */
export function withOwnMetadata(
  input: PreparedInput,
  schema: SchemaCache,
  state: RecordState,
): PreparedInput {
  if (input.metadata.size === 0) return input
  const sets = new Map(input.sets)
  for (const ordinal of input.metadata.keys()) {
    if (sets.has(ordinal) || input.deletes.has(ordinal)) continue
    const cell = newestCell(state, ordinal)
    if (cell !== undefined)
      sets.set(ordinal, { field: schema.storedFieldAt(ordinal), bytes: cell.value })
  }
  return { ...input, sets }
}

const noCells: FieldCells = new Map()
/** The states of no version. */
export const noVersions: ReadonlyMap<number, VersionState> = new Map()

/**
 * The fields after the changes of one scope; undefined if nothing changes. Changed field types are
 * added to `changed`.
 */
function changeFields(
  before: FieldCells,
  input: PreparedInput,
  scope: Scope,
  changed: FieldType[],
): FieldCells | undefined {
  let after: FieldCells | undefined
  for (const { field, bytes } of input.sets.values()) {
    if (field.scope !== scope) continue
    const { ordinal } = field
    const old = before.get(ordinal)
    const asked = input.metadata.get(ordinal)
    const metadata =
      asked === undefined
        ? old?.metadata
        : mergeMetadata(old?.metadata, asked.changes, asked.deletes)
    if (sameBytes(old?.value, bytes) && sameBytes(old?.metadata, metadata)) continue
    after ??= new Map(before)
    after.set(ordinal, { value: bytes, metadata })
    changed.push(field)
  }
  for (const [ordinal, field] of input.deletes) {
    if (field.scope !== scope || !(after ?? before).has(ordinal)) continue
    after ??= new Map(before)
    after.delete(ordinal)
    changed.push(field)
  }
  return after
}

/** The marks of removed fields after a change; `fields` are the fields after it. */
function changeRemoved(
  before: ReadonlySet<number>,
  changed: readonly FieldType[],
  fields: FieldCells,
): ReadonlySet<number> {
  let after: Set<number> | undefined
  for (const { scope, ordinal } of changed) {
    if (scope !== 'VERSIONED_MUTABLE' || fields.has(ordinal) !== before.has(ordinal)) continue
    after ??= new Set(before)
    if (fields.has(ordinal)) after.delete(ordinal)
    else after.add(ordinal)
  }
  return after ?? before
}

/** The change of a create. After a deleted record, version numbers and revision continue. */
export function createState(
  input: PreparedInput,
  type: RecordType,
  now: number,
  deleted: RecordState | undefined,
): StateChange {
  const time = Math.max(now, deleted?.modified ?? 0)
  const empty: RecordState = {
    isDeleted: false,
    isKeptEmpty: false,
    occ: deleted?.occ ?? 0,
    version: 0,
    first: 0,
    last: deleted?.last ?? 0,
    autosave: 0,
    created: time,
    modified: time,
    type: referenceOf(type),
    fields: noCells,
    latest: undefined,
  }
  const changing = { type, writesType: true, time, isAutosave: false, taggedIn: () => noNumbers }
  return updateState(empty, input, changing, 'created')!
}

/** What an update is made with, besides its input. */
export interface Changing {
  readonly type: RecordType
  /** Whether a change of the type alone is written. */
  readonly writesType: boolean
  readonly time: number
  /** Whether the version may be overwritten by the next autosave. */
  readonly isAutosave: boolean
  /** The versions that the version tags among fields point to. */
  readonly taggedIn: (fields: FieldCells) => ReadonlySet<number>
}

/**
 * The change of an update; undefined if it changes nothing. An update that is no autosave ends a
 * pending autosave, even without other changes.
 */
export function updateState(
  before: RecordState,
  input: PreparedInput,
  { type, writesType, time, isAutosave, taggedIn }: Changing,
  kind: ChangeEvent['kind'] = 'updated',
): StateChange | undefined {
  const changed: FieldType[] = []
  const reference = referenceOf(type)
  const fields = changeFields(before.fields, input, 'NON_VERSIONED', changed)
  const old = before.latest?.fields ?? noCells
  const versioned = changeFields(old, input, 'VERSIONED', changed)
  const mutable = changeFields(versioned ?? old, input, 'VERSIONED_MUTABLE', changed)
  const { ordinal, version: typeVersion } = before.type
  const isTypeChanged = ordinal !== reference.ordinal || typeVersion !== reference.version
  if (changed.length === 0 && !(writesType && isTypeChanged)) {
    return isAutosave ? undefined : endAutosave(before, time)
  }
  const newest = fields ?? before.fields
  let { version, first, last, latest } = before
  let autosave = isAutosave ? before.autosave : 0
  let versions = noVersions
  let isUpdated = false
  if (versioned !== undefined || mutable !== undefined) {
    // An autosave replaces the autosave before, unless a version tag points to that version.
    isUpdated =
      autosave !== 0 && ![before.fields, newest].some((each) => taggedIn(each).has(before.version))
    const made = Math.max(time, before.latest?.created ?? 0)
    const ofVersion = mutable ?? versioned!
    latest = {
      created: isUpdated ? before.latest!.created : made,
      modified: isUpdated ? Math.max(made, before.latest!.modified) : made,
      versionedType: versioned === undefined ? before.latest?.versionedType : reference,
      mutableType: mutable === undefined ? before.latest?.mutableType : reference,
      removed: changeRemoved(before.latest?.removed ?? noNumbers, changed, ofVersion),
      fields: ofVersion,
    }
    if (!isUpdated) {
      // The version before gets a cell of its own.
      if (before.latest !== undefined) versions = new Map([[version, before.latest]])
      version = before.last + 1
      last = version
      if (first === 0) first = version
      if (isAutosave) autosave = version
    }
  }
  // Listed one by one, because every update passes here and a spread is slower.
  const after: RecordState = {
    isDeleted: before.isDeleted,
    isKeptEmpty: before.isKeptEmpty,
    occ: before.occ + 1,
    version,
    first,
    last,
    autosave,
    created: before.created,
    modified: Math.max(time, before.modified),
    type: reference,
    fields: newest,
    latest,
  }
  const event: ChangeEvent = {
    kind,
    versionCreated: version === before.version ? undefined : version,
    versionUpdated: isUpdated ? version : undefined,
    isTypeChanged,
    fields: changed,
    attributes: input.attributes,
  }
  return { after, versions, event }
}

/** Whether a version has a mutable field, or the field was removed in it. */
export function hasSeen({ fields, removed }: VersionState, ordinal: number): boolean {
  return fields.has(ordinal) || removed.has(ordinal)
}

/**
 * Changes the mutable fields of one version; undefined if nothing changes. `stored` are the
 * versions from this one on that the change may reach. A field that the version never had is also
 * set in later versions, up to the first one that has the field or removed it.
 */
export function mutateVersion(
  before: RecordState,
  version: number,
  stored: ReadonlyMap<number, VersionState>,
  input: PreparedInput,
  { type, time }: Pick<Changing, 'type' | 'time'>,
): StateChange | undefined {
  const changed: FieldType[] = []
  const old = stored.get(version)!
  const fields = changeFields(old.fields, input, 'VERSIONED_MUTABLE', changed)
  if (fields === undefined) {
    return version === before.autosave ? endAutosave(before, time) : undefined
  }
  const states = new Map<number, VersionState>()
  const modified = Math.max(time, old.modified)
  const removed = changeRemoved(old.removed, changed, fields)
  states.set(version, { ...old, modified, mutableType: referenceOf(type), removed, fields })
  for (const { ordinal } of changed) {
    if (hasSeen(old, ordinal)) continue
    const cell = fields.get(ordinal)!
    for (let next = version + 1; next <= before.version; next++) {
      const state = states.get(next) ?? stored.get(next)
      if (state === undefined || hasSeen(state, ordinal)) break
      states.set(next, { ...state, fields: new Map(state.fields).set(ordinal, cell) })
    }
  }
  const latest = states.get(before.version) ?? before.latest
  states.delete(before.version)
  const after: RecordState = {
    ...before,
    occ: before.occ + 1,
    autosave: version === before.autosave ? 0 : before.autosave,
    modified: Math.max(time, before.modified),
    latest,
  }
  const event = {
    kind: 'updated',
    fields: changed,
    versionUpdated: version,
    attributes: input.attributes,
  } as const
  return { after, versions: states, event }
}

/** Ends a pending autosave, so that no autosave overwrites the newest version. */
export function endAutosave(before: RecordState, time: number): StateChange | undefined {
  if (before.autosave === 0) return undefined
  const modified = Math.max(time, before.modified)
  const after: RecordState = { ...before, occ: before.occ + 1, autosave: 0, modified }
  return { after, versions: noVersions, event: { kind: 'updated', fields: [] } }
}

/** The head of a deleted record. With `keeps` its contents stay, for an undelete. */
export function deleteState(before: RecordState, time: number, keeps: boolean): RecordState {
  const modified = Math.max(time, before.modified)
  const common = { ...before, occ: before.occ + 1, isDeleted: true, autosave: 0, modified }
  if (keeps) return { ...common, isKeptEmpty: before.version === 0 && before.fields.size === 0 }
  return {
    ...common,
    isKeptEmpty: false,
    version: 0,
    first: 0,
    fields: new Map(),
    latest: undefined,
  }
}
