/** Operations on the versions of a record: compare, restore, prune, undelete and purge. */
import {
  boolean,
  checked,
  declareOptions,
  integer,
  number,
  type OptionsOf,
} from '../../../../api/index.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import { checkRevision, checkRevisionOption } from '../writes/commit.js'
import { decodeMetadata, type Metadata } from '../metadata.js'
import { deleteState, type RecordChange } from '../writes/record-change.js'
import { checkVersion, type RecordReader } from './record-reader.js'
import type { FieldCell, RecordState, VersionState } from '../record-state.js'
import { recordNotFound, versionNotFound } from './record-view.js'
import type { RecordInput, StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import { taggedVersions } from '../version-tags.js'
import type { PreparedWrite } from '../writes/write-options.js'

/** A field that differs between two versions; undefined = absent. */
export interface FieldDifference {
  /** Name of the field. */
  readonly field: string
  /** Value in the first version. */
  readonly before: unknown
  /** Value in the second version. */
  readonly after: unknown
  /** Metadata in the first version; undefined = none. */
  readonly metadataBefore: Metadata | undefined
  /** Metadata in the second version; undefined = none. */
  readonly metadataAfter: Metadata | undefined
}

const pruneOptions = declareOptions('a pruning', {
  /** Number of newest versions to keep. Default 1. */
  keep: integer({ min: 1, default: 1 }),
  /**
   * Keeps the versions that were the newest at some time within these last milliseconds. Mutable
   * updates do not count. Default: age does not count.
   */
  ageMillisecondsMin: number({ min: 0, default: undefined }),
  /** Whether versions with version tags, and all later versions, are kept. Default true. */
  keepTagged: boolean(true),
})

/**
 * Versions that a pruning keeps. A version stays if one of the options keeps it, or a version
 * before it. The newest version always stays.
 */
export interface PruneOptions extends OptionsOf<typeof pruneOptions> {}

const revisionOptions = declareOptions('a restore', {
  /** The record must have this `revision`, else `ERR_CONCURRENT_RECORD_UPDATE`. */
  revision: checked(checkRevisionOption),
})

/** Options of a restore and of a change of a version tag. */
export interface RevisionOptions extends OptionsOf<typeof revisionOptions> {}

/** Prepares writes on the versions of a record. */
export class RecordHistory {
  readonly #context: TableContext
  readonly #reader: RecordReader

  constructor(context: TableContext, reader: RecordReader) {
    this.#context = context
    this.#reader = reader
  }

  /** The versioned and mutable fields that differ, sorted by name. */
  async diff(idLike: RecordIdLike, from: number, to: number): Promise<FieldDifference[]> {
    const id = RecordId.of(idLike)
    const { state } = await this.#live(id)
    const a = await this.#version(id, state, from)
    const b = await this.#version(id, state, to)
    const { schema, views } = this.#context
    const differences: FieldDifference[] = []
    for (const ordinal of new Set([...a.fields.keys(), ...b.fields.keys()])) {
      const [before, after] = [a.fields.get(ordinal), b.fields.get(ordinal)]
      if (sameCells(before, after)) continue
      const valueOf = (cell: FieldCell | undefined): unknown => {
        return cell === undefined ? undefined : views.valueOf(ordinal, cell.value)
      }
      differences.push({
        field: schema.fieldAt(ordinal)!.name,
        before: valueOf(before),
        after: valueOf(after),
        metadataBefore: metadataOf(before),
        metadataAfter: metadataOf(after),
      })
    }
    return differences.sort((x, y) => (x.field < y.field ? -1 : 1))
  }

  /**
   * The input of an update that restores the versioned and mutable fields of an old version, with
   * their metadata. Also the revision from which the input was computed.
   */
  async restoring(
    idLike: RecordIdLike,
    version: number,
    options: RevisionOptions = {},
  ): Promise<{ readonly input: RecordInput; readonly revision: number }> {
    const { revision } = revisionOptions.read(options)
    const id = RecordId.of(idLike)
    const { state } = await this.#live(id)
    checkRevision(id, state, revision)
    const old = await this.#version(id, state, version)
    const { schema, views } = this.#context
    const newest = state.latest!.fields
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    const metadataToDelete: Record<string, readonly string[]> = {}
    for (const [ordinal, cell] of old.fields) {
      const { name } = schema.fieldAt(ordinal)!
      fields[name] = views.valueOf(ordinal, cell.value)
      const [own, other] = [metadataOf(cell) ?? {}, metadataOf(newest.get(ordinal)) ?? {}]
      const gone = Object.keys(other).filter((key) => !Object.hasOwn(own, key))
      if (Object.keys(own).length > 0) metadata[name] = own
      if (gone.length > 0) metadataToDelete[name] = gone
    }
    const fieldsToDelete = [...newest.keys()]
      .filter((ordinal) => !old.fields.has(ordinal))
      .map((ordinal) => schema.fieldAt(ordinal)!.name)
    const input = { id, fields, fieldsToDelete, metadata, metadataToDelete }
    return { input, revision: state.occ }
  }

  /** Prepares the removal of old versions. */
  async preparePrune(idLike: RecordIdLike, options: PruneOptions = {}): Promise<PreparedWrite> {
    const { keep, ageMillisecondsMin, keepTagged } = pruneOptions.read(options)
    const id = RecordId.of(idLike)
    const { bytes, state } = await this.#live(id)
    const { views, clock, schema } = this.#context
    const record = views.ofState(id, state, state.version, state.latest, undefined)
    const show = (): StoredRecord => record
    let first = Math.max(state.first, state.version - keep + 1)
    if (ageMillisecondsMin !== undefined) {
      const at = await this.#reader.versionAt(id, clock.now() - ageMillisecondsMin)
      first = Math.min(first, at === undefined ? state.first : at)
    }
    if (keepTagged) {
      for (const tagged of taggedVersions(state.fields, schema)) {
        if (tagged > 0 && tagged >= state.first) first = Math.min(first, tagged)
      }
    }
    if (first <= state.first)
      return { id, change: undefined, status: 'UP_TO_DATE', show, showStored: show }
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
    return { id, change, status: 'UPDATED', show, showStored: show }
  }

  /**
   * Prepares the restore of a deleted record. `ERR_RECORD_NOT_FOUND` if the record is not deleted,
   * or if its undelete time is over.
   */
  async prepareUndelete(idLike: RecordIdLike): Promise<PreparedWrite> {
    const id = RecordId.of(idLike)
    const { bytes, state } = await this.#reader.head(id)
    const { undeleteMilliseconds, clock, schema, views } = this.#context
    const isKept = state?.isDeleted === true && (state.fields.size > 0 || state.version > 0)
    if (!isKept || clock.now() - state.modified > undeleteMilliseconds) throw recordNotFound(id)
    const modified = Math.max(clock.now(), state.modified)
    const after = { ...state, occ: state.occ + 1, isDeleted: false, modified }
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
    return { id, change, status: 'CREATED', show, showStored: show }
  }

  /**
   * Prepares the removal of the contents of a deleted record; undefined if there is nothing to
   * remove yet.
   */
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
    return { id, change, status: 'DELETED', show, showStored: show }
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

function sameCells(a: FieldCell | undefined, b: FieldCell | undefined): boolean {
  if (a === undefined || b === undefined || !a.value.equals(b.value)) return false
  if (a.metadata === undefined || b.metadata === undefined) return a.metadata === b.metadata
  return a.metadata.equals(b.metadata)
}

function metadataOf(cell: FieldCell | undefined): Metadata | undefined {
  return cell?.metadata === undefined ? undefined : decodeMetadata(cell.metadata)
}
