/**
 * Prepares creates, updates and deletes of one table. The input of a write is fixed at the call.
 * Each attempt applies the input to the present record.
 */
import { readArguments, shown } from '../../../../api/index.js'
import { invalidArgument, invalidRecord, repositoryError, versionNotFound } from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import type { FieldType } from '../../schema/field-type.js'
import type { RecordType } from '../../schema/record-type.js'
import { holds } from '../conditions.js'
import { taggedVersions } from '../field-values.js'
import type { LiveHead, RecordReader } from '../reads/record-reader.js'
import type { WantedFields } from '../reads/record-view.js'
import type { FieldCells, RecordState, VersionState } from '../record-state.js'
import type { RecordInput, StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import { validate, withDefaults } from '../validation.js'
import {
  removing,
  unchanged,
  versionRange,
  type Attempt,
  type PreparedWrite,
} from './prepared-write.js'
import {
  createState,
  deleteState,
  hasSeen,
  mutateVersion,
  updateState,
  withOwnMetadata,
} from './record-change.js'
import { copyInput, prepareInput, type PreparedInput } from './record-input.js'
import {
  checkRevision,
  createOptions,
  deleteSettings,
  updateSettings,
  type CreateOptions,
  type DeleteOptions,
  type DeleteSettings,
  type UpdateOptions,
  type UpdateSettings,
} from './write-options.js'

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
    const { useLatestRecordType } = createOptions.read(options)
    const submitted = this.#submit(given)
    const own = readArguments(() => given.id)
    const id = own === undefined ? RecordId.random(this.#context.randomBytes) : RecordId.of(own)
    return { id, run: () => this.#create(id, submitted, useLatestRecordType) }
  }

  /** The attempt of an update. */
  updating(given: RecordInput, options?: UpdateOptions): Attempt {
    this.#context.checkOpen()
    const settings = updateSettings(options, this.#context.schema)
    const submitted = this.#submit(given)
    const own = readArguments(() => given.id)
    if (own === undefined) throw invalidArgument('an update needs an id')
    const id = RecordId.of(own)
    return { id, run: () => this.#update(id, submitted, settings) }
  }

  /** The attempt of a delete. */
  deleting(idLike: RecordIdLike, options: DeleteOptions = {}): Attempt {
    this.#context.checkOpen()
    const settings = deleteSettings(options, this.#context.schema)
    const id = RecordId.of(idLike)
    return { id, run: () => this.#delete(id, settings) }
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

  async #create(id: RecordId, submitted: Submitted, useLatest: boolean): Promise<PreparedWrite> {
    const { schema, clock } = this.#context
    const prepared = await submitted(id, undefined)
    if (prepared.type === undefined) throw invalidRecord('a new record needs a record type')
    const type = useLatest ? this.#newest(prepared.type) : prepared.type
    const rules = this.#newest(type)
    const input = withDefaults(prepared, rules, schema)
    if (input.sets.size === 0) throw invalidRecord('a new record needs a field')
    const head = await this.#reader.head(id)
    const { state: before } = head
    if (before !== undefined && !before.isDeleted) throw recordExists(id)
    const created = createState(input, type, clock.now(), before)
    const { after } = created
    validate(after, after.latest, input, rules, schema)
    // Versions of the deleted record can no longer be read; this write removes them.
    const leftovers = before === undefined ? [] : versionRange(before.first, before.version)
    const change = await removing(this.#reader, head, created, leftovers)
    const show = (): StoredRecord => this.#shown(id, after)
    return { status: 'CREATED', change, show, showStored: () => undefined }
  }

  async #update(
    id: RecordId,
    submitted: Submitted,
    settings: UpdateSettings,
  ): Promise<PreparedWrite> {
    const head = await this.#reader.live(id)
    const { bytes, state } = head
    checkRevision(head, settings.revision)
    const { schema, clock } = this.#context
    const input = withOwnMetadata(await submitted(id, state), schema, state)
    if (settings.version !== undefined) return this.#mutate(head, input, settings.version, settings)
    const named = namedIn(input)
    const showStored = (): StoredRecord => this.#shown(id, state, named)
    if (!holds(settings.conditions, state, state.version, state.latest)) {
      return unchanged('CONFLICT', showStored)
    }
    const { useLatestRecordType: useLatest, autosave: isAutosave } = settings
    const type = this.#chooseType(input, state, useLatest)
    const updated = updateState(state, input, {
      type,
      writesType: !useLatest && input.type !== undefined,
      time: clock.now(),
      isAutosave,
      taggedIn: (fields: FieldCells) => taggedVersions(fields, schema),
    })
    const after = updated?.after ?? state
    validate(after, after.latest, input, this.#newest(type), schema)
    const show = (): StoredRecord => this.#shown(id, after, named)
    if (updated === undefined) return unchanged('UP_TO_DATE', show)
    // Listed one by one, because every update passes here and a spread is slower.
    const { versions, event } = updated
    const versionsBefore = noVersions
    const change = { id, beforeBytes: bytes, before: state, after, versions, versionsBefore, event }
    return { status: 'UPDATED', change, show, showStored }
  }

  async #delete(
    id: RecordId,
    { revision, conditions, attributes }: DeleteSettings,
  ): Promise<PreparedWrite> {
    const head = await this.#reader.live(id)
    const { state } = head
    checkRevision(head, revision)
    const { repository, name: table, hooks, undeleteMilliseconds, clock } = this.#context
    const stored = this.#shown(id, state)
    const show = (): StoredRecord => stored
    for (const hook of hooks) await hook.beforeDelete?.({ repository, table, id, stored })
    if (!holds(conditions, state, state.version, state.latest)) {
      const named = conditions.flatMap(({ field }) => (field === undefined ? [] : [field.ordinal]))
      return unchanged('CONFLICT', () => this.#shown(id, state, new Set(named)))
    }
    const keeps = undeleteMilliseconds > 0
    const after = deleteState(state, clock.now(), keeps)
    const event = { kind: 'deleted', fields: [], attributes } as const
    const leftovers = keeps ? [] : versionRange(state.first, state.version - 1)
    const change = await removing(this.#reader, head, { after, event }, leftovers)
    return { status: 'DELETED', change, show, showStored: show }
  }

  async #mutate(
    head: LiveHead,
    input: PreparedInput,
    version: number,
    { useLatestRecordType: useLatest, conditions }: UpdateSettings,
  ): Promise<PreparedWrite> {
    const { id, bytes, state: before } = head
    const mutable = (field: FieldType): boolean => field.scope === 'VERSIONED_MUTABLE'
    const own: PreparedInput = {
      ...input,
      sets: new Map([...input.sets].filter(([, { field }]) => mutable(field))),
      deletes: new Map([...input.deletes].filter(([, field]) => mutable(field))),
    }
    const states = await this.#statesFrom(head, version, own)
    const old = states.get(version)!
    const { schema, clock, views } = this.#context
    const named = namedIn(input)
    const showStored = (): StoredRecord => views.ofState(id, before, version, old, named)
    if (!holds(conditions, before, version, old)) return unchanged('CONFLICT', showStored)
    const type = this.#chooseType(own, before, useLatest)
    const mutated = mutateVersion(before, version, states, own, { type, time: clock.now() })
    const isNewest = version === before.version
    const after = (isNewest ? mutated?.after.latest : mutated?.versions.get(version)) ?? old
    validate(before, after, own, this.#newest(type), schema)
    const show = (): StoredRecord => {
      return views.ofState(id, mutated?.after ?? before, version, after, named)
    }
    if (mutated === undefined) return unchanged('UP_TO_DATE', show)
    const change = { id, beforeBytes: bytes, before, versionsBefore: states, ...mutated }
    return { status: 'UPDATED', change, show, showStored }
  }

  /** The states from a version on that a change of this version may reach. */
  async #statesFrom(
    head: LiveHead,
    version: number,
    input: PreparedInput,
  ): Promise<Map<number, VersionState>> {
    const states = new Map<number, VersionState>()
    let missing = [...input.sets.keys()]
    for (let at = version; at === version || at <= head.state.version; at++) {
      const state = await this.#reader.versionState(head, at)
      if (state === undefined) throw versionNotFound(head.id, at)
      states.set(at, state)
      missing = missing.filter((ordinal) => !hasSeen(state, ordinal))
      if (missing.length === 0) break
    }
    return states
  }

  /** The version of the record type that an update stores. */
  #chooseType({ type }: PreparedInput, state: RecordState, useLatest: boolean): RecordType {
    if (type !== undefined) return useLatest ? this.#newest(type) : type
    const { ordinal, version } = state.type
    const stored = this.#context.schema.recordTypeAt(ordinal, useLatest ? undefined : version)
    if (stored === undefined) throw invalidRecord(`the record type ${ordinal} does not exist`)
    return stored
  }

  /** Rules are those of the newest version of a type, even if the write stores an older version. */
  #newest(type: RecordType): RecordType {
    return this.#context.schema.recordTypeById(type.id)
  }

  #shown(id: RecordId, state: RecordState, wanted?: WantedFields): StoredRecord {
    return this.#context.views.ofState(id, state, state.version, state.latest, wanted)
  }

  async #hooked(
    given: RecordInput,
    id: RecordId,
    state: RecordState | undefined,
  ): Promise<RecordInput> {
    const { hooks, repository, name: table } = this.#context
    const stored = state === undefined ? undefined : this.#shown(id, state)
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

const noVersions: ReadonlyMap<number, VersionState> = new Map()

/** The fields that an input sets or removes. */
function namedIn({ sets, deletes }: PreparedInput): WantedFields {
  return new Set([...sets.keys(), ...deletes.keys()])
}

/** Makes an `ERR_RECORD_EXISTS`. */
export function recordExists(id: RecordId): Error {
  return repositoryError('recordExists', `there is a record ${id.text} already`)
}
