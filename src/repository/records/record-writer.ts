/**
 * Writes records of one table. A write reads the record, makes the change, and commits it behind a
 * check that the record is as it was read; who loses a race gets `ERR_CONCURRENT_RECORD_UPDATE`.
 */
import { OptionNames, shown } from '../../api/index.js'
import { invalidArgument, invalidRecord, RepositoryError, RepositoryErrorCode } from '../errors.js'
import { RecordId } from '../record-id.js'
import type { RecordType } from '../schema/record-type.js'
import type { FieldType } from '../schema/field-type.js'
import { commit, type TableChange, checkRevision } from './commit.js'
import { prepareConditions, type Condition, type PreparedCondition } from './conditions.js'
import { encodeField, prepareInput, type PreparedInput } from './prepared-input.js'
import {
  createState,
  deleteState,
  updateState,
  withOwnMetadata,
  type RecordChange,
} from './record-change.js'
import type { RecordInput, StoredRecord, WriteResult, WriteStatus } from './record.js'
import { hasSeen, mutateVersion } from './mutable-change.js'
import { checkVersion, type RecordReader, type StoredHead } from './record-reader.js'
import type { FieldCells, RecordState, VersionState } from './record-state.js'
import { recordNotFound, versionNotFound, type WantedFields } from './record-view.js'
import type { TableContext } from './table-context.js'
import { validate, withDefaults } from './validation.js'
import { taggedVersions } from './version-tags.js'

/** Options of a create. */
export interface CreateOptions {
  /** Whether the newest version of the type counts, also if an older one is named. Default true. */
  readonly useLatestRecordType?: boolean | undefined
}

/** Options of an update. */
export interface UpdateOptions extends CreateOptions {
  /** All must hold, else the status is `CONFLICT`. */
  readonly conditions?: readonly Condition[] | undefined
  /**
   * Changes the mutable fields of this version; other fields of the input are ignored. Later
   * versions stay as they are, but for a field that neither they nor this version ever had.
   */
  readonly version?: number | undefined
  /**
   * The version that is made is overwritten by the next autosave, until it is saved without this
   * option or a version tag points to it. Not together with `version`. Default false.
   */
  readonly autosave?: boolean | undefined
  /** The record must have this `revision`, else `ERR_CONCURRENT_RECORD_UPDATE`. */
  readonly revision?: number | undefined
  /** How often a write that loses a race is made again. Default 0. */
  readonly retries?: number | undefined
}

/** Options of a delete. */
export type DeleteOptions = Pick<UpdateOptions, 'conditions' | 'revision' | 'retries'> & {
  /** Free-form texts for the event. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
}

/** A write that is ready to be committed, or says that nothing is to be written. */
export interface PreparedWrite {
  readonly id: RecordId
  readonly change: RecordChange | undefined
  readonly status: WriteStatus
  /** Makes what the caller is told. */
  readonly show: () => StoredRecord
}

/** What a caller is told of a write. Most callers never look at the record. */
class WriteOutcome implements WriteResult {
  readonly status: WriteStatus
  readonly sequence: number | undefined
  readonly #show: () => StoredRecord
  #record: StoredRecord | undefined

  constructor({ status, show }: PreparedWrite, sequence: number | undefined) {
    this.status = status
    this.sequence = sequence
    this.#show = show
  }

  get record(): StoredRecord {
    this.#record ??= this.#show()
    return this.#record
  }
}

const updateNames = new OptionNames<UpdateOptions>('an update of a record', {
  useLatestRecordType: true,
  conditions: true,
  version: true,
  autosave: true,
  revision: true,
  retries: true,
})
const createNames = new OptionNames<CreateOptions>('a create of a record', {
  useLatestRecordType: true,
})
const deleteNames = new OptionNames<DeleteOptions>('a delete of a record', {
  conditions: true,
  revision: true,
  retries: true,
  attributes: true,
})

const flipsMax = 3
const noVersions: ReadonlyMap<number, VersionState> = new Map()

/** The writer of a record table. */
export class RecordWriter {
  readonly #context: TableContext
  readonly #reader: RecordReader

  constructor(context: TableContext, reader: RecordReader) {
    this.#context = context
    this.#reader = reader
  }

  async create(input: RecordInput, options: CreateOptions = {}): Promise<WriteResult> {
    const prepared = await this.prepareCreate(input, options)
    try {
      return await this.commit(prepared)
    } catch (error) {
      if (!isConcurrent(error)) throw error
      // Whoever was faster has created it, unless the check was about something else.
      const { state } = await this.#reader.head(prepared.change!.id)
      if (state !== undefined && !state.isDeleted) throw recordExists(prepared.change!.id)
      throw error
    }
  }

  update(input: RecordInput, options: UpdateOptions = {}): Promise<WriteResult> {
    return this.#retried(options.retries, () => this.prepareUpdate(input, options))
  }

  delete(id: RecordId, options: DeleteOptions = {}): Promise<WriteResult> {
    return this.#retried(options.retries, () => this.prepareDelete(id, options))
  }

  async createOrUpdate(input: RecordInput, options: UpdateOptions = {}): Promise<WriteResult> {
    if (input.id === undefined) throw invalidArgument('createOrUpdate needs an id')
    const id = RecordId.of(input.id)
    const { useLatestRecordType } = options
    for (let flip = 0; ; flip++) {
      const { state } = await this.#reader.head(id)
      const isThere = state !== undefined && !state.isDeleted
      try {
        if (isThere) return await this.update(input, options)
        return await this.create(input, { useLatestRecordType })
      } catch (error) {
        const code = error instanceof RepositoryError ? error.code : undefined
        const isFlip =
          code === RepositoryErrorCode.recordExists || code === RepositoryErrorCode.recordNotFound
        if (!isFlip || flip >= flipsMax) throw error
      }
    }
  }

  /** A create that is ready to be committed. */
  async prepareCreate(given: RecordInput, options: CreateOptions = {}): Promise<PreparedWrite> {
    createNames.check(options)
    const { schema, clock, randomBytes } = this.#context
    const id = given.id === undefined ? RecordId.random(randomBytes) : RecordId.of(given.id)
    const { hooks } = this.#context
    const input = hooks.length === 0 ? given : await this.#hooked(given, id, undefined)
    const prepared = prepareInput(input, schema)
    if (prepared.type === undefined) throw invalidRecord('a new record needs a record type')
    const type = this.#chooseType(prepared, undefined, options.useLatestRecordType)
    const withFields = withDefaults(prepared, type, schema)
    if (withFields.sets.size === 0) throw invalidRecord('a new record needs a field')
    const { bytes, state: before } = await this.#reader.head(id)
    if (before !== undefined && !before.isDeleted) throw recordExists(id)
    const { state, fields } = createState(withFields, type, clock.now(), before)
    validate(state, state.latest, withFields, type, schema)
    // Versions of the life before can be read no more, and go with this write.
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
    return { id, change, status: 'CREATED', show: () => this.#shown(id, state, undefined) }
  }

  /** An update that is ready to be committed. */
  async prepareUpdate(given: RecordInput, options: UpdateOptions = {}): Promise<PreparedWrite> {
    updateNames.check(options)
    if (given.id === undefined) throw invalidArgument('an update needs an id')
    const id = RecordId.of(given.id)
    const head = await this.#reader.head(id)
    const { state } = head
    if (state === undefined || state.isDeleted) throw recordNotFound(id)
    checkRevision(id, state, options.revision)
    const { schema, hooks } = this.#context
    const input = hooks.length === 0 ? given : await this.#hooked(given, id, state)
    const prepared = withOwnMetadata(
      prepareInput(input, schema),
      (ordinal) => schema.fieldAt(ordinal)!,
      state,
    )
    if (options.version !== undefined) {
      return this.#prepareMutation(id, head, prepared, options)
    }
    if (!this.#holds(options.conditions, state, state.version, state.latest)) {
      const show = (): StoredRecord => this.#shown(id, state, namedIn(prepared))
      return { id, change: undefined, status: 'CONFLICT', show }
    }
    const { useLatestRecordType = true, autosave = false } = options
    const type = this.#chooseType(prepared, state, useLatestRecordType)
    const settings = {
      type,
      writesType: !useLatestRecordType && prepared.type !== undefined,
      time: this.#context.clock.now(),
      isAutosave: autosave,
      taggedIn: (fields: FieldCells) => taggedVersions(fields, schema),
    }
    const updated = updateState(state, prepared, settings)
    const after = updated?.after ?? state
    validate(after, after.latest, prepared, type, schema)
    const show = (): StoredRecord => this.#shown(id, after, namedIn(prepared))
    if (updated === undefined) return { id, change: undefined, status: 'UP_TO_DATE', show }
    const { versions, event } = updated
    const beforeBytes = head.bytes
    const versionsBefore = noVersions
    const change = { id, beforeBytes, before: state, after, versions, versionsBefore, event }
    return { id, change, status: 'UPDATED', show }
  }

  /** A delete that is ready to be committed. */
  async prepareDelete(id: RecordId, options: DeleteOptions = {}): Promise<PreparedWrite> {
    deleteNames.check(options)
    const { bytes, state } = await this.#reader.head(id)
    if (state === undefined || state.isDeleted) throw recordNotFound(id)
    checkRevision(id, state, options.revision)
    const { repository, name: table, hooks, undeleteMilliseconds, clock } = this.#context
    const stored = this.#shown(id, state, undefined)
    const show = (): StoredRecord => stored
    for (const hook of hooks) await hook.beforeDelete?.({ repository, table, id, stored })
    if (!this.#holds(options.conditions, state, state.version, state.latest)) {
      const named = (options.conditions ?? []).flatMap(({ field }) => {
        const known = this.#context.schema.findField(field)
        return known === undefined ? [] : [known.ordinal]
      })
      const shownOnly = (): StoredRecord => this.#shown(id, state, new Set(named))
      return { id, change: undefined, status: 'CONFLICT', show: shownOnly }
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
      event: { kind: 'deleted', fields: [], attributes: options.attributes },
    }
    return { id, change, status: 'DELETED', show }
  }

  async #commitAll(writes: readonly PreparedWrite[]): Promise<number | undefined> {
    const changes = writes.flatMap(({ change }): TableChange[] => {
      return change === undefined ? [] : [{ context: this.#context, change }]
    })
    return changes.length === 0 ? undefined : commit(changes)
  }

  /** Commits writes of this table, all or none, unless one of them is a conflict. */
  async commitBatch(writes: readonly PreparedWrite[]): Promise<WriteResult[]> {
    const hasConflict = writes.some(({ status }) => status === 'CONFLICT')
    const sequence = hasConflict ? undefined : await this.#commitAll(writes)
    return writes.map((write) => new WriteOutcome(write, sequence))
  }

  /** Commits a write, if there is anything to write. */
  async commit(write: PreparedWrite): Promise<WriteResult> {
    const { change } = write
    if (change === undefined) return new WriteOutcome(write, undefined)
    return new WriteOutcome(write, await commit([{ context: this.#context, change }]))
  }

  async #retried(
    retries: number | undefined,
    prepare: () => Promise<PreparedWrite>,
  ): Promise<WriteResult> {
    for (let left = retries ?? 0; ; left--) {
      const write = await prepare()
      try {
        return await this.commit(write)
      } catch (error) {
        if (left <= 0 || !isConcurrent(error)) throw error
      }
    }
  }

  async #prepareMutation(
    id: RecordId,
    { bytes, state }: StoredHead,
    input: PreparedInput,
    { version, conditions, autosave = false, useLatestRecordType = true }: UpdateOptions,
  ): Promise<PreparedWrite> {
    checkVersion(version)
    if (autosave) throw invalidArgument('an autosave makes a version, and changes no old one')
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
    if (!this.#holds(conditions, before, version, old)) {
      const show = (): StoredRecord => views.ofState(id, before, version, old, namedIn(input))
      return { id, change: undefined, status: 'CONFLICT', show }
    }
    const type = this.#chooseType(own, before, useLatestRecordType)
    const settings = { type, time: clock.now() }
    const mutated = mutateVersion(before, version, states, own, settings)
    const after =
      version === before.version
        ? (mutated?.after.latest ?? old)
        : (mutated?.versions.get(version) ?? old)
    validate(before, after, own, type, schema)
    const show = (): StoredRecord => {
      return views.ofState(id, mutated?.after ?? before, version, after, namedIn(input))
    }
    if (mutated === undefined) return { id, change: undefined, status: 'UP_TO_DATE', show }
    const change = { id, beforeBytes: bytes, before, versionsBefore: states, ...mutated }
    return { id, change, status: 'UPDATED', show }
  }

  /** The states from a version on, as far as a change of it may reach. */
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

  #holds(
    conditions: readonly Condition[] | undefined,
    state: RecordState,
    version: number,
    ofVersion: VersionState | undefined,
  ): boolean {
    if (conditions === undefined || conditions.length === 0) return true
    const { schema, views } = this.#context
    const compare = (field: FieldType, stored: unknown, value: unknown): number => {
      const { compare: order } = field.type
      const bytes = encodeField(field, value, schema)
      if (order !== undefined) return (order as (a: unknown, b: unknown) => number)(stored, value)
      return encodeField(field, stored, schema).equals(bytes) ? 0 : 1
    }
    const valueOf = ({ field }: PreparedCondition): unknown => {
      if (field === undefined) return version === 0 ? undefined : version
      const cell = state.fields.get(field.ordinal) ?? ofVersion?.fields.get(field.ordinal)
      return cell === undefined ? undefined : views.valueOf(field.ordinal, cell.value)
    }
    const prepared = prepareConditions(conditions, schema, compare)
    return prepared.every((condition) => condition.isFulfilledBy(valueOf(condition)))
  }

  /** The type that a write is checked against and that it notes. */
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

function recordExists(id: RecordId): RepositoryError {
  return new RepositoryError(
    RepositoryErrorCode.recordExists,
    `there is a record ${id.text} already`,
  )
}

function isConcurrent(error: unknown): boolean {
  return (
    error instanceof RepositoryError && error.code === RepositoryErrorCode.concurrentRecordUpdate
  )
}
