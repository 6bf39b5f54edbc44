/** What can be done with the versions of a record: compare, restore, drop old ones, undelete. */
import { OptionNames } from '../../api/index.js'
import { invalidArgument } from '../errors.js'
import { isVersionTag } from '../qualified-name.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import { checkRevision } from './commit.js'
import type { PreparedInput } from './prepared-input.js'
import { deleteState, updateState, type RecordChange } from './record-change.js'
import { checkVersion, type RecordReader } from './record-reader.js'
import type { FieldCell, RecordState, VersionState } from './record-state.js'
import { recordNotFound, versionNotFound } from './record-view.js'
import type { PreparedWrite } from './record-writer.js'
import type { StoredRecord } from './record.js'
import type { TableContext } from './table-context.js'

/** A field that differs between two versions; undefined = absent. */
export interface FieldDifference {
  /** Name of the field. */
  readonly field: string
  /** Value in the first version. */
  readonly before: unknown
  /** Value in the second version. */
  readonly after: unknown
}

/** Which versions are dropped. A version stays if any of these keeps it; the newest always does. */
export interface PruneOptions {
  /** The newest versions that stay. Default 1. */
  readonly keep?: number | undefined
  /** Versions that are not older stay, in milliseconds. Default: age does not count. */
  readonly ageMillisecondsMin?: number | undefined
  /** Whether versions stay to which version tags point, and those behind them. Default true. */
  readonly keepTagged?: boolean | undefined
}

/** What a restore or a change of a tag may demand. */
export interface RevisionOptions {
  /** The record must have this `revision`, else `ERR_CONCURRENT_RECORD_UPDATE`. */
  readonly revision?: number | undefined
}

const revisionNames = new OptionNames<RevisionOptions>('a restore', { revision: true })
const pruneNames = new OptionNames<PruneOptions>('a pruning', {
  keep: true,
  ageMillisecondsMin: true,
  keepTagged: true,
})

/** Prepares writes that have to do with versions. */
export class RecordHistory {
  readonly #context: TableContext
  readonly #reader: RecordReader

  constructor(context: TableContext, reader: RecordReader) {
    this.#context = context
    this.#reader = reader
  }

  /** The versioned and mutable fields that differ, by name. */
  async diff(idLike: RecordIdLike, from: number, to: number): Promise<FieldDifference[]> {
    const id = RecordId.of(idLike)
    const { state } = await this.#live(id)
    const a = await this.#version(id, state, from)
    const b = await this.#version(id, state, to)
    const { schema, views } = this.#context
    const differences: FieldDifference[] = []
    for (const ordinal of new Set([...a.fields.keys(), ...b.fields.keys()])) {
      const [before, after] = [a.fields.get(ordinal), b.fields.get(ordinal)]
      if (before !== undefined && after !== undefined && before.value.equals(after.value)) continue
      const valueOf = (cell: FieldCell | undefined): unknown => {
        return cell === undefined ? undefined : views.valueOf(ordinal, cell.value)
      }
      const field = schema.fieldAt(ordinal)!.name
      differences.push({ field, before: valueOf(before), after: valueOf(after) })
    }
    return differences.sort((x, y) => (x.field < y.field ? -1 : 1))
  }

  /** A write that makes a version with the versioned and mutable fields of an old one. */
  async prepareRestore(
    idLike: RecordIdLike,
    version: number,
    options: RevisionOptions = {},
  ): Promise<PreparedWrite> {
    const { revision } = revisionNames.check(options)
    const id = RecordId.of(idLike)
    const { bytes, state } = await this.#live(id)
    checkRevision(id, state, revision)
    const old = await this.#version(id, state, version)
    const { schema, clock, views } = this.#context
    const newest = state.latest!.fields
    const input: PreparedInput = {
      type: undefined,
      sets: new Map(
        [...old.fields].map(([ordinal, { value }]) => {
          return [ordinal, { field: schema.fieldAt(ordinal)!, bytes: value }]
        }),
      ),
      deletes: new Map(
        [...newest.keys()]
          .filter((ordinal) => !old.fields.has(ordinal))
          .map((ordinal) => [ordinal, schema.fieldAt(ordinal)!]),
      ),
      metadata: new Map(),
      attributes: undefined,
    }
    const type = schema.recordTypeAt(state.type.ordinal, state.type.version)!
    const settings = { type, writesType: false, time: clock.now(), isAutosave: false }
    const updated = updateState(state, input, settings)
    const after = updated?.after ?? state
    const show = (): StoredRecord => {
      return views.ofState(id, after, after.version, after.latest, undefined)
    }
    if (updated === undefined) return { id, change: undefined, status: 'UP_TO_DATE', show }
    const before = { beforeBytes: bytes, before: state, versionsBefore: new Map() }
    return { id, change: { id, ...before, ...updated }, status: 'UPDATED', show }
  }

  /** A write that drops old versions. */
  async preparePrune(idLike: RecordIdLike, options: PruneOptions = {}): Promise<PreparedWrite> {
    const { keep = 1, ageMillisecondsMin, keepTagged = true } = pruneNames.check(options)
    if (!Number.isSafeInteger(keep) || keep < 1) throw invalidArgument('keep is at least 1')
    const id = RecordId.of(idLike)
    const { bytes, state } = await this.#live(id)
    const { views, clock } = this.#context
    const record = views.ofState(id, state, state.version, state.latest, undefined)
    const show = (): StoredRecord => record
    let first = Math.max(state.first, state.version - keep + 1)
    if (ageMillisecondsMin !== undefined) {
      const at = await this.#reader.versionAt(id, clock.now() - ageMillisecondsMin)
      first = Math.min(first, at === undefined ? state.first : at)
    }
    if (keepTagged) {
      for (const [name, value] of Object.entries(record.fields)) {
        const isKept = isVersionTag(name) && typeof value === 'bigint' && value > 0n
        if (isKept) first = Math.min(first, Math.max(Number(value), state.first))
      }
    }
    if (first <= state.first) return { id, change: undefined, status: 'UP_TO_DATE', show }
    const dropped = Array.from({ length: first - state.first }, (_, i) => state.first + i)
    const versionsBefore = await this.#reader.versionStates(id, dropped)
    const change: RecordChange = {
      id,
      beforeBytes: bytes,
      before: state,
      after: { ...state, occ: state.occ + 1, first },
      versions: new Map(dropped.map((version) => [version, undefined])),
      versionsBefore,
      event: { kind: 'updated', fields: [] },
    }
    return { id, change, status: 'UPDATED', show }
  }

  /** A write that brings a deleted record back. `ERR_RECORD_NOT_FOUND` if that is too late. */
  async prepareUndelete(idLike: RecordIdLike): Promise<PreparedWrite> {
    const id = RecordId.of(idLike)
    const { bytes, state } = await this.#reader.head(id)
    const { undeleteMilliseconds, clock, schema, views } = this.#context
    const isKept = state?.isDeleted === true && (state.fields.size > 0 || state.version > 0)
    if (!isKept || clock.now() - state.modified > undeleteMilliseconds) throw recordNotFound(id)
    const time = clock.now()
    const after = { ...state, occ: state.occ + 1, isDeleted: false, modified: time }
    const ordinals = [...state.fields.keys(), ...(state.latest?.fields.keys() ?? [])]
    const change: RecordChange = {
      id,
      beforeBytes: bytes,
      before: state,
      after,
      versions: new Map(),
      versionsBefore: new Map(),
      event: {
        kind: 'created',
        versionCreated: state.version === 0 ? undefined : state.version,
        fields: ordinals.map((ordinal) => schema.fieldAt(ordinal)!),
      },
    }
    const show = (): StoredRecord => {
      return views.ofState(id, after, after.version, after.latest, undefined)
    }
    return { id, change, status: 'CREATED', show }
  }

  /** A write that removes what a deleted record has kept; undefined if there is nothing. */
  async preparePurge(id: RecordId): Promise<PreparedWrite | undefined> {
    const { bytes, state } = await this.#reader.head(id)
    const { undeleteMilliseconds, clock, views } = this.#context
    if (state?.isDeleted !== true || (state.fields.size === 0 && state.version === 0))
      return undefined
    if (clock.now() - state.modified <= undeleteMilliseconds) return undefined
    const count = state.first === 0 ? 0 : state.version - state.first
    const dropped = Array.from({ length: count }, (_, index) => state.first + index)
    const change: RecordChange = {
      id,
      beforeBytes: bytes,
      before: state,
      after: deleteState(state, state.modified, false),
      versions: new Map(dropped.map((version) => [version, undefined])),
      versionsBefore: await this.#reader.versionStates(id, dropped),
      event: { kind: 'deleted', fields: [] },
    }
    const show = (): StoredRecord => {
      return views.ofState(id, state, state.version, state.latest, undefined)
    }
    return { id, change, status: 'DELETED', show }
  }

  async #live(id: RecordId): Promise<{ bytes: Buffer; state: RecordState }> {
    const { bytes, state } = await this.#reader.head(id)
    if (bytes === undefined || state === undefined || state.isDeleted) throw recordNotFound(id)
    return { bytes, state }
  }

  async #version(id: RecordId, state: RecordState, version: number): Promise<VersionState> {
    checkVersion(version)
    if (version === state.version && state.latest !== undefined) return state.latest
    const isThere = version > 0 && version >= state.first && version < state.version
    const found = isThere
      ? (await this.#reader.versionStates(id, [version])).get(version)
      : undefined
    if (found === undefined) throw versionNotFound(id, version)
    return found
  }
}
