/**
 * How a write changes the state of a record. Pure: states and input go in, a change comes out, and
 * nothing is read or written.
 */
import type { RecordType } from '../schema/record-type.js'
import type { FieldType, Scope } from '../schema/field-type.js'
import type { RecordId } from '../record-id.js'
import { mergeMetadata } from './metadata.js'
import type { PreparedInput } from './prepared-input.js'
import type { FieldCells, RecordState, TypeReference, VersionState } from './record-state.js'

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

function sameBytes(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b))
}

/** Fields with the changes of some scopes; undefined if nothing changes. */
function changeFields(
  before: FieldCells,
  input: PreparedInput,
  inScope: (scope: Scope) => boolean,
  changed: FieldType[],
): FieldCells | undefined {
  let after: FieldCells | undefined
  for (const { field, bytes } of input.sets.values()) {
    if (!inScope(field.scope)) continue
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
    if (!inScope(field.scope) || !(after ?? before).has(ordinal)) continue
    after ??= new Map(before)
    after.delete(ordinal)
    changed.push(field)
  }
  return after
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

const noCells: FieldCells = new Map()
const noVersions: ReadonlyMap<number, VersionState> = new Map()

const isNonVersioned = (scope: Scope): boolean => scope === 'NON_VERSIONED'
const isVersioned = (scope: Scope): boolean => scope === 'VERSIONED'
const isMutable = (scope: Scope): boolean => scope === 'VERSIONED_MUTABLE'

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
  const state: RecordState = {
    occ: (deleted?.occ ?? 0) + 1,
    isDeleted: false,
    version,
    first: version,
    last: Math.max(last, version),
    autosave: 0,
    created: time,
    modified: time,
    type: reference,
    fields,
    latest: hasVersion
      ? {
          time,
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
}

/** An update of a record, undefined if it changes nothing. */
export function updateState(
  before: RecordState,
  input: PreparedInput,
  { type, writesType, time, isAutosave }: UpdateSettings,
): Pick<RecordChange, 'after' | 'versions' | 'event'> | undefined {
  const changed: FieldType[] = []
  const reference = referenceOf(type)
  const fields = changeFields(before.fields, input, isNonVersioned, changed)
  const old = before.latest?.fields ?? noCells
  const versioned = changeFields(old, input, isVersioned, changed)
  const mutable = changeFields(versioned ?? old, input, isMutable, changed)
  const isTypeChanged = !sameType(before.type, reference)
  if (changed.length === 0 && !(writesType && isTypeChanged)) return undefined
  // Part by part: this is the way of every update, and a spread costs more than all of its parts.
  const after: RecordState = {
    isDeleted: before.isDeleted,
    occ: before.occ + 1,
    version: before.version,
    first: before.first,
    last: before.last,
    autosave: before.autosave,
    created: before.created,
    modified: time,
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
  const latest: VersionState = {
    time,
    versionedType: versioned === undefined ? before.latest?.versionedType : reference,
    mutableType: mutable === undefined ? before.latest?.mutableType : reference,
    fields: mutable ?? versioned!,
  }
  // An autosave takes the place of the one before it.
  if (isAutosave && before.autosave !== 0 && before.autosave === before.version) {
    const { version } = before
    return {
      after: { ...after, latest },
      versions: new Map(),
      event: { ...event, versionUpdated: version },
    }
  }
  const version = before.last + 1
  const versions = new Map<number, VersionState>()
  if (before.latest !== undefined) versions.set(before.version, before.latest)
  return {
    after: {
      ...after,
      version,
      last: version,
      first: before.first === 0 ? version : before.first,
      autosave: isAutosave ? version : 0,
      latest,
    },
    versions,
    event: { ...event, versionCreated: version },
  }
}

/**
 * A change of the mutable fields of one version, undefined if nothing changes. `following` are the
 * versions behind it, in order: fields that it lacked and gets are shown by those behind it too, up
 * to the first that has its own.
 */
export function mutateVersion(
  before: RecordState,
  version: number,
  stored: ReadonlyMap<number, VersionState>,
  input: PreparedInput,
  { type, time }: Pick<UpdateSettings, 'type' | 'time'>,
): Pick<RecordChange, 'after' | 'versions' | 'event'> | undefined {
  const changed: FieldType[] = []
  const old = stored.get(version)!
  const fields = changeFields(old.fields, input, isMutable, changed)
  if (fields === undefined) return undefined
  const states = new Map<number, VersionState>()
  states.set(version, { ...old, time, mutableType: referenceOf(type), fields })
  for (const { ordinal } of changed) {
    if (old.fields.has(ordinal)) continue
    const cell = fields.get(ordinal)!
    for (let next = version + 1; next <= before.version; next++) {
      const state = states.get(next) ?? stored.get(next)
      if (state === undefined || state.fields.has(ordinal)) break
      states.set(next, { ...state, fields: new Map(state.fields).set(ordinal, cell) })
    }
  }
  const latest = states.get(before.version) ?? before.latest
  states.delete(before.version)
  const after = { ...before, occ: before.occ + 1, modified: time, latest }
  const event = {
    kind: 'updated',
    fields: changed,
    versionUpdated: version,
    attributes: input.attributes,
  } as const
  return { after, versions: states, event }
}

/** The head of a deleted record. With `keeps` all of it stays, for an undelete. */
export function deleteState(before: RecordState, time: number, keeps: boolean): RecordState {
  const common = { ...before, occ: before.occ + 1, isDeleted: true, modified: time }
  if (keeps) return common
  return {
    ...common,
    version: 0,
    first: 0,
    autosave: 0,
    fields: new Map(),
    latest: undefined,
  }
}
