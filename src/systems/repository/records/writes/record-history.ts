/** Operations on the versions of a record: compare, restore, prune, undelete and purge. */
import {
  boolean,
  checked,
  checkSignal,
  checkText,
  declareOptions,
  integer,
  number,
  type OptionsOf,
} from '../../../../api/index.js'
import { hasCode, recordNotFound, versionNotFound } from '../../errors.js'
import { RecordId, storedRecordId, type RecordIdLike } from '../../record-id.js'
import { decodeField, taggedVersions } from '../field-values.js'
import { decodeMetadata, type Metadata } from '../metadata.js'
import {
  readHead,
  readLive,
  versionAt,
  versionState,
  type LiveHead,
} from '../reads/record-heads.js'
import {
  headColumn,
  sameBytes,
  type FieldCell,
  type RecordState,
  type VersionState,
} from '../record-state.js'
import { checkVersion, type WriteResult } from '../record.js'
import type { TableContext } from '../table-context.js'
import { removing, shower, unchanged } from './record-attempts.js'
import { commit } from './commit.js'
import { deleteState } from './record-change.js'
import { commitWrite, RecordWriter } from './record-writer.js'
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

const purgeOptions = declareOptions('a purge', {
  /** Aborts the call with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of `RecordTable.purgeDeleted`. */
export interface PurgeOptions extends OptionsOf<typeof purgeOptions> {}

/** The operations of a record table on versions and on deleted records. */
export abstract class RecordHistory extends RecordWriter {
  /**
   * Versioned and mutable fields that differ between two versions, in value or metadata, sorted by
   * name.
   */
  async diff(idLike: RecordIdLike, from: number, to: number): Promise<FieldDifference[]> {
    const { context } = this
    const head = await readLive(context, RecordId.of(idLike))
    const a = await existingVersion(context, head, from)
    const b = await existingVersion(context, head, to)
    const differences: FieldDifference[] = []
    for (const ordinal of new Set([...a.fields.keys(), ...b.fields.keys()])) {
      const [before, after] = [a.fields.get(ordinal), b.fields.get(ordinal)]
      if (sameBytes(before?.value, after?.value) && sameBytes(before?.metadata, after?.metadata)) {
        continue
      }
      differences.push({
        field: nameOf(context, ordinal),
        before: valueOf(context, ordinal, before),
        after: valueOf(context, ordinal, after),
        metadataBefore: metadataOf(before),
        metadataAfter: metadataOf(after),
      })
    }
    return differences.sort((x, y) => (x.field < y.field ? -1 : 1))
  }

  /**
   * Makes a version with the versioned and mutable fields of an old one, and their metadata. The
   * restore is an {@link update} with its hooks, rules and errors, so an old version that breaks
   * the present rules is refused.
   */
  async restore(
    idLike: RecordIdLike,
    version: number,
    options: RevisionOptions = {},
  ): Promise<WriteResult> {
    const { context } = this
    const id = RecordId.of(idLike)
    const { revision } = revisionOptions.read(options)
    const head = await readLive(context, id)
    checkRevision(head, revision)
    const old = await existingVersion(context, head, version)
    const newest = head.state.latest!.fields
    const fields: Record<string, unknown> = {}
    const metadata: Record<string, Metadata> = {}
    const metadataToDelete: Record<string, readonly string[]> = {}
    for (const [ordinal, cell] of old.fields) {
      const name = nameOf(context, ordinal)
      fields[name] = valueOf(context, ordinal, cell)
      const [own, other] = [metadataOf(cell) ?? {}, metadataOf(newest.get(ordinal)) ?? {}]
      const gone = Object.keys(other).filter((key) => !Object.hasOwn(own, key))
      if (Object.keys(own).length > 0) metadata[name] = own
      if (gone.length > 0) metadataToDelete[name] = gone
    }
    const later = [...newest.keys()].filter((ordinal) => !old.fields.has(ordinal))
    const fieldsToDelete = later.map((ordinal) => nameOf(context, ordinal))
    const input = { id, fields, fieldsToDelete, metadata, metadataToDelete }
    return this.update(input, { revision: head.state.occ })
  }

  /** Removes old versions, which can no longer be read. */
  async pruneVersions(idLike: RecordIdLike, options: PruneOptions = {}): Promise<WriteResult> {
    const { context } = this
    const id = RecordId.of(idLike)
    const { keep, ageMillisecondsMin, keepTagged } = pruneOptions.read(options)
    const head = await readLive(context, id)
    const { state } = head
    const show = shower(context, id, state)
    let first = Math.max(state.first, state.version - keep + 1)
    if (ageMillisecondsMin !== undefined) {
      const at = await versionAt(context, id, context.clock.now() - ageMillisecondsMin)
      first = Math.min(first, at ?? state.first)
    }
    if (keepTagged) {
      for (const tagged of taggedVersions(state.fields, context.schema)) {
        if (tagged > 0 && tagged >= state.first) first = Math.min(first, tagged)
      }
    }
    if (first <= state.first) return commitWrite(context, unchanged('UP_TO_DATE', show))
    const after = { ...state, occ: state.occ + 1, first }
    const event = { kind: 'updated', oldestVersion: first, fields: [] } as const
    const change = await removing(context, head, { after, event }, state.first, first - 1)
    return commitWrite(context, { status: 'UPDATED', change, show, showStored: show })
  }

  /**
   * Restores a deleted record within `undeleteMilliseconds`. `ERR_RECORD_NOT_FOUND` if the record
   * is not deleted, or if that time is over.
   */
  async undelete(idLike: RecordIdLike): Promise<WriteResult> {
    const { context } = this
    const id = RecordId.of(idLike)
    const head = await readHead(context, id)
    const { state } = head
    const { undeleteMilliseconds, clock, schema } = context
    const now = clock.now()
    if (!hasContents(state) || now - state.modified > undeleteMilliseconds) throw recordNotFound(id)
    const modified = Math.max(now, state.modified)
    const after = { ...state, occ: state.occ + 1, isDeleted: false, isKeptEmpty: false, modified }
    const ordinals = [...state.fields.keys(), ...(state.latest?.fields.keys() ?? [])]
    const event = {
      kind: 'created',
      versionCreated: state.version === 0 ? undefined : state.version,
      fields: ordinals.map((ordinal) => schema.storedFieldAt(ordinal)),
    } as const
    const change = await removing(context, head, { after, event })
    const show = shower(context, id, after)
    return commitWrite(context, { status: 'CREATED', change, show, showStored: show })
  }

  /**
   * Removes the contents of deleted records whose undelete time is over. Returns the number of
   * these records. `ERR_ABORTED` by the signal.
   */
  async purgeDeleted(options: PurgeOptions = {}): Promise<number> {
    const { context } = this
    context.checkOpen()
    const { signal } = purgeOptions.read(options)
    let count = 0
    for await (const { row } of context.table.scan({ columns: [headColumn], signal })) {
      const id = storedRecordId(row, `a row of ${context.keyText}`)
      if (await purgeRecord(context, id)) count++
    }
    return count
  }

  /** Points a version tag to a version, by default the newest one. */
  async tag(
    id: RecordIdLike,
    tag: string,
    version?: number,
    options: RevisionOptions = {},
  ): Promise<WriteResult> {
    checkText(tag, 'a version tag')
    if (version !== undefined) checkVersion(version)
    const settings = revisionOptions.read(options)
    const target = version ?? (await this.read(id)).version ?? 0
    return this.update({ id, fields: { [tag]: BigInt(target) } }, settings)
  }

  /** Removes a version tag. */
  async untag(id: RecordIdLike, tag: string, options?: RevisionOptions): Promise<WriteResult> {
    return this.update({ id, fieldsToDelete: [tag] }, options)
  }
}

/** Removes the contents of a deleted record; false if there is nothing to remove yet. */
async function purgeRecord(context: TableContext, id: RecordId): Promise<boolean> {
  const head = await readHead(context, id)
  const { state } = head
  if (!hasContents(state)) return false
  if (context.clock.now() - state.modified <= context.undeleteMilliseconds) return false
  const after = deleteState(state, state.modified, false)
  const event = { kind: 'deleted', fields: [] } as const
  const change = await removing(context, head, { after, event }, state.first, state.version - 1)
  try {
    await commit([{ context, change }])
    return true
  } catch (error) {
    // The record was restored or created again meanwhile.
    if (!hasCode(error, 'concurrentRecordUpdate')) throw error
    return false
  }
}

async function existingVersion(
  context: TableContext,
  head: LiveHead,
  version: number,
): Promise<VersionState> {
  const found = await versionState(context, head, checkVersion(version))
  if (found === undefined) throw versionNotFound(head.id, version)
  return found
}

function nameOf({ schema }: TableContext, ordinal: number): string {
  return schema.storedFieldAt(ordinal).name
}

function valueOf({ schema }: TableContext, ordinal: number, cell: FieldCell | undefined): unknown {
  return cell && decodeField(schema.storedFieldAt(ordinal), cell.value, schema)
}

/** Whether a record was deleted and its contents are kept, even if these are no fields. */
function hasContents(state: RecordState | undefined): state is RecordState {
  if (state?.isDeleted !== true) return false
  return state.isKeptEmpty || state.fields.size > 0 || state.version > 0
}

function metadataOf(cell: FieldCell | undefined): Metadata | undefined {
  return cell?.metadata === undefined ? undefined : decodeMetadata(cell.metadata)
}
