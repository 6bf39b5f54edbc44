/**
 * The state that a damaged manifest still tells: its edits in order, without those that are lost.
 *
 * An edit after a lost one may name tables, stores or files that the lost one made. These parts of
 * the edit are left out, and everything else takes effect. So the state never holds a file that no
 * edit has added, and may hold one that a lost edit has removed; that file is then missing on the
 * disk, or holds cells that a compaction has copied since.
 */
import { InvariantError } from '../../../base/assert.js'
import type { FileSystem } from '../../fs/types.js'
import { readRemainsSync, type RecordGap } from '../../record/record-remains.js'
import { applyEdit } from '../../version/apply-edit.js'
import { formatFileName } from '../../version/file-names.js'
import { decodeEdit, encodeEdit, type ManifestEdit } from '../../version/version-edit.js'
import { emptyState, forEachFile, type VersionState } from '../../version/version.js'

/** See the file header. */
export interface ManifestRemains {
  readonly state: VersionState
  /** Undefined if the header is damaged. */
  readonly databaseId: Buffer | undefined
  /** Places where edits are lost. */
  readonly gaps: readonly RecordGap[]
  /** Edits that could not take effect in whole or in part. */
  readonly editsRefused: number
}

/** Reads the readable part of a manifest. Errors as `readRemainsSync`. */
export function readManifestRemainsSync(
  fileSystem: FileSystem,
  directory: string,
  fileNumber: number,
): ManifestRemains {
  const path = fileSystem.join(directory, formatFileName('manifest', fileNumber))
  let state = emptyState
  let editsRefused = 0
  const expected = { kind: 'manifest', fileNumber } as const
  const remains = readRemainsSync(fileSystem, path, expected, (payload, start, end) => {
    try {
      const edit = decodeEdit(payload, start, end)
      const possible = possiblePart(state, edit)
      const whole = { ...edit, snapshot: undefined }
      state = applyEdit(state, possible)
      if (!encodeEdit(possible).equals(encodeEdit(whole))) editsRefused++
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error
      editsRefused++
    }
  })
  const { header, gaps } = remains
  return { state, databaseId: header?.databaseId, gaps, editsRefused }
}

/** The part of an edit that concerns what the state knows. */
function possiblePart(state: VersionState, edit: ManifestEdit): ManifestEdit {
  const created = new Set(
    [...(edit.tablesCreated ?? []), ...(edit.tablesAltered ?? [])].flatMap(({ families }) =>
      families.map(({ storeId }) => storeId),
    ),
  )
  const hasStore = ({ storeId }: { readonly storeId: number }): boolean =>
    state.stores.has(storeId) || created.has(storeId)
  const files = new Set<number>()
  forEachFile(state, ({ fileNumber }) => files.add(fileNumber))
  const filesRemoved = edit.filesRemoved?.filter(({ fileNumber }) => files.has(fileNumber))
  for (const { fileNumber } of filesRemoved ?? []) files.delete(fileNumber)
  return {
    ...edit,
    snapshot: undefined,
    filesRemoved,
    tablesDropped: edit.tablesDropped?.filter((tableId) => state.tables.has(tableId)),
    tablesAltered: edit.tablesAltered?.filter(({ tableId }) => state.tables.has(tableId)),
    namespacesDropped: edit.namespacesDropped?.filter((name) => state.namespaces.has(name)),
    filesAdded: edit.filesAdded?.filter((added) => {
      return hasStore(added) && !files.has(added.file.fileNumber)
    }),
    flushedSequences: edit.flushedSequences?.filter(hasStore),
  }
}
