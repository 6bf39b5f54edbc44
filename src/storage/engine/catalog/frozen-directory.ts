/**
 * A view of a database directory at one moment, also while another process writes to the directory.
 *
 * The manifest is read, all files of the database are opened, and the manifest is read again. If
 * both manifests are equal, no file that they name was removed in between: a writer removes
 * SSTables, value files and segments only after the edit that makes them obsolete. Open files stay
 * readable when their names are removed. If the manifests differ, everything is done again.
 *
 * Only the last segment of the log grows. It is read twice and cut where the two readings differ.
 * So bytes that the writer added meanwhile are left out, and the view shows a prefix of the history
 * that holds everything written before the view was taken.
 *
 * Nothing is written to the directory, and no lock is taken.
 */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { MemoryContent, type Content } from '../../fs/content.js'
import { KeptContent, OverlayFileSystem } from '../../fs/overlay-fs.js'
import type { FileSystem } from '../../fs/types.js'
import { readWholeFileSync } from '../../fs/whole-file.js'
import { backupNoteName } from '../../version/backup-note.js'
import { closingStatementName } from '../../version/closing-statement.js'
import {
  formatFileName,
  highestNumber,
  isFailedSyncName,
  parseFileName,
} from '../../version/file-names.js'
import { inspectDirectorySync } from '../../version/open-directory.js'

/**
 * Attempts before giving up. A busy writer makes some edits per second; an attempt takes
 * milliseconds.
 */
const attemptsMax = 100

/**
 * Takes a view of the directory. Releasing the lock of the view closes its files.
 *
 * @throws CellarError `ERR_NOT_A_DATABASE`; `ERR_CORRUPTION` if the manifest is missing;
 * `ERR_LOCKED` if a writer changes the directory faster than it can be read; `ERR_IO`.
 */
export async function freezeDirectory(
  fileSystem: FileSystem,
  directory: string,
): Promise<OverlayFileSystem> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const contents = captureSync(fileSystem, directory)
    if (contents !== undefined) return new OverlayFileSystem(fileSystem, directory, contents)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const message = `another process changes ${directory} faster than it can be read; try again`
  throw new CellarError(ErrorCode.locked, message)
}

/** Reads and opens the files of the directory. Undefined if the directory was changed meanwhile. */
function captureSync(fileSystem: FileSystem, directory: string): Map<string, Content> | undefined {
  const manifest = newestManifest(fileSystem, directory)
  if (manifest === undefined) {
    // This call throws: there is no database, or its manifest is missing.
    inspectDirectorySync(fileSystem, directory, false)
    return undefined
  }
  const contents = new Map<string, Content>()
  let complete = false
  try {
    const before = readSync(fileSystem, fileSystem.join(directory, manifest))
    if (before === undefined) return undefined
    captureFiles(fileSystem, directory, contents)
    const after = readSync(fileSystem, fileSystem.join(directory, manifest))
    if (after === undefined || !after.equals(before)) return undefined
    if (newestManifest(fileSystem, directory) !== manifest) return undefined
    contents.set(manifest, new MemoryContent(after))
    complete = true
    return contents
  } finally {
    if (!complete) for (const content of contents.values()) content.releaseSync()
  }
}

function newestManifest(fileSystem: FileSystem, directory: string): string | undefined {
  const kind = fileSystem.statSync(directory)?.kind
  if (kind === undefined || kind === 'file') return undefined
  return newestOf('manifest', fileSystem.listSync(directory))
}

function newestOf(kind: 'manifest' | 'log', names: readonly string[]): string | undefined {
  const fileNumber = highestNumber(kind, names)
  return fileNumber === 0 ? undefined : formatFileName(kind, fileNumber)
}

function captureFiles(
  fileSystem: FileSystem,
  directory: string,
  contents: Map<string, Content>,
): void {
  const names = fileSystem.listSync(directory)
  const lastSegment = newestOf('log', names)
  for (const name of names) {
    const kind = parseFileName(name)?.kind
    const isStatement =
      name === closingStatementName || name === backupNoteName || isFailedSyncName(name)
    if (!isStatement && kind !== 'log' && kind !== 'table' && kind !== 'values') continue
    const path = fileSystem.join(directory, name)
    if (fileSystem.statSync(path)?.kind !== 'file') continue
    const content =
      name === lastSegment || isStatement
        ? readStable(fileSystem, path)
        : whileThere(fileSystem, path, () => new KeptContent(fileSystem.openSync(path, 'read')))
    if (content !== undefined) contents.set(name, content)
  }
}

/** Reads a file that may grow meanwhile, up to where two readings agree; see the file header. */
function readStable(fileSystem: FileSystem, path: string): Content | undefined {
  const first = readSync(fileSystem, path)
  const second = first === undefined ? undefined : readSync(fileSystem, path)
  if (first === undefined || second === undefined) return undefined
  const length = Math.min(first.length, second.length)
  if (first.subarray(0, length).equals(second.subarray(0, length))) {
    return new MemoryContent(first.subarray(0, length))
  }
  let same = 0
  while (first[same] === second[same]) same++
  return new MemoryContent(first.subarray(0, same))
}

/** The whole content of a file; undefined if the file was removed. */
function readSync(fileSystem: FileSystem, path: string): Buffer | undefined {
  return whileThere(fileSystem, path, () => readWholeFileSync(fileSystem, path))
}

/** The result of a step on a file; undefined if the file was removed meanwhile. */
function whileThere<T>(fileSystem: FileSystem, path: string, step: () => T): T | undefined {
  try {
    return step()
  } catch (error) {
    if (fileSystem.statSync(path) === undefined) return undefined
    throw error
  }
}
