/**
 * Restores a backup into an empty or absent directory, which then is a database.
 *
 * 1. The backup is read as it is at this moment (frozen-directory.ts), and every byte of its files
 *    is checked. Nothing is written so far, and the backup is never written to.
 * 2. The files get names in the directory, by hard links or copies; the names are synced.
 * 3. The manifest is published. That is the moment in which the directory becomes the database.
 *
 * Failure behaviour: an error removes the files that were placed. A crash within step 2 leaves a
 * directory that no open takes (`ERR_CORRUPTION`: the manifest is missing) and no restore
 * (`ERR_DIRECTORY_NOT_EMPTY`); remove it and restore again.
 */
import { checkSignal } from '../../../base/arguments.js'
import { CellarError, checkAborted, corruption, ErrorCode } from '../../../base/errors.js'
import { callback, checked, declareOptions, type OptionsOf } from '../../../base/options.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs } from '../../codec/codec.js'
import { SsTableReaders } from '../../files/sstable-readers.js'
import { linkOrCopy } from '../../fs/copy-file.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import { removeQuietly } from '../../fs/quietly.js'
import type { FileSystem } from '../../fs/types.js'
import { temporarySuffix } from '../../fs/whole-file.js'
import { readBackupMarkerSync, type BackupMarker } from '../../version/backup-marker.js'
import {
  backupMarkerName,
  dataFilesOf,
  formatFileName,
  highestNumber,
} from '../../version/file-names.js'
import { writeManifestSync } from '../../version/manifest.js'
import { inspectDirectorySync, type DirectoryContent } from '../../version/open-directory.js'
import { forEachFile, valueFilesOf } from '../../version/version.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { valueBytesGuess } from '../inspection/file-survey.js'
import { Pace } from '../inspection/pace.js'
import { makeDurableDirectory } from '../open/make-directory.js'
import { fileSystemOption, readWithPaths } from '../options.js'

const restoreOptions = declareOptions('a restore', {
  /** Told which part of the backup is checked and in place, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the restore with `ERR_ABORTED`, and takes back what it did. */
  signal: checked(checkSignal),
  /** Where both directories live. Default: the machine's file system. */
  fileSystem: fileSystemOption,
})

/** Options of a restore. */
export interface RestoreOptions extends OptionsOf<typeof restoreOptions> {}

/** Part of the work that the check of the bytes is. */
const checkPart = 0.9

/** See the file header; errors as `Database.restore`. */
export async function restoreBackup(
  backupDirectory: string,
  directory: string,
  given: RestoreOptions,
): Promise<void> {
  const paths = [backupDirectory, directory]
  const options = readWithPaths(paths, () => restoreOptions.read(given))
  const fileSystem = options.fileSystem ?? new NodeFileSystem()
  await loadChecksums()
  check(options)
  checkEmpty(fileSystem, directory)
  const marker = readBackupMarkerSync(fileSystem, backupDirectory)
  if (marker === undefined) {
    const message = `${backupDirectory} holds no backup: it has no file ${backupMarkerName}`
    throw new CellarError(ErrorCode.notABackup, message)
  }
  if (highestNumber('manifest', fileSystem.listSync(backupDirectory)) === 0) {
    const message = `the first backup into ${backupDirectory} was interrupted; back up again`
    throw new CellarError(ErrorCode.backupIncomplete, message)
  }
  const { databaseId, content } = await checkBackup(fileSystem, backupDirectory, marker, options)
  await placeFiles(fileSystem, backupDirectory, directory, databaseId, content, options)
}

/** Reads the backup as it is at this moment, to the last byte, and closes it. */
async function checkBackup(
  fileSystem: FileSystem,
  directory: string,
  marker: BackupMarker,
  options: RestoreOptions,
): Promise<{ readonly databaseId: Buffer; readonly content: DirectoryContent }> {
  const view = await freezeDirectory(fileSystem, directory)
  try {
    const content = inspectDirectorySync(view, directory, false)
    const { databaseId } = content
    if (databaseId?.equals(marker.databaseId) !== true) {
      const file = view.join(directory, backupMarkerName)
      const [expected, found] = [marker.databaseId, databaseId].map((id) => id?.toString('hex'))
      throw corruption('marker and manifest disagree', { file, offset: 0, expected, found })
    }
    await checkFiles(view, directory, databaseId, content, options)
    return { databaseId, content }
  } finally {
    view.closeSync()
  }
}

/**
 * `ERR_DIRECTORY_NOT_EMPTY` unless the directory is absent or empty. A caller that has locked it
 * checks again with `isLocked`, and its lock does not count: until then another process could fill
 * the directory.
 */
export function checkEmpty(fileSystem: FileSystem, directory: string, isLocked = false): void {
  const kind = fileSystem.statSync(directory)?.kind
  if (kind === undefined) return
  const isFound = (name: string): boolean => !isLocked || !name.startsWith('LOCK')
  const found = kind === 'file' ? 'a file' : fileSystem.listSync(directory).find(isFound)
  if (found === undefined) return
  const message = `${directory} must be an empty directory or absent, but there is ${found}`
  throw new CellarError(ErrorCode.directoryNotEmpty, message)
}

function check({ signal }: RestoreOptions): void {
  checkAborted('the restore', signal)
}

/** Reads all files to the last byte. */
async function checkFiles(
  view: FileSystem,
  directory: string,
  databaseId: Buffer,
  { state }: DirectoryContent,
  options: RestoreOptions,
): Promise<void> {
  const readers = new SsTableReaders(view, { directory, databaseId }, loadCodecs(), 0)
  const pace = new Pace('the restore', {
    bytesPerSecondMax: Infinity,
    onProgress: (part) => options.onProgress?.(checkPart * part),
    signal: options.signal,
  })
  pace.bytesTotal = dataFilesOf(state).reduce((sum, { bytes }) => sum + bytes, 0)
  try {
    const files: FileMetadata[] = []
    forEachFile(state, (file) => files.push(file))
    for (const file of files) {
      const reader = readers.open(file)
      await pace.run(reader.verify(), file.fileBytes, reader.index.blockCount)
      readers.close(file.fileNumber)
    }
    for (const [fileNumber, bytes] of valueFilesOf(state)) {
      const steps = readers.values.find(fileNumber)!.verify()
      await pace.run(steps, bytes, bytes / valueBytesGuess)
    }
  } finally {
    readers.closeAll()
  }
}

async function placeFiles(
  fileSystem: FileSystem,
  from: string,
  directory: string,
  databaseId: Buffer,
  { state, nextFileNumber }: DirectoryContent,
  options: RestoreOptions,
): Promise<void> {
  makeDurableDirectory(fileSystem, directory)
  const lock = await fileSystem.lock(directory)
  const manifestNumber = nextFileNumber
  const manifest = formatFileName('manifest', manifestNumber)
  const placed: string[] = []
  try {
    checkEmpty(fileSystem, directory, true)
    placed.push(manifest, manifest + temporarySuffix)
    for (const { name } of dataFilesOf(state)) {
      check(options)
      placed.push(name)
      const [source, target] = [from, directory].map((place) => fileSystem.join(place, name))
      await linkOrCopy(fileSystem, source, target, () => check(options))
    }
    check(options)
    fileSystem.syncDirectorySync(directory)
    const written = { ...state, nextFileNumber: manifestNumber + 1 }
    writeManifestSync(fileSystem, directory, manifestNumber, databaseId, written).closeSync()
    options.onProgress?.(1)
  } catch (error) {
    for (const name of placed) removeQuietly(fileSystem, fileSystem.join(directory, name))
    throw error
  } finally {
    await lock.release()
  }
}
