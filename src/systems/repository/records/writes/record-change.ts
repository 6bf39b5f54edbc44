/**
 * How a write changes the state of a record. Pure: states and input go in, a change comes out, and
 * nothing is read or written.
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
import type { PreparedInput } from './prepared-input.js'
import type { FieldCells, RecordState, TypeReference, VersionState } from '../record-state.js'

/** A change of one record. */
export interface RecordChange {
  readonly id: RecordId
  /** The stored head that the change was made from, and its state; undefined = no row. */
  readonly beforeBytes: Buffer | undefined
  readonly before: RecordState | undefined
  readonly after: RecordState
  /** Versions that are no longer the newest, as they become; undefined = removed. */
  readonly versions: ReadonlyMap<number, VersionState | undefined>
  /** The same versions as they were, as far as they were read. */
  readonly versionsBefore: ReadonlyMap<number, VersionState>
  readonly event: ChangeEvent
}

/** What a write changes of the state of a record. */
export type StateChange = Pick<RecordChange, 'after' | 'versions' | 'event'>

/** What the event of a change says. */
export interface ChangeEvent {
  readonly kind: 'created' | 'updated' | 'deleted'
  readonly versionCreated?: number | undefined
  readonly versionUpdated?: number | undefined
  readonly isTypeChanged?: boolean | undefined
  /** Added, changed and removed fields. */
  readonly fields: readonly FieldType[]
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A number of a record type and its version. */
export function referenceOf({ ordinal, version }: RecordType): TypeReference {
  return { ordinal, version }
}

function sameType(a: TypeReference | undefined, b: TypeReference | undefined): boolean {
  return a?.ordinal === b?.ordinal && a?.version === b?.version
}

/** Metadata of fields whose values the input does not set; those that have no value drop out. */
export function withOwnMetadata(
  input: PreparedInput,
  fieldAt: (ordinal: number) => FieldType,
  state: RecordState,
): PreparedInput {
  if (input.metadata.size === 0) return input
  const sets = new Map(input.sets)
  for (const ordinal of input.metadata.keys()) {
    if (sets.has(ordinal) || input.deletes.has(ordinal)) continue
    const cell = state.fields.get(ordinal) ?? state.latest?.fields.get(ordinal)
    if (cell !== undefined) sets.set(ordinal, { field: fieldAt(ordinal), bytes: cell.value })
  }
  return { ...input, sets }
}

const noVersions: ReadonlyMap<number, VersionState> = new Map()

/** The state of a new record, also over that of a deleted one, whose numbers go on. */
export function createState(
  input: PreparedInput,
  type: RecordType,
  time: number,
  deleted: RecordState | undefined,
): { readonly state: RecordState; readonly fields: FieldType[] } {
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
  const state: RecordState = {
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
  return { state, fields: changed }
}

/** How an update goes on with types and versions. */
export interface UpdateSettings {
  readonly type: RecordType
  /** Whether a change of the type alone is written. */
  readonly writesType: boolean
  readonly time: number
  /** Whether the version may be overwritten by the next autosave. */
  readonly isAutosave: boolean
  /** The versions to which version tags among fields point. */
  readonly taggedIn: (fields: FieldCells) => ReadonlySet<number>
}

/**
 * An update of a record, undefined if it changes nothing. One that is no autosave changes at least
 * that the newest version is none any more.
 */
export function updateState(
  before: RecordState,
  input: PreparedInput,
  { type, writesType, time, isAutosave, taggedIn }: UpdateSettings,
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
  // Part by part: this is the way of every update, and a spread costs more than all of its parts.
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
  // An autosave takes the place of the one before it, unless a version tag points there.
  const mayOverwrite =
    isAutosave &&
    before.autosave !== 0 &&
    ![before.fields, after.fields].some((each) => taggedIn(each).has(before.version))
  if (mayOverwrite) return overwrite(before, { ...after, latest }, event)
  return addVersion(before, { ...after, latest }, event, isAutosave)
}

/** Puts the newest state in the place of the autosave before it. */
function overwrite(before: RecordState, after: RecordState, event: ChangeEvent): StateChange {
  const { version, latest: old } = before
  const modified = Math.max(after.latest!.modified, old!.modified)
  const latest: VersionState = { ...after.latest!, created: old!.created, modified }
  const versionUpdated = version
  return { after: { ...after, latest }, versions: noVersions, event: { ...event, versionUpdated } }
}

/** Makes a version of the newest state, and keeps the one before it. */
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

/** Keeps the newest version as it is: no autosave overwrites it any more. */
export function endAutosave(before: RecordState, time: number): StateChange | undefined {
  if (before.autosave === 0) return undefined
  const modified = Math.max(time, before.modified)
  const after: RecordState = { ...before, occ: before.occ + 1, autosave: 0, modified }
  return { after, versions: noVersions, event: { kind: 'updated', fields: [] } }
}

/** The head of a deleted record. With `keeps` all of it stays, for an undelete. */
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
