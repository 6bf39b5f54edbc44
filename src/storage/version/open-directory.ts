/**
 * Inspects a database directory at an open: what it holds, whether it is a database, and which
 * files can be removed.
 *
 * Nothing is changed before the manifest was read and every file that it names was found with the
 * right size. Only files with exactly our names are ever removed.
 */

import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { temporarySuffix } from '../fs/whole-file.js'
import {
  checkManifestAsClosed,
  closingStatementName,
  readClosingStatementSync,
  type ClosedSegment,
} from './closing-statement.js'
import { fileOfFailedSync } from '../record/failed-sync.js'
import type { CutTail } from '../record/record-scan.js'
import {
  dataFilesOf,
  formatFileName,
  highestNumber,
  isFailedSyncName,
  isIgnoredName,
  parseFileName,
  unknownFilesOf,
  type FileName,
} from './file-names.js'
import { readManifestSync, type ManifestContent } from './manifest.js'
import { emptyState, type VersionState } from './version.js'

/** A file of the directory with one of our names. */
interface OwnFile extends FileName {
  readonly name: string
}

/** The result of {@link inspectDirectorySync}. */
export interface DirectoryContent {
  /** The state in the manifest. Empty if there is no manifest and a database may be created. */
  readonly state: VersionState
  /** Identity of the database; undefined if it is new. */
  readonly databaseId: Buffer | undefined
  /** Number of the manifest that was read; undefined if the database is new. */
  readonly manifestNumber: number | undefined
  /** Greater than every file number in the manifest and in the directory. */
  readonly nextFileNumber: number
  /** Length in bytes of the valid part of the manifest, and end of its last edit. */
  readonly manifestLength: number
  readonly manifestEditEnd: number
  /** Number of the newest log segment that was begun; 0 if the manifest has no note. */
  readonly segmentNoted: number
  /**
   * Whether the machine has not stopped since the manifest was begun; false if the database is new.
   */
  readonly sameRun: boolean
  /** The torn tail of the manifest, which was left out. */
  readonly tornTail: CutTail | undefined
  /** The last segment of the log, if the database was closed cleanly and not opened since. */
  readonly closed: ClosedSegment | undefined
  /**
   * Names of files that are not needed: older manifests, temporary files, the statement of a close.
   */
  readonly leftovers: readonly string[]
  /** Names of SSTables and value files that the manifest does not name. */
  readonly unknownFiles: readonly string[]
}

/**
 * Reads the directory without changing it.
 *
 * @param strict - refuse a torn tail of the manifest.
 * @throws CellarError `ERR_NOT_A_DATABASE` if the directory does not exist, holds other files only,
 * or holds no database and none may be created. `ERR_CORRUPTION` if the manifest, or a file that it
 * names, is missing or damaged. `ERR_FORMAT_VERSION` if a newer version of Cellar wrote the
 * manifest.
 */
export function inspectDirectorySync(
  fileSystem: FileSystem,
  directory: string,
  createIfMissing: boolean,
  strict = false,
): DirectoryContent {
  const content = readDirectorySync(fileSystem, directory, createIfMissing, strict)
  checkFilesSync(fileSystem, directory, content.state)
  return content
}

/** As {@link inspectDirectorySync}, without a look at the files that the manifest names. */
export function readDirectorySync(
  fileSystem: FileSystem,
  directory: string,
  createIfMissing: boolean,
  strict = false,
): DirectoryContent {
  // The kind is `other` for a symbolic link to a directory. Listing it works.
  const kind = fileSystem.statSync(directory)?.kind
  if (kind === undefined || kind === 'file') {
    throw new CellarError(ErrorCode.notADatabase, `${directory} is not a directory`)
  }
  const names = fileSystem.listSync(directory)
  const own = findOwnFiles(names)
  const manifestNumber = highestNumber('manifest', names)
  let state = emptyState
  let content: ManifestContent | undefined
  let closed: ClosedSegment | undefined
  if (manifestNumber > 0) {
    content = readManifestSync(fileSystem, directory, manifestNumber, strict)
    state = content.state
    if (names.includes(closingStatementName)) {
      const statement = readClosingStatementSync(fileSystem, directory)
      const { databaseId } = content.header
      const holds = checkManifestAsClosed(
        fileSystem,
        directory,
        statement,
        manifestNumber,
        databaseId,
      )
      if (holds) closed = statement.segment
    }
  } else {
    checkCreatable(fileSystem, directory, names, own, createIfMissing)
  }
  let nextFileNumber = state.nextFileNumber
  for (const { fileNumber } of own) nextFileNumber = Math.max(nextFileNumber, fileNumber + 1)
  return {
    state,
    databaseId: content?.header.databaseId,
    manifestNumber: manifestNumber === 0 ? undefined : manifestNumber,
    nextFileNumber,
    manifestLength: content?.length ?? 0,
    manifestEditEnd: content?.editEnd ?? 0,
    segmentNoted: content?.segmentNoted ?? 0,
    sameRun: content?.sameRun === true,
    tornTail: content?.tornTail,
    closed,
    leftovers: findLeftovers(names, own, manifestNumber),
    unknownFiles: unknownFilesOf(state, names),
  }
}

function findOwnFiles(names: readonly string[]): OwnFile[] {
  const own: OwnFile[] = []
  for (const name of names) {
    const parsed = parseFileName(name)
    if (parsed !== undefined) own.push({ ...parsed, name })
  }
  return own
}

function checkCreatable(
  fileSystem: FileSystem,
  directory: string,
  names: readonly string[],
  own: readonly OwnFile[],
  createIfMissing: boolean,
): void {
  const left = names.includes(closingStatementName)
    ? closingStatementName
    : own.find((file) => file.kind !== 'temporary')?.name
  if (left !== undefined) {
    throw corruption('missing manifest', {
      file: fileSystem.join(directory, formatFileName('manifest', 1).replace(/\d+$/, '*')),
      offset: 0,
      expected: `a manifest, because ${left} is there`,
      found: 'none',
    })
  }
  const foreign = names.find((name) => !isIgnoredName(name) && !isOwnName(name))
  if (foreign !== undefined) {
    const message = `${directory} holds no database, but other files, such as ${foreign}`
    throw new CellarError(ErrorCode.notADatabase, message)
  }
  if (!createIfMissing) {
    throw new CellarError(ErrorCode.notADatabase, `${directory} holds no database`)
  }
}

function checkFilesSync(fileSystem: FileSystem, directory: string, state: VersionState): void {
  for (const { kind, name, bytes } of dataFilesOf(state)) {
    const what = kind === 'table' ? 'SSTable' : 'value file'
    checkFileSync(fileSystem, fileSystem.join(directory, name), bytes, what)
  }
}

/** Compares a file with its length in the manifest. Throws `ERR_CORRUPTION`. */
export function checkFileSync(
  fileSystem: FileSystem,
  path: string,
  fileBytes: number,
  what: string,
): void {
  const stat = fileSystem.statSync(path)
  const expected = `a file of ${fileBytes} bytes, as the manifest says`
  if (stat === undefined) {
    throw corruption(`missing ${what}`, { file: path, offset: 0, expected, found: 'nothing' })
  }
  if (stat.kind !== 'file') {
    const found = stat.kind === 'directory' ? 'a directory' : 'something that is not a file'
    throw corruption(`misplaced ${what}`, { file: path, offset: 0, expected, found })
  }
  if (stat.size !== fileBytes) {
    const offset = Math.min(stat.size, fileBytes)
    const found = `${stat.size} bytes`
    throw corruption(`${what} of the wrong size`, { file: path, offset, expected, found })
  }
}

function isOwnName(name: string): boolean {
  return parseFileName(name) !== undefined || isClosingName(name) || isFailedSyncName(name)
}

function isClosingName(name: string): boolean {
  return name === closingStatementName || name === closingStatementName + temporarySuffix
}

function findLeftovers(
  names: readonly string[],
  own: readonly OwnFile[],
  manifestNumber: number,
): string[] {
  const leftovers = own.filter(({ kind, fileNumber }) => {
    return kind === 'temporary' || (kind === 'manifest' && fileNumber < manifestNumber)
  })
  // Recovery removes the statements about the log, once the log is whole.
  const isOfManifest = (name: string): boolean => {
    const about = fileOfFailedSync(name)
    return about !== undefined && parseFileName(about)?.kind === 'manifest'
  }
  const statements = names.filter((name) => isClosingName(name) || isOfManifest(name))
  return [...leftovers.map((file) => file.name), ...statements]
}
