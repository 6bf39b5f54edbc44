/**
 * Computes how a write changes the state of a record. The functions are pure: nothing is read or
 * written.
 */
import type { RecordType } from '../../schema/record-type.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordId } from '../../record-id.js'
import {
  changeFields,
  changeRemoved,
  isMutable,
  isNonVersioned,
  isVersioned,
  noCells,
  noNumbers,
} from './field-changes.js'
import type { PreparedInput } from './record-input.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import {
  newestCell,
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
  readonly isTypeChanged?: boolean | undefined
  /** Added, changed and removed fields. */
  readonly fields: readonly FieldType[]
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** The reference to a version of a record type. */
export function referenceOf({ ordinal, version }: RecordType): TypeReference {
  return { ordinal, version }
}

function sameType(a: TypeReference | undefined, b: TypeReference | undefined): boolean {
  return a?.ordinal === b?.ordinal && a?.version === b?.version
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
      sets.set(ordinal, { field: schema.fieldAt(ordinal)!, bytes: cell.value })
  }
  return { ...input, sets }
}

const noVersions: ReadonlyMap<number, VersionState> = new Map()

/** The change of a create. After a deleted record, version numbers and revision continue. */
export function createState(
  input: PreparedInput,
  type: RecordType,
  time: number,
  deleted: RecordState | undefined,
): Pick<StateChange, 'after' | 'event'> {
  const changed: FieldType[] = []
  const reference = referenceOf(type)
  const none: FieldCells = new Map()
  const fields = changeFields(none, input, isNonVersioned, changed) ?? none
  const versioned = changeFields(none, input, isVersioned, changed)
  const mutable = changeFields(none, input, isMutable, changed)
  const hasVersion = versioned !== undefined || mutable !== undefined
  const last = deleted?.last ?? 0
  const version = hasVersion ? last + 1 : 0
  const created = Math.max(time, deleted?.modified ?? 0)
  const after: RecordState = {
    occ: (deleted?.occ ?? 0) + 1,
    isDeleted: false,
    version,
    first: version,
    last: Math.max(last, version),
    autosave: 0,
    created,
    modified: created,
    type: reference,
    fields,
    latest: hasVersion
      ? {
          created,
          modified: created,
          removed: noNumbers,
          versionedType: versioned === undefined ? undefined : reference,
          mutableType: mutable === undefined ? undefined : reference,
          fields: new Map([...(versioned ?? none), ...(mutable ?? none)]),
        }
      : undefined,
  }
  const { attributes } = input
  const versionCreated = hasVersion ? version : undefined
  return { after, event: { kind: 'created', versionCreated, fields: changed, attributes } }
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
): StateChange | undefined {
  const changed: FieldType[] = []
  const reference = referenceOf(type)
  const fields = changeFields(before.fields, input, isNonVersioned, changed)
  const old = before.latest?.fields ?? noCells
  const versioned = changeFields(old, input, isVersioned, changed)
  const mutable = changeFields(versioned ?? old, input, isMutable, changed)
  const isTypeChanged = !sameType(before.type, reference)
  if (changed.length === 0 && !(writesType && isTypeChanged)) {
    return isAutosave ? undefined : endAutosave(before, time)
  }
  // Listed one by one, because every update passes here and a spread is slower.
  const after: RecordState = {
    isDeleted: before.isDeleted,
    occ: before.occ + 1,
    version: before.version,
    first: before.first,
    last: before.last,
    autosave: isAutosave ? before.autosave : 0,
    created: before.created,
    modified: Math.max(time, before.modified),
    type: reference,
    fields: fields ?? before.fields,
    latest: before.latest,
  }
  const event = {
    kind: 'updated',
    fields: changed,
    isTypeChanged,
    attributes: input.attributes,
  } as const
  if (versioned === undefined && mutable === undefined) {
    return { after, versions: noVersions, event }
  }
  const ofVersion = mutable ?? versioned!
  const made = Math.max(time, before.latest?.created ?? 0)
  const latest: VersionState = {
    created: made,
    modified: made,
    versionedType: versioned === undefined ? before.latest?.versionedType : reference,
    mutableType: mutable === undefined ? before.latest?.mutableType : reference,
    removed: changeRemoved(before.latest?.removed ?? noNumbers, changed, ofVersion),
    fields: ofVersion,
  }
  // An autosave replaces the autosave before, unless a version tag points to that version.
  const mayOverwrite =
    isAutosave &&
    before.autosave !== 0 &&
    ![before.fields, after.fields].some((each) => taggedIn(each).has(before.version))
  if (mayOverwrite) return overwrite(before, { ...after, latest }, event)
  return addVersion(before, { ...after, latest }, event, isAutosave)
}

/** Replaces the autosave before by the newest state. */
function overwrite(before: RecordState, after: RecordState, event: ChangeEvent): StateChange {
  const { version, latest: old } = before
  const modified = Math.max(after.latest!.modified, old!.modified)
  const latest: VersionState = { ...after.latest!, created: old!.created, modified }
  const versionUpdated = version
  return { after: { ...after, latest }, versions: noVersions, event: { ...event, versionUpdated } }
}

/** Makes a version of the newest state, and keeps the version before. */
function addVersion(
  before: RecordState,
  after: RecordState,
  event: ChangeEvent,
  isAutosave: boolean,
): StateChange {
  const version = before.last + 1
  const versions = new Map<number, VersionState>()
  if (before.latest !== undefined) versions.set(before.version, before.latest)
  const first = before.first === 0 ? version : before.first
  const autosave = isAutosave ? version : 0
  return {
    after: { ...after, version, last: version, first, autosave },
    versions,
    event: { ...event, versionCreated: version },
  }
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
  const fields = changeFields(old.fields, input, isMutable, changed)
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
  if (keeps) return common
  return {
    ...common,
    version: 0,
    first: 0,
    fields: new Map(),
    latest: undefined,
  }
}
