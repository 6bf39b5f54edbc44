/**
 * Backups: a checkpoint of all tables at one moment, in a directory of its own.
 *
 * A backup is a directory with the SSTables and value files of the checkpoint, a manifest that
 * names them, and the marker `BACKUP`; it has no log, because the memtables are flushed first.
 * Steps, each of which a crash may end:
 *
 * 1. The marker is written, if there is none: from then on the directory is a backup.
 * 2. Files that are not there yet get a second name, or are copied where there are no hard links.
 *    Files that are there are kept if they are the same by identity, or else byte for byte; then
 *    they are synced, because a backup that was killed may have copied them.
 * 3. The marker notes of which files the copies are; this also syncs the names of the files. Then
 *    a manifest with a higher number is published: in that moment the backup becomes the new one.
 * 4. What only earlier backups needed is removed.
 *
 * Before step 3 has ended, the earlier backup of the directory is whole and stays in force. The
 * versions of the checkpoint are held meanwhile, so writers, flushes, compactions and changes of
 * tables go on and remove none of its files.
 *
 * Failure behaviour: an error leaves the database as it is and the earlier backup in force; files
 * that were placed stay and are used by the next try. The lock of the directory excludes a second
 * backup (`ERR_LOCKED`).
 */
import { checkSignal } from '../../../base/arguments.js'
import { CellarError, checkAborted, ErrorCode } from '../../../base/errors.js'
import { callback, checked, declareOptions, type OptionsOf } from '../../../base/options.js'
import { linkOrCopy, syncFile } from '../../fs/copy-file.js'
import type { FileSystem } from '../../fs/types.js'
import { temporarySuffix } from '../../fs/whole-file.js'
import {
  readBackupMarkerSync,
  writeBackupMarkerSync,
  type BackupMarker,
} from '../../version/backup-marker.js'
import {
  backupMarkerName,
  dataFilesOf,
  highestNumber,
  isIgnoredName,
  parseFileName,
  type DataFile,
} from '../../version/file-names.js'
import { readManifestSync, writeManifestSync } from '../../version/manifest.js'
import { checkFileSync } from '../../version/open-directory.js'
import type { VersionState } from '../../version/version.js'
import type { Ddl } from '../catalog/ddl.js'
import type { Engine } from '../engine.js'
import { makeDurableDirectory } from '../open/make-directory.js'
import { readWithPaths } from '../options.js'
import { sameContent } from './same-content.js'
import { captureFlushed } from '../catalog/table-capture.js'

const backupOptions = declareOptions('a backup', {
  /** Told which part of the bytes is in place, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the backup with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of a backup. */
export interface BackupOptions extends OptionsOf<typeof backupOptions> {}

/** What a backup holds and how it came there. */
export interface BackupSummary {
  /** Every mutation up to this sequence is in the backup, and none after it. */
  readonly sequence: number
  /** Files of the backup, its manifest and marker apart. */
  readonly files: number
  /** Bytes of these files. */
  readonly bytes: number
  /** Files that an earlier backup had placed. */
  readonly filesKept: number
  /** Files that got a second name by a hard link. */
  readonly filesLinked: number
  /** Files that were copied. */
  readonly filesCopied: number
}

/** A state of all tables whose files stay until it is released. */
interface Checkpoint {
  readonly sequence: number
  readonly state: VersionState
  release(): void
}

/** Brings a backup up to date; see the file header. Errors as `Database.backup`. */
export function backUp(
  engine: Engine,
  ddl: Ddl,
  directory: string,
  given: BackupOptions,
): Promise<BackupSummary> {
  const options = readWithPaths([directory], () => backupOptions.read(given))
  // A close waits for the end, which comes at once: each step looks whether the engine is open.
  return engine.lifecycle.change(async () => {
    const { fileSystem, versions } = engine
    checkTarget(fileSystem, directory, versions.databaseId)
    makeDurableDirectory(fileSystem, directory)
    const lock = await fileSystem.lock(directory)
    try {
      const marker = checkTarget(fileSystem, directory, versions.databaseId)
      if (marker === undefined) {
        const fresh = { databaseId: versions.databaseId, copies: new Map<string, string>() }
        writeBackupMarkerSync(fileSystem, directory, fresh)
      }
      const checkpoint = await takeCheckpoint(engine, ddl)
      try {
        const run = new BackupRun(engine, directory, options, new Map(marker?.copies))
        return await run.place(checkpoint)
      } finally {
        checkpoint.release()
        versions.removeObsoleteFiles()
      }
    } finally {
      await lock.release()
    }
  })
}

/**
 * The marker of a directory that may take a backup of the database; undefined if it is absent or
 * empty. `ERR_NOT_A_BACKUP`, `ERR_CORRUPTION`.
 */
function checkTarget(
  fileSystem: FileSystem,
  directory: string,
  databaseId: Buffer,
): BackupMarker | undefined {
  const refuse = (what: string): CellarError =>
    new CellarError(ErrorCode.notABackup, `${directory} ${what}; name another directory`)
  const kind = fileSystem.statSync(directory)?.kind
  if (kind === undefined) return undefined
  if (kind === 'file') throw refuse('is not a directory')
  const marker = readBackupMarkerSync(fileSystem, directory)
  if (marker === undefined) {
    const names = fileSystem.listSync(directory)
    const unfinished = backupMarkerName + temporarySuffix
    const foreign = names.find((name) => !isIgnoredName(name) && name !== unfinished)
    if (foreign === undefined) return undefined
    throw refuse(`holds other things than a backup, such as ${foreign}`)
  }
  if (!marker.databaseId.equals(databaseId)) throw refuse('is a backup of another database')
  return marker
}

/** All tables and snapshots at this moment. */
function takeCheckpoint(engine: Engine, ddl: Ddl): Promise<Checkpoint> {
  return ddl.enqueue(async () => {
    const families = [...engine.catalog.tables.values()].flatMap((table) => table.families)
    const captured = await captureFlushed(engine, { families })
    const version = engine.versions.current.acquire()
    const stores = new Map(version.stores)
    for (const store of captured.stores) stores.set(store.storeId, store)
    const floor = engine.versions.allocateFileNumber()
    const state = {
      tables: version.tables,
      namespaces: version.namespaces,
      stores,
      nextFileNumber: floor + 1,
      nextId: version.nextId,
      // There is no segment of the log below the next file.
      logFileNumberFloor: floor,
      lastSequence: Math.max(captured.sequence, version.lastSequence),
      lastServerTimestamp: Math.max(version.lastServerTimestamp, engine.clock.highest),
    }
    const release = (): void => {
      captured.release()
      version.release()
    }
    return { sequence: captured.sequence, state, release }
  })
}

/** One backup on its way. */
class BackupRun {
  private readonly engine: Engine
  private readonly directory: string
  private readonly options: BackupOptions
  private readonly copies: Map<string, string>
  /** Names that the earlier backup needs. */
  private needed: ReadonlySet<string> = new Set()
  private readonly counts = { filesKept: 0, filesLinked: 0, filesCopied: 0 }

  constructor(
    engine: Engine,
    directory: string,
    options: BackupOptions,
    copies: Map<string, string>,
  ) {
    this.engine = engine
    this.directory = directory
    this.options = options
    this.copies = copies
  }

  async place({ sequence, state }: Checkpoint): Promise<BackupSummary> {
    const { engine, directory, copies } = this
    const { fileSystem, versions } = engine
    const earlier = highestNumber('manifest', fileSystem.listSync(directory))
    if (earlier > 0) {
      const { state: before } = readManifestSync(fileSystem, directory, earlier)
      this.needed = new Set(dataFilesOf(before).map(({ name }) => name))
    }
    const files = dataFilesOf(state)
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    let done = 0
    for (const file of files) {
      this.check()
      this.counts[await this.placeFile(file)]++
      done += file.bytes
      this.options.onProgress?.(done / bytes)
    }
    this.check()
    const wanted = new Set(files.map(({ name }) => name))
    for (const name of copies.keys()) if (!wanted.has(name)) copies.delete(name)
    const { databaseId } = versions
    // This also makes the names of the files durable, before the manifest names them.
    writeBackupMarkerSync(fileSystem, directory, { databaseId, copies })
    const manifestNumber = Math.max(state.logFileNumberFloor, earlier + 1)
    const nextFileNumber = manifestNumber + 1
    const written = { ...state, nextFileNumber }
    writeManifestSync(fileSystem, directory, manifestNumber, databaseId, written).closeSync()
    this.removeOthers(manifestNumber, wanted)
    const milliseconds = engine.clock.now()
    engine.reports.attempt(() => engine.backupNote.write({ milliseconds, sequence, bytes }))
    return { sequence, files: files.length, bytes, ...this.counts }
  }

  private async placeFile({ name, bytes }: DataFile): Promise<keyof BackupRun['counts']> {
    const { copies, directory, engine } = this
    const { fileSystem } = engine
    const from = fileSystem.join(engine.directory, name)
    const to = fileSystem.join(directory, name)
    // A link would be as short as a file that was cut, and the backup good for nothing.
    checkFileSync(fileSystem, from, bytes, 'file')
    const identity = fileSystem.identitySync?.(from)
    const found = fileSystem.statSync(to)
    if (found !== undefined) {
      const known = identity !== undefined && found.kind === 'file' && found.size === bytes
      const isSame =
        known && (copies.get(name) === identity || fileSystem.identitySync?.(to) === identity)
      if (isSame) return 'filesKept'
      if (await sameContent(fileSystem, from, to, () => this.check())) {
        await syncFile(fileSystem, to)
        if (identity !== undefined) copies.set(name, identity)
        return 'filesKept'
      }
      if (this.needed.has(name)) throw this.differs(name)
      fileSystem.unlinkSync(to)
    }
    copies.delete(name)
    const how = await linkOrCopy(fileSystem, from, to, () => this.check())
    if (how === 'link') return 'filesLinked'
    if (identity !== undefined) copies.set(name, identity)
    return 'filesCopied'
  }

  /** `ERR_CLOSED`, `ERR_POISONED`, `ERR_ABORTED`. */
  private check(): void {
    this.engine.lifecycle.checkOpen()
    checkAborted('the backup', this.options.signal)
  }

  private differs(name: string): CellarError {
    const what = `file ${name} of ${this.directory} is another one than that of the database`
    const why = 'the backup is damaged, or the two have different histories since a restore'
    return new CellarError(ErrorCode.notABackup, `${what}: ${why}; name another directory`)
  }

  /** Removes what earlier and interrupted backups have left. */
  private removeOthers(manifestNumber: number, wanted: ReadonlySet<string>): void {
    const { fileSystem, reports } = this.engine
    try {
      for (const name of fileSystem.listSync(this.directory)) {
        const parsed = parseFileName(name)
        if (parsed === undefined || wanted.has(name)) continue
        if (parsed.kind === 'manifest' && parsed.fileNumber >= manifestNumber) continue
        fileSystem.unlinkSync(fileSystem.join(this.directory, name))
      }
    } catch (error) {
      // The backup is complete; the next one tries again.
      reports.warn(error)
    }
  }
}
