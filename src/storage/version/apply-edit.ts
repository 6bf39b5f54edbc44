/**
 * Derives the next version from a version and an edit, and checks every rule that a version must
 * obey.
 *
 * The function runs before an edit is written and again when the edit is read. So every published
 * edit is accepted by the next open. Any breach of a rule throws an `InvariantError`. The base
 * version is never changed.
 */

import { assert, InvariantError } from '../../base/assert.js'
import { checkCatalog, type TableDefinition } from './catalog.js'
import {
  compareFileKeys,
  describesSameFile,
  type FileMetadata,
  type StoreFile,
} from './file-metadata.js'
import type { ManifestEdit } from './version-edit.js'
import { emptyState, forEachFile, type StoreVersion, type VersionState } from './version.js'

/** A store under construction; a level is copied when it is first changed. */
interface StoreDraft {
  flushedSequence: number
  readonly levels: (readonly FileMetadata[])[]
  readonly touched: Map<number, FileMetadata[]>
}

/** The state that results from applying `edit` to `base`. */
export function applyEdit(base: VersionState, edit: ManifestEdit): VersionState {
  const nextFileNumber = raised('nextFileNumber', base.nextFileNumber, edit.nextFileNumber)
  const nextId = raised('nextId', base.nextId, edit.nextId)
  const logFloor = raised('logFileNumberFloor', base.logFileNumberFloor, edit.logFileNumberFloor)
  let lastSequence = raised('lastSequence', base.lastSequence, edit.lastSequence)
  const lastServerTimestamp = Math.max(base.lastServerTimestamp, edit.lastServerTimestamp ?? 0)

  const drafts = new Map<number, StoreDraft>()
  const removed = removeFiles(base, edit, drafts)
  const { tables, stores } = applyTables(base, edit, nextId)
  checkUnused(base, edit, removed, nextFileNumber)
  for (const { storeId, file } of edit.filesAdded ?? []) {
    levelOf(draftOf(stores, drafts, storeId), file.level).push(file)
    lastSequence = Math.max(lastSequence, file.maxSequence)
  }
  for (const { storeId, sequence } of edit.flushedSequences ?? []) {
    const draft = draftOf(stores, drafts, storeId)
    draft.flushedSequence = raised('flushedSequence', draft.flushedSequence, sequence)
    lastSequence = Math.max(lastSequence, sequence)
  }
  for (const [storeId, draft] of drafts) {
    // A store that the same edit dropped is not built.
    if (stores.has(storeId)) stores.set(storeId, finishStore(storeId, draft))
  }
  return {
    tables,
    namespaces: applyNamespaces(base, edit),
    stores,
    nextFileNumber,
    nextId,
    logFileNumberFloor: logFloor,
    lastSequence,
    lastServerTimestamp,
  }
}

/** The edit that makes `state` from the empty state. */
export function snapshotEdit(state: VersionState): ManifestEdit {
  const filesAdded: StoreFile[] = []
  forEachFile(state, (file, storeId) => filesAdded.push({ storeId, file }))
  const flushedSequences = Array.from(state.stores.values(), (store) => ({
    storeId: store.storeId,
    sequence: store.flushedSequence,
  }))
  return {
    snapshot: true,
    tablesCreated: Array.from(state.tables.values()),
    ...(state.namespaces.size > 0 && { namespacesPut: Array.from(state.namespaces.values()) }),
    filesAdded,
    flushedSequences,
    nextFileNumber: state.nextFileNumber,
    nextId: state.nextId,
    logFileNumberFloor: state.logFileNumberFloor,
    lastSequence: state.lastSequence,
    ...(state.lastServerTimestamp > 0 && { lastServerTimestamp: state.lastServerTimestamp }),
  }
}

/** The state that a snapshot edit describes. */
export function applySnapshot(edit: ManifestEdit): VersionState {
  assert(edit.snapshot === true, 'the first edit of a manifest is not a snapshot')
  return applyEdit(emptyState, edit)
}

function raised(what: string, from: number, to: number | undefined): number {
  if (to === undefined) return from
  if (to < from) throw new InvariantError(`${what} decreases from ${from} to ${to}`)
  return to
}

function removeFiles(
  base: VersionState,
  edit: ManifestEdit,
  drafts: Map<number, StoreDraft>,
): Map<number, StoreFile> {
  const removed = new Map<number, StoreFile>()
  for (const { storeId, fileNumber } of edit.filesRemoved ?? []) {
    const draft = draftOf(base.stores, drafts, storeId)
    const file = removeFile(draft, fileNumber)
    if (file === undefined) {
      throw new InvariantError(`removed file ${fileNumber} is not in store ${storeId}`)
    }
    removed.set(fileNumber, { storeId, file })
  }
  return removed
}

function removeFile(draft: StoreDraft, fileNumber: number): FileMetadata | undefined {
  for (let level = 0; level < draft.levels.length; level++) {
    const files = draft.touched.get(level) ?? draft.levels[level]
    const index = files.findIndex((file) => file.fileNumber === fileNumber)
    if (index >= 0) return levelOf(draft, level).splice(index, 1)[0]
  }
  return undefined
}

/** The tables and stores after the edit. Only changes of tables take time for each table. */
function applyTables(
  base: VersionState,
  edit: ManifestEdit,
  nextId: number,
): { tables: VersionState['tables']; stores: Map<number, StoreVersion> } {
  const { tablesDropped = [], tablesAltered = [], tablesCreated = [] } = edit
  const changed = [...tablesAltered, ...tablesCreated]
  const stores = new Map(base.stores)
  if (changed.length + tablesDropped.length === 0) return { tables: base.tables, stores }
  const tables = new Map(base.tables)
  for (const tableId of tablesDropped) {
    const table = tables.get(tableId)
    if (table === undefined) throw new InvariantError(`dropped table ${tableId} does not exist`)
    tables.delete(tableId)
    for (const { storeId } of table.families) stores.delete(storeId)
  }
  for (const table of tablesAltered) {
    const before = tables.get(table.tableId)
    if (before === undefined) {
      throw new InvariantError(`altered table ${table.tableId} does not exist`)
    }
    checkFamilies(base, before, table)
    for (const { storeId } of before.families) stores.delete(storeId)
    tables.set(table.tableId, table)
  }
  for (const table of tablesCreated) {
    if (tables.has(table.tableId) || base.tables.has(table.tableId)) {
      throw new InvariantError(`created table ${table.tableId} exists`)
    }
    for (const { storeId } of table.families) {
      if (base.stores.has(storeId)) throw new InvariantError(`created store ${storeId} exists`)
    }
    tables.set(table.tableId, table)
  }
  for (const { storeId } of changed.flatMap((table) => table.families)) {
    stores.set(storeId, base.stores.get(storeId) ?? { storeId, flushedSequence: 0, levels: [[]] })
  }
  checkCatalog(tables, stores, changed, nextId)
  return { tables, stores }
}

function applyNamespaces(base: VersionState, edit: ManifestEdit): VersionState['namespaces'] {
  if (edit.namespacesDropped === undefined && edit.namespacesPut === undefined) {
    return base.namespaces
  }
  const namespaces = new Map(base.namespaces)
  for (const name of edit.namespacesDropped ?? []) {
    if (!namespaces.delete(name)) {
      throw new InvariantError(`dropped namespace ${name} does not exist`)
    }
  }
  for (const namespace of edit.namespacesPut ?? []) namespaces.set(namespace.name, namespace)
  return namespaces
}

/** Throws if a store would change its family name or its table. */
function checkFamilies(base: VersionState, before: TableDefinition, after: TableDefinition): void {
  for (const family of after.families) {
    const old = before.families.find((candidate) => candidate.storeId === family.storeId)
    if (old === undefined && base.stores.has(family.storeId)) {
      throw new InvariantError(`store ${family.storeId} belongs to another table`)
    }
    if (old !== undefined && old.name !== family.name) {
      throw new InvariantError(`store ${family.storeId} changes its family name`)
    }
  }
}

function checkUnused(
  base: VersionState,
  edit: ManifestEdit,
  removed: ReadonlyMap<number, StoreFile>,
  nextFileNumber: number,
): void {
  const added = new Set<number>()
  for (const { storeId, file } of edit.filesAdded ?? []) {
    const number = file.fileNumber
    if (added.has(number)) throw new InvariantError(`file ${number} is added twice`)
    if (number >= nextFileNumber) throw new InvariantError(`file ${number} was never allocated`)
    const before = removed.get(number)
    if (before !== undefined) {
      const same = before.storeId === storeId && describesSameFile(before.file, file)
      if (!same) throw new InvariantError(`file ${number} comes back as another file`)
    }
    added.add(number)
    for (const use of file.valueFiles ?? []) {
      if (use.fileNumber < nextFileNumber && use.fileNumber !== number) continue
      throw new InvariantError(`value file ${use.fileNumber} was never allocated`)
    }
  }
  if (added.size === 0) return
  forEachFile(base, ({ fileNumber }) => {
    if (added.has(fileNumber) && !removed.has(fileNumber)) {
      throw new InvariantError(`added file ${fileNumber} exists already`)
    }
  })
}

function draftOf(
  stores: ReadonlyMap<number, StoreVersion>,
  drafts: Map<number, StoreDraft>,
  storeId: number,
): StoreDraft {
  const store = stores.get(storeId)
  if (store === undefined) throw new InvariantError(`store ${storeId} does not exist`)
  let draft = drafts.get(storeId)
  if (draft === undefined) {
    const { flushedSequence, levels } = store
    draft = { flushedSequence, levels: levels.slice(), touched: new Map() }
    drafts.set(storeId, draft)
  }
  return draft
}

function levelOf(draft: StoreDraft, level: number): FileMetadata[] {
  while (draft.levels.length <= level) draft.levels.push([])
  let files = draft.touched.get(level)
  if (files === undefined) {
    files = draft.levels[level].slice()
    draft.touched.set(level, files)
  }
  return files
}

function finishStore(storeId: number, draft: StoreDraft): StoreVersion {
  const { flushedSequence, levels, touched } = draft
  for (const [level, files] of touched) {
    if (level === 0) files.sort(newestFirst)
    else files.sort((a, b) => compareFileKeys(a.firstKey, b.firstKey))
    if (level > 0) checkDisjoint(storeId, level, files)
    levels[level] = files
  }
  while (levels.length > 1 && levels[levels.length - 1].length === 0) levels.pop()
  return { storeId, flushedSequence, levels }
}

function newestFirst(a: FileMetadata, b: FileMetadata): number {
  return b.maxSequence - a.maxSequence || b.fileNumber - a.fileNumber
}

function checkDisjoint(storeId: number, level: number, files: readonly FileMetadata[]): void {
  for (let i = 1; i < files.length; i++) {
    if (compareFileKeys(files[i - 1].lastKey, files[i].firstKey) < 0) continue
    const pair = `files ${files[i - 1].fileNumber} and ${files[i].fileNumber}`
    throw new InvariantError(`${pair} of store ${storeId} overlap on level ${level}`)
  }
}
