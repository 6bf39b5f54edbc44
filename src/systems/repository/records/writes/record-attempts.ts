/**
 * Prepares creates, updates and deletes of records. The input of a write is fixed at the call. Each
 * attempt applies the input to the present record.
 */
import { readArguments, shown } from '../../../../api/index.js'
import { invalidArgument, invalidRecord, repositoryError, versionNotFound } from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import type { FieldType, RecordType } from '../../schema/types.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { taggedVersions } from '../field-values.js'
import {
  lacksVersion,
  readHead,
  readLive,
  versionParts,
  versionsAtOnce,
  versionState,
  versionStates,
  viewOf,
  type LiveHead,
  type StoredHead,
  type WantedFields,
} from '../reads/record-heads.js'
import { encodeHead, encodeVersion, type RecordState, type VersionState } from '../record-state.js'
import type { RecordInput, StoredRecord, WriteStatus } from '../record.js'
import type { TableContext } from '../table-context.js'
import {
  createState,
  deleteState,
  hasSeen,
  mutateVersion,
  noVersions,
  updateState,
  withOwnMetadata,
  type RecordChange,
  type StateChange,
} from './record-change.js'
import {
  copyInput,
  prepareInput,
  validate,
  withDefaults,
  type PreparedInput,
} from './record-input.js'
import {
  checkRevision,
  createOptions,
  deleteSettings,
  holds,
  updateSettings,
  type CreateOptions,
  type DeleteOptions,
  type DeleteSettings,
  type UpdateOptions,
  type UpdateSettings,
} from './write-options.js'

/** A write ready for the commit, or the result that nothing is to be written. */
export interface PreparedWrite {
  readonly status: WriteStatus
  /** Undefined if nothing is to be written. */
  readonly change: RecordChange | undefined
  /** Builds the record of the result. */
  readonly show: () => StoredRecord
  /** Builds the stored record with the same fields; undefined if there is no record. */
  readonly showStored: () => StoredRecord | undefined
}

/** A write with its input fixed at the call. Each run applies the input to the present record. */
export interface Attempt {
  readonly id: RecordId
  readonly run: () => Promise<PreparedWrite>
}

/** Returns the input after the hooks; `head` is undefined for a new record. */
type Submitted = (id: RecordId, head: LiveHead | undefined) => Promise<PreparedInput>

/** The attempt of a create. */
export function creating(
  context: TableContext,
  given: RecordInput,
  options: CreateOptions = {},
): Attempt {
  context.checkOpen()
  const { useLatestRecordType } = createOptions.read(options)
  const submitted = submit(context, given)
  const own = readArguments(() => given.id)
  const id = own === undefined ? RecordId.random(context.randomBytes) : RecordId.of(own)
  return { id, run: () => create(context, id, submitted, useLatestRecordType) }
}

/** The attempt of an update. */
export function updating(
  context: TableContext,
  given: RecordInput,
  options?: UpdateOptions,
): Attempt {
  context.checkOpen()
  const settings = updateSettings(options, context.schema)
  const submitted = submit(context, given)
  const own = readArguments(() => given.id)
  if (own === undefined) throw invalidArgument('an update needs an id')
  const id = RecordId.of(own)
  return { id, run: () => update(context, id, submitted, settings) }
}

/** The attempt of a delete. */
export function deleting(
  context: TableContext,
  idLike: RecordIdLike,
  options: DeleteOptions = {},
): Attempt {
  context.checkOpen()
  const settings = deleteSettings(options, context.schema)
  const id = RecordId.of(idLike)
  return { id, run: () => remove(context, id, settings) }
}

/** Fixes the input: encoded, or copied if there are hooks. */
function submit(context: TableContext, given: RecordInput): Submitted {
  const { schema, hooks } = context
  if (hooks.length === 0) {
    const prepared = prepareInput(given, schema)
    return () => Promise.resolve(prepared)
  }
  const copied = copyInput(given)
  return async (id, head) => {
    return prepareInput(await hooked(context, copyInput(copied), id, head), schema)
  }
}

async function hooked(
  context: TableContext,
  given: RecordInput,
  id: RecordId,
  head: LiveHead | undefined,
): Promise<RecordInput> {
  const { hooks, repository, name: table } = context
  const stored = head && viewOf(context, id, head.bytes, undefined)
  let input = given
  for (const hook of hooks) {
    const about = { repository, table, id, stored }
    const changed = await (head === undefined
      ? hook.beforeCreate?.(input, about)
      : hook.beforeUpdate?.(input, about))
    if (changed === undefined) continue
    if (changed.id !== undefined && !RecordId.of(changed.id).equals(id)) {
      throw invalidArgument(`the hook ${shown(hook.name)} changes the id of a record`)
    }
    input = changed
  }
  return input
}

async function create(
  context: TableContext,
  id: RecordId,
  submitted: Submitted,
  useLatest: boolean,
): Promise<PreparedWrite> {
  const { schema, clock } = context
  const prepared = await submitted(id, undefined)
  if (prepared.type === undefined) throw invalidRecord('a new record needs a record type')
  const rules = newestOf(prepared.type, schema)
  const input = withDefaults(prepared, rules, schema)
  if (input.sets.size === 0) throw invalidRecord('a new record needs a field')
  const head = await readHead(context, id)
  const { state: before } = head
  if (before !== undefined && !before.isDeleted) throw recordExists(id)
  const created = createState(input, useLatest ? rules : prepared.type, clock.now(), before)
  const { after } = created
  validate(after, after.latest, input, rules, schema)
  // Versions of the deleted record can no longer be read; this write removes them.
  const change = await removing(context, head, created, before?.first, before?.version)
  return {
    status: 'CREATED',
    change,
    show: shower(context, id, after),
    showStored: () => undefined,
  }
}

async function update(
  context: TableContext,
  id: RecordId,
  submitted: Submitted,
  settings: UpdateSettings,
): Promise<PreparedWrite> {
  const head = await readLive(context, id)
  const { bytes, state } = head
  checkRevision(head, settings.revision)
  const { schema, clock } = context
  const input = withOwnMetadata(await submitted(id, head), schema, state)
  if (settings.version !== undefined)
    return mutate(context, head, input, settings.version, settings)
  const named = namedIn(input)
  const showStored = (): StoredRecord => viewOf(context, id, bytes, named)
  if (!holds(settings.conditions, state, state.version, state.latest)) {
    return unchanged('CONFLICT', showStored)
  }
  const { useLatestRecordType: useLatest, autosave: isAutosave } = settings
  const type = chooseType(schema, input, state, useLatest)
  const updated = updateState(state, input, {
    type,
    writesType: !useLatest && input.type !== undefined,
    time: clock.now(),
    isAutosave,
    taggedIn: (fields) => taggedVersions(fields, schema),
  })
  const after = updated?.after ?? state
  validate(after, after.latest, input, newestOf(type, schema), schema)
  if (updated === undefined) return unchanged('UP_TO_DATE', showStored)
  const show = shower(context, id, after, named)
  return { status: 'UPDATED', change: changeOf(head, updated, noVersions), show, showStored }
}

async function remove(
  context: TableContext,
  id: RecordId,
  { revision, conditions, attributes }: DeleteSettings,
): Promise<PreparedWrite> {
  const head = await readLive(context, id)
  const { bytes, state } = head
  checkRevision(head, revision)
  const { repository, name: table, hooks, undeleteMilliseconds, clock } = context
  const stored = viewOf(context, id, bytes, undefined)
  const show = (): StoredRecord => stored
  for (const hook of hooks) await hook.beforeDelete?.({ repository, table, id, stored })
  if (!holds(conditions, state, state.version, state.latest)) {
    const named = conditions.flatMap(({ field }) => (field === undefined ? [] : [field.ordinal]))
    return unchanged('CONFLICT', () => viewOf(context, id, bytes, new Set(named)))
  }
  const keeps = undeleteMilliseconds > 0
  const after = deleteState(state, clock.now(), keeps)
  const event = { kind: 'deleted', fields: [], attributes } as const
  const first = keeps ? 0 : state.first
  const change = await removing(context, head, { after, event }, first, state.version - 1)
  return { status: 'DELETED', change, show, showStored: show }
}

async function mutate(
  context: TableContext,
  head: LiveHead,
  input: PreparedInput,
  version: number,
  { useLatestRecordType: useLatest, conditions }: UpdateSettings,
): Promise<PreparedWrite> {
  const { id, bytes, state: before } = head
  const { schema, clock } = context
  const mutable = ({ scope }: FieldType): boolean => scope === 'VERSIONED_MUTABLE'
  const own: PreparedInput = {
    ...input,
    sets: new Map([...input.sets].filter(([, { field }]) => mutable(field))),
    deletes: new Map([...input.deletes].filter(([, field]) => mutable(field))),
  }
  const states = await statesFrom(context, head, version, own)
  const old = states.get(version)!
  const named = namedIn(input)
  const viewer = (head: () => Buffer, state: VersionState) => (): StoredRecord => {
    return viewOf(context, id, head(), named, { version, bytes: encodeVersion(state) })
  }
  const showStored = viewer(() => bytes, old)
  if (!holds(conditions, before, version, old)) return unchanged('CONFLICT', showStored)
  const type = chooseType(schema, own, before, useLatest)
  const mutated = mutateVersion(before, version, states, own, { type, time: clock.now() })
  const isNewest = version === before.version
  const ofVersion = (isNewest ? mutated?.after.latest : mutated?.versions.get(version)) ?? old
  validate(before, ofVersion, own, newestOf(type, schema), schema)
  if (mutated === undefined) return unchanged('UP_TO_DATE', showStored)
  const show = viewer(() => encodeHead(mutated.after), ofVersion)
  return { status: 'UPDATED', change: changeOf(head, mutated, states), show, showStored }
}

/** The states from a version on that a change of this version may reach. */
async function statesFrom(
  context: TableContext,
  head: LiveHead,
  version: number,
  input: PreparedInput,
): Promise<Map<number, VersionState>> {
  const states = new Map<number, VersionState>()
  let missing = [...input.sets.keys()]
  for (let at = version; at === version || at <= head.state.version; at++) {
    const state = await versionState(context, head, at)
    if (state === undefined) throw versionNotFound(head.id, at)
    states.set(at, state)
    missing = missing.filter((ordinal) => !hasSeen(state, ordinal))
    if (missing.length === 0) break
  }
  return states
}

/** The version of the record type that an update stores. */
function chooseType(
  schema: SchemaCache,
  { type }: PreparedInput,
  state: RecordState,
  useLatest: boolean,
): RecordType {
  if (type !== undefined) return useLatest ? newestOf(type, schema) : type
  const { ordinal, version } = state.type
  const stored = schema.recordTypeAt(ordinal, useLatest ? undefined : version)
  if (stored === undefined) throw invalidRecord(`the record type ${ordinal} does not exist`)
  return stored
}

/** Rules are those of the newest version of a type, even if the write stores an older version. */
function newestOf(type: RecordType, schema: SchemaCache): RecordType {
  return schema.recordTypeById(type.id)
}

// The parts are listed one by one, because every update passes here and a spread is slower.
function changeOf(
  { id, bytes: beforeBytes, state: before }: StoredHead,
  { after, versions, event }: StateChange,
  versionsBefore: ReadonlyMap<number, VersionState>,
): RecordChange {
  return { id, beforeBytes, before, after, versions, versionsBefore, event }
}

/**
 * The change of a write that removes the versions from `first` to `last`, by default none. Lost
 * versions are removed with the others. `ERR_CORRUPTION` if all of one part are lost: the head of
 * the record is wrong.
 */
export async function removing(
  context: TableContext,
  head: StoredHead,
  { after, event }: Pick<StateChange, 'after' | 'event'>,
  first = 0,
  last = 0,
): Promise<RecordChange> {
  const before = new Map<number, VersionState>()
  for (const part of first === 0 ? [] : versionParts(first, last)) {
    const found = await versionStates(context, head.id, part)
    if (found.size === 0 && part.length === versionsAtOnce) throw lacksVersion(head.id, part[0])
    for (const [version, state] of found) before.set(version, state)
  }
  const versions = new Map([...before.keys()].map((version) => [version, undefined]))
  return changeOf(head, { after, versions, event }, before)
}

/** A write that changes nothing. */
export function unchanged(status: WriteStatus, show: () => StoredRecord): PreparedWrite {
  return { status, change: undefined, show, showStored: show }
}

/** Shows the newest version of a state. */
export function shower(
  context: TableContext,
  id: RecordId,
  state: RecordState,
  wanted?: WantedFields,
): () => StoredRecord {
  return () => viewOf(context, id, encodeHead(state), wanted)
}

function namedIn({ sets, deletes }: PreparedInput): WantedFields {
  return new Set([...sets.keys(), ...deletes.keys()])
}

/** Makes an `ERR_RECORD_EXISTS`. */
export function recordExists(id: RecordId): Error {
  return repositoryError('recordExists', `there is a record ${id.text} already`)
}
