/**
 * Prepares creates, updates and deletes of one table. The input of a write is fixed at the call.
 * Each attempt applies the input to the present record.
 */
import { readArguments, shown } from '../../../../api/index.js'
import {
  invalidArgument,
  invalidRecord,
  RepositoryError,
  RepositoryErrorCode,
} from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordType } from '../../schema/record-type.js'
import { checkRevision } from './commit.js'
import { holds } from './conditions.js'
import { hasSeen, mutateVersion } from './mutable-change.js'
import { prepareInput, type PreparedInput } from './prepared-input.js'
import {
  createState,
  deleteState,
  updateState,
  withOwnMetadata,
  type RecordChange,
} from './record-change.js'
import type { RecordReader, StoredHead } from '../reads/record-reader.js'
import type { FieldCells, RecordState, VersionState } from '../record-state.js'
import { recordNotFound, versionNotFound, type WantedFields } from '../reads/record-view.js'
import type { RecordInput, StoredRecord } from '../record.js'
import { copyInput } from './submission.js'
import type { TableContext } from '../table-context.js'
import { validate, withDefaults } from '../validation.js'
import { taggedVersions } from '../version-tags.js'
import {
  checkCreate,
  deleteWishes,
  updateWishes,
  type Attempt,
  type CreateOptions,
  type DeleteOptions,
  type PreparedWrite,
  type UpdateOptions,
  type Wishes,
} from './write-options.js'

const noVersions: ReadonlyMap<number, VersionState> = new Map()

/** Returns the input after the hooks. */
type Submitted = (id: RecordId, state: RecordState | undefined) => Promise<PreparedInput>

/** Prepares the writes of a record table. */
export class RecordAttempts {
  readonly #context: TableContext
  readonly #reader: RecordReader

  constructor(context: TableContext, reader: RecordReader) {
    this.#context = context
    this.#reader = reader
  }

  /** The attempt of a create. */
  creating(given: RecordInput, options: CreateOptions = {}): Attempt {
    this.#context.checkOpen()
    const { useLatestRecordType } = checkCreate(options)
    const submitted = this.#submit(given)
    const { randomBytes } = this.#context
    const own = readArguments(() => given.id)
    const id = own === undefined ? RecordId.random(randomBytes) : RecordId.of(own)
    return { id, run: () => this.#create(id, submitted, useLatestRecordType) }
  }

  /** The attempt of an update. */
  updating(given: RecordInput, options: UpdateOptions = {}): Attempt {
    this.#context.checkOpen()
    const wishes = updateWishes(options, this.#context.schema)
    const submitted = this.#submit(given)
    const own = readArguments(() => given.id)
    if (own === undefined) throw invalidArgument('an update needs an id')
    const id = RecordId.of(own)
    return { id, run: () => this.#update(id, submitted, wishes) }
  }

  /** The attempt of a delete. */
  deleting(idLike: RecordIdLike, options: DeleteOptions = {}): Attempt {
    this.#context.checkOpen()
    const wishes = deleteWishes(options, this.#context.schema)
    const id = RecordId.of(idLike)
    return { id, run: () => this.#delete(id, wishes) }
  }

  /** Fixes the input: encoded, or copied if there are hooks. */
  #submit(given: RecordInput): Submitted {
    const { schema, hooks } = this.#context
    if (hooks.length === 0) {
      const prepared = prepareInput(given, schema)
      return () => Promise.resolve(prepared)
    }
    const copied = copyInput(given)
    return async (id, state) => {
      return prepareInput(await this.#hooked(copyInput(copied), id, state), schema)
    }
  }

  async #create(
    id: RecordId,
    submitted: Submitted,
    useLatest: boolean | undefined,
  ): Promise<PreparedWrite> {
    const { schema, clock } = this.#context
    const prepared = await submitted(id, undefined)
    if (prepared.type === undefined) throw invalidRecord('a new record needs a record type')
    const type = this.#chooseType(prepared, undefined, useLatest)
    const rules = this.#newest(type)
    const withFields = withDefaults(prepared, rules, schema)
    if (withFields.sets.size === 0) throw invalidRecord('a new record needs a field')
    const { bytes, state: before } = await this.#reader.head(id)
    if (before !== undefined && !before.isDeleted) throw recordExists(id)
    const { state, fields } = createState(withFields, type, clock.now(), before)
    validate(state, state.latest, withFields, rules, schema)
    // Versions of the deleted record can no longer be read; this write removes them.
    const leftovers = before === undefined ? [] : range(before.first, before.version)
    const versionsBefore = await this.#reader.versionStates(id, leftovers)
    const change: RecordChange = {
      id,
      beforeBytes: bytes,
      before,
      after: state,
      versions: new Map(leftovers.map((version) => [version, undefined])),
      versionsBefore,
      event: {
        kind: 'created',
        versionCreated: state.latest === undefined ? undefined : state.version,
        fields,
        attributes: prepared.attributes,
      },
    }
    const show = (): StoredRecord => this.#shown(id, state, undefined)
    return { id, change, status: 'CREATED', show, showStored: () => undefined }
  }

  async #update(id: RecordId, submitted: Submitted, wishes: Wishes): Promise<PreparedWrite> {
    const { options, conditions } = wishes
    const head = await this.#reader.head(id)
    const { state } = head
    if (state === undefined || state.isDeleted) throw recordNotFound(id)
    checkRevision(id, state, options.revision)
    const { schema, clock } = this.#context
    const prepared = withOwnMetadata(
      await submitted(id, state),
      (ordinal) => schema.fieldAt(ordinal)!,
      state,
    )
    if (options.version !== undefined) return this.#mutate(id, head, prepared, wishes)
    const showStored = (): StoredRecord => this.#shown(id, state, namedIn(prepared))
    if (!holds(conditions, state, state.version, state.latest)) {
      return { id, change: undefined, status: 'CONFLICT', show: showStored, showStored }
    }
    const { useLatestRecordType = true, autosave = false } = options
    const type = this.#chooseType(prepared, state, useLatestRecordType)
    const settings = {
      type,
      writesType: !useLatestRecordType && prepared.type !== undefined,
      time: clock.now(),
      isAutosave: autosave,
      taggedIn: (fields: FieldCells) => taggedVersions(fields, schema),
    }
    const updated = updateState(state, prepared, settings)
    const after = updated?.after ?? state
    validate(after, after.latest, prepared, this.#newest(type), schema)
    const show = (): StoredRecord => this.#shown(id, after, namedIn(prepared))
    if (updated === undefined) {
      return { id, change: undefined, status: 'UP_TO_DATE', show, showStored }
    }
    const { versions, event } = updated
    const beforeBytes = head.bytes
    const versionsBefore = noVersions
    const change = { id, beforeBytes, before: state, after, versions, versionsBefore, event }
    return { id, change, status: 'UPDATED', show, showStored }
  }

  async #delete(
    id: RecordId,
    { options: { revision }, conditions, attributes }: Wishes,
  ): Promise<PreparedWrite> {
    const { bytes, state } = await this.#reader.head(id)
    if (state === undefined || state.isDeleted) throw recordNotFound(id)
    checkRevision(id, state, revision)
    const { repository, name: table, hooks, undeleteMilliseconds, clock } = this.#context
    const stored = this.#shown(id, state, undefined)
    const show = (): StoredRecord => stored
    for (const hook of hooks) await hook.beforeDelete?.({ repository, table, id, stored })
    if (!holds(conditions, state, state.version, state.latest)) {
      const named = conditions.flatMap(({ field }) => (field === undefined ? [] : [field.ordinal]))
      const shownOnly = (): StoredRecord => this.#shown(id, state, new Set(named))
      return { id, change: undefined, status: 'CONFLICT', show: shownOnly, showStored: shownOnly }
    }
    const keeps = undeleteMilliseconds > 0
    const leftovers = keeps ? [] : range(state.first, state.version - 1)
    const versionsBefore = await this.#reader.versionStates(id, leftovers)
    const change: RecordChange = {
      id,
      beforeBytes: bytes,
      before: state,
      after: deleteState(state, clock.now(), keeps),
      versions: new Map(leftovers.map((version) => [version, undefined])),
      versionsBefore,
      event: { kind: 'deleted', fields: [], attributes },
    }
    return { id, change, status: 'DELETED', show, showStored: show }
  }

  async #mutate(
    id: RecordId,
    { bytes, state }: StoredHead,
    input: PreparedInput,
    { options: { version = 0, useLatestRecordType = true }, conditions }: Wishes,
  ): Promise<PreparedWrite> {
    const before = state!
    if (version < before.first || version > before.version || version === 0) {
      throw versionNotFound(id, version)
    }
    const mutable = (field: FieldType): boolean => field.scope === 'VERSIONED_MUTABLE'
    const own: PreparedInput = {
      ...input,
      sets: new Map([...input.sets].filter(([, { field }]) => mutable(field))),
      deletes: new Map([...input.deletes].filter(([, field]) => mutable(field))),
    }
    const states = await this.#statesFrom(id, before, version, own)
    const old = states.get(version)!
    const { schema, clock, views } = this.#context
    const showStored = (): StoredRecord => {
      return views.ofState(id, before, version, old, namedIn(input))
    }
    if (!holds(conditions, before, version, old)) {
      return { id, change: undefined, status: 'CONFLICT', show: showStored, showStored }
    }
    const type = this.#chooseType(own, before, useLatestRecordType)
    const settings = { type, time: clock.now() }
    const mutated = mutateVersion(before, version, states, own, settings)
    const after =
      version === before.version
        ? (mutated?.after.latest ?? old)
        : (mutated?.versions.get(version) ?? old)
    validate(before, after, own, this.#newest(type), schema)
    const show = (): StoredRecord => {
      return views.ofState(id, mutated?.after ?? before, version, after, namedIn(input))
    }
    if (mutated === undefined) {
      return { id, change: undefined, status: 'UP_TO_DATE', show, showStored }
    }
    const change = { id, beforeBytes: bytes, before, versionsBefore: states, ...mutated }
    return { id, change, status: 'UPDATED', show, showStored }
  }

  /** The states from a version on that a change of this version may reach. */
  async #statesFrom(
    id: RecordId,
    before: RecordState,
    version: number,
    input: PreparedInput,
  ): Promise<Map<number, VersionState>> {
    const states = new Map<number, VersionState>()
    let missing = new Set(input.sets.keys())
    for (let at = version; at <= before.version; at++) {
      const state =
        at === before.version
          ? before.latest!
          : (await this.#reader.versionStates(id, [at])).get(at)
      if (state === undefined) throw versionNotFound(id, at)
      states.set(at, state)
      missing = new Set([...missing].filter((ordinal) => !hasSeen(state, ordinal)))
      if (missing.size === 0) break
    }
    return states
  }

  /** The version of the record type that a write stores. */
  #chooseType(
    { type }: PreparedInput,
    state: RecordState | undefined,
    useLatest = true,
  ): RecordType {
    const { schema } = this.#context
    if (type === undefined) {
      const { ordinal, version } = state!.type
      const stored = schema.recordTypeAt(ordinal, useLatest ? undefined : version)
      if (stored === undefined) throw invalidRecord(`the record type ${ordinal} does not exist`)
      return stored
    }
    return useLatest ? schema.recordTypeById(type.recordType.id) : type.recordType
  }

  /** Rules are those of the newest version of a type, even if the write stores an older version. */
  #newest(type: RecordType): RecordType {
    return this.#context.schema.recordTypeById(type.id)
  }

  #shown(id: RecordId, state: RecordState, wanted: WantedFields): StoredRecord {
    return this.#context.views.ofState(id, state, state.version, state.latest, wanted)
  }

  async #hooked(
    given: RecordInput,
    id: RecordId,
    state: RecordState | undefined,
  ): Promise<RecordInput> {
    const { hooks, repository, name: table } = this.#context
    const stored = state === undefined ? undefined : this.#shown(id, state, undefined)
    let input = given
    for (const hook of hooks) {
      const context = { repository, table, id, stored }
      const changed = await (state === undefined
        ? hook.beforeCreate?.(input, context)
        : hook.beforeUpdate?.(input, context))
      if (changed === undefined) continue
      if (changed.id !== undefined && !RecordId.of(changed.id).equals(id)) {
        throw invalidArgument(`the hook ${shown(hook.name)} changes the id of a record`)
      }
      input = changed
    }
    return input
  }
}

/** The fields that an input sets or removes. */
function namedIn({ sets, deletes }: PreparedInput): WantedFields {
  return new Set([...sets.keys(), ...deletes.keys()])
}

function range(from: number, to: number): number[] {
  const count = from === 0 ? 0 : Math.max(0, to - from + 1)
  return Array.from({ length: count }, (_, index) => from + index)
}

/** Makes an `ERR_RECORD_EXISTS`. */
export function recordExists(id: RecordId): RepositoryError {
  return new RepositoryError(
    RepositoryErrorCode.recordExists,
    `there is a record ${id.text} already`,
  )
}
