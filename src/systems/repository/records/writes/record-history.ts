/** Operations on the versions of a record: compare, restore, prune, undelete and purge. */
import { boolean, declareOptions, integer, number, type OptionsOf } from '../../../../api/index.js'
import { recordNotFound, versionNotFound } from '../../errors.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'
import { decodeField, taggedVersions } from '../field-values.js'
import { decodeMetadata, type Metadata } from '../metadata.js'
import type { LiveHead, RecordReader } from '../reads/record-reader.js'
import type { FieldCell, RecordState, VersionState } from '../record-state.js'
import { checkVersion, type RecordInput, type StoredRecord } from '../record.js'
import type { TableContext } from '../table-context.js'
import { removing, unchanged, versionRange, type PreparedWrite } from './prepared-write.js'
import { deleteState } from './record-change.js'
import { checkRevision, revisionOption } from './write-options.js'

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
  revision: revisionOption,
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
    const head = await this.#reader.live(RecordId.of(idLike))
    const a = await this.#version(head, from)
    const b = await this.#version(head, to)
    const differences: FieldDifference[] = []
    for (const ordinal of new Set([...a.fields.keys(), ...b.fields.keys()])) {
      const [before, after] = [a.fields.get(ordinal), b.fields.get(ordinal)]
      if (sameCells(before, after)) continue
      differences.push({
        field: this.#nameOf(ordinal),
        before: this.#valueOf(ordinal, before),
        after: this.#valueOf(ordinal, after),
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
    const head = await this.#reader.live(RecordId.of(idLike))
    const { id, state } = head
    checkRevision(head, revision)
    const old = await this.#version(head, version)
    const newest = state.latest!.fields
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    const metadataToDelete: Record<string, readonly string[]> = {}
    for (const [ordinal, cell] of old.fields) {
      const name = this.#nameOf(ordinal)
      fields[name] = this.#valueOf(ordinal, cell)
      const [own, other] = [metadataOf(cell) ?? {}, metadataOf(newest.get(ordinal)) ?? {}]
      const gone = Object.keys(other).filter((key) => !Object.hasOwn(own, key))
      if (Object.keys(own).length > 0) metadata[name] = own
      if (gone.length > 0) metadataToDelete[name] = gone
    }
    const later = [...newest.keys()].filter((ordinal) => !old.fields.has(ordinal))
    const fieldsToDelete = later.map((ordinal) => this.#nameOf(ordinal))
    const input = { id, fields, fieldsToDelete, metadata, metadataToDelete }
    return { input, revision: state.occ }
  }

  /** Prepares the removal of old versions. */
  async preparePrune(idLike: RecordIdLike, options: PruneOptions = {}): Promise<PreparedWrite> {
    const { keep, ageMillisecondsMin, keepTagged } = pruneOptions.read(options)
    const head = await this.#reader.live(RecordId.of(idLike))
    const { id, state } = head
    const { clock, schema } = this.#context
    const show = this.#shower(id, state)
    let first = Math.max(state.first, state.version - keep + 1)
    if (ageMillisecondsMin !== undefined) {
      const at = await this.#reader.versionAt(id, clock.now() - ageMillisecondsMin)
      first = Math.min(first, at ?? state.first)
    }
    if (keepTagged) {
      for (const tagged of taggedVersions(state.fields, schema)) {
        if (tagged > 0 && tagged >= state.first) first = Math.min(first, tagged)
      }
    }
    if (first <= state.first) return unchanged('UP_TO_DATE', show)
    const after = { ...state, occ: state.occ + 1, first }
    const event = { kind: 'updated', fields: [] } as const
    const dropped = versionRange(state.first, first - 1)
    const change = await removing(this.#reader, head, { after, event }, dropped)
    return { status: 'UPDATED', change, show, showStored: show }
  }

  /**
   * Prepares the restore of a deleted record. `ERR_RECORD_NOT_FOUND` if the record is not deleted,
   * or if its undelete time is over.
   */
  async prepareUndelete(idLike: RecordIdLike): Promise<PreparedWrite> {
    const id = RecordId.of(idLike)
    const head = await this.#reader.head(id)
    const { state } = head
    const { undeleteMilliseconds, clock, schema } = this.#context
    const now = clock.now()
    if (!hasContents(state) || now - state.modified > undeleteMilliseconds) throw recordNotFound(id)
    const modified = Math.max(now, state.modified)
    const after = { ...state, occ: state.occ + 1, isDeleted: false, modified }
    const ordinals = [...state.fields.keys(), ...(state.latest?.fields.keys() ?? [])]
    const event = {
      kind: 'created',
      versionCreated: state.version === 0 ? undefined : state.version,
      fields: ordinals.map((ordinal) => schema.fieldAt(ordinal)!),
    } as const
    const change = await removing(this.#reader, head, { after, event }, [])
    const show = this.#shower(id, after)
    return { status: 'CREATED', change, show, showStored: show }
  }

  /**
   * Prepares the removal of the contents of a deleted record; undefined if there is nothing to
   * remove yet.
   */
  async preparePurge(id: RecordId): Promise<PreparedWrite | undefined> {
    const head = await this.#reader.head(id)
    const { state } = head
    const { undeleteMilliseconds, clock } = this.#context
    if (!hasContents(state)) return undefined
    if (clock.now() - state.modified <= undeleteMilliseconds) return undefined
    const after = deleteState(state, state.modified, false)
    const event = { kind: 'deleted', fields: [] } as const
    const dropped = versionRange(state.first, state.version - 1)
    const change = await removing(this.#reader, head, { after, event }, dropped)
    const show = this.#shower(id, state)
    return { status: 'DELETED', change, show, showStored: show }
  }

  async #version(head: LiveHead, version: number): Promise<VersionState> {
    const found = await this.#reader.versionState(head, checkVersion(version))
    if (found === undefined) throw versionNotFound(head.id, version)
    return found
  }

  #nameOf(ordinal: number): string {
    return this.#context.schema.fieldAt(ordinal)!.name
  }

  #valueOf(ordinal: number, cell: FieldCell | undefined): unknown {
    const { schema } = this.#context
    return cell && decodeField(schema.fieldAt(ordinal)!, cell.value, schema)
  }

  #shower(id: RecordId, state: RecordState): () => StoredRecord {
    const { views } = this.#context
    return () => views.ofState(id, state, state.version, state.latest, undefined)
  }
}

/** Whether a record was deleted and its contents are kept. */
function hasContents(state: RecordState | undefined): state is RecordState {
  return state?.isDeleted === true && (state.fields.size > 0 || state.version > 0)
}

function sameCells(a: FieldCell | undefined, b: FieldCell | undefined): boolean {
  if (a === undefined || b === undefined || !a.value.equals(b.value)) return false
  if (a.metadata === undefined || b.metadata === undefined) return a.metadata === b.metadata
  return a.metadata.equals(b.metadata)
}

function metadataOf(cell: FieldCell | undefined): Metadata | undefined {
  return cell?.metadata === undefined ? undefined : decodeMetadata(cell.metadata)
}
