/**
 * Opening a database directory: what is in it, whether it is ours, and what may be cleaned up.
 *
 * Nothing is changed before the manifest has been read and every file that it names has been
 * found with its right size. Only names of exactly our form are ever removed.
 */

import { CellarError, corruption, ErrorCode } from '../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { formatFileName, isIgnoredName, parseFileName, type FileName } from './file-names.js'
import { readManifestSync } from './manifest.js'
import { emptyState, forEachFile, valueFilesOf, type VersionState } from './version.js'

/** A name of ours in the directory. */
interface OwnFile extends FileName {
  readonly name: string
}

/** What {@link inspectDirectorySync} found. */
export interface DirectoryContent {
  /** Empty if there is no manifest and the directory may become a database. */
  readonly state: VersionState
  /** Identity of the database; undefined if it is new. */
  readonly databaseId: Buffer | undefined
  /** Number of the manifest that was read; undefined if the database is new. */
  readonly manifestNumber: number | undefined
  /** Greater than every number in the manifest and in any name of ours in the directory. */
  readonly nextFileNumber: number
  /** Bytes of the manifest that were left out as a torn tail. */
  readonly tornBytes: number
  /**
   * Names that no state needs: older manifests, temporary files, unknown SSTables and value files.
   */
  readonly orphans: readonly string[]
}

/**
 * Reads the directory without changing it.
 *
 * @throws CellarError `ERR_NOT_A_DATABASE` if it does not exist or holds only files of others,
 * `ERR_CORRUPTION` if the manifest or a file that it names is missing or damaged,
 * `ERR_FORMAT_VERSION` if a newer version of Cellar wrote it.
 */
export function inspectDirectorySync(
  fileSystem: FileSystem,
  directory: string,
  createIfMissing: boolean,
): DirectoryContent {
  // A symbolic link to a directory is neither; listing it tells.
  const kind = fileSystem.statSync(directory)?.kind
  if (kind === undefined || kind === 'file') {
    throw new CellarError(ErrorCode.notADatabase, `${directory} is not a directory`)
  }
  const names = fileSystem.listSync(directory)
  const own = findOwnFiles(names)
  const manifestNumber = own.reduce(
    (highest, file) => (file.kind === 'manifest' ? Math.max(highest, file.fileNumber) : highest),
    0,
  )
  let state = emptyState
  let databaseId: Buffer | undefined
  let tornBytes = 0
  if (manifestNumber > 0) {
    const content = readManifestSync(fileSystem, directory, manifestNumber)
    state = content.state
    databaseId = content.header.databaseId
    tornBytes = content.tornBytes
    checkFilesSync(fileSystem, directory, state)
  } else {
    checkCreatable(fileSystem, directory, names, own, createIfMissing)
  }
  let nextFileNumber = state.nextFileNumber
  for (const { fileNumber } of own) nextFileNumber = Math.max(nextFileNumber, fileNumber + 1)
  return {
    state,
    databaseId,
    manifestNumber: manifestNumber === 0 ? undefined : manifestNumber,
    nextFileNumber,
    tornBytes,
    orphans: findOrphans(own, state, manifestNumber),
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
  const left = own.find((file) => file.kind !== 'temporary')
  if (left !== undefined) {
    throw corruption('missing manifest', {
      file: fileSystem.join(directory, formatFileName('manifest', 1).replace(/\d+$/, '*')),
      offset: 0,
      expected: `a manifest, because ${left.name} is there`,
      found: 'none',
    })
  }
  const foreign = names.find((name) => !isIgnoredName(name) && parseFileName(name) === undefined)
  if (foreign !== undefined) {
    const message = `${directory} holds no database, but other files, such as ${foreign}`
    throw new CellarError(ErrorCode.notADatabase, message)
  }
  if (!createIfMissing) {
    throw new CellarError(ErrorCode.notADatabase, `${directory} holds no database`)
  }
}

function checkFilesSync(fileSystem: FileSystem, directory: string, state: VersionState): void {
  forEachFile(state, ({ fileNumber, fileBytes }) => {
    const path = fileSystem.join(directory, formatFileName('table', fileNumber))
    checkFileSync(fileSystem, path, fileBytes, 'SSTable')
  })
  for (const [fileNumber, fileBytes] of valueFilesOf(state)) {
    const path = fileSystem.join(directory, formatFileName('values', fileNumber))
    checkFileSync(fileSystem, path, fileBytes, 'value file')
  }
}

function checkFileSync(
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

function findOrphans(
  own: readonly OwnFile[],
  state: VersionState,
  manifestNumber: number,
): string[] {
  const values = valueFilesOf(state)
  const needed = new Set<number>()
  forEachFile(state, ({ fileNumber }) => needed.add(fileNumber))
  const isOrphan = ({ kind, fileNumber }: OwnFile): boolean => {
    switch (kind) {
      case 'temporary':
        return true
      case 'table':
        return !needed.has(fileNumber)
      case 'values':
        return !values.has(fileNumber)
      case 'manifest':
        return fileNumber < manifestNumber
      case 'log':
        return false
    }
  }
  return own.filter(isOrphan).map((file) => file.name)
}
