/**
 * The list of an export, `_CELLAR` in its directory: the files, and how many cells they have. It is
 * written when all files are durable, and before they get their names. HBase passes over it.
 */
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import { makeDurableDirectory } from '../../storage/engine/open/make-directory.js'
import { quietly, removeQuietly } from '../../storage/fs/quietly.js'
import type { FileSystem } from '../../storage/fs/types.js'
import { temporarySuffix } from '../../storage/fs/whole-file.js'
import { readCheckedJsonSync, writeCheckedJsonSync } from '../../storage/version/checked-json.js'
import { count, listOf, name, readObject, record } from '../../storage/version/json-fields.js'

const fileFields = {
  family: name,
  file: name,
  cells: count(1),
  bytes: count(1),
}

/** A file of an export. */
export interface ExportedFile {
  /** The column family of the cells. */
  readonly family: string
  /** The name of the file in the directory of its family. */
  readonly file: string
  /** Cells in the file. */
  readonly cells: number
  /** The size of the file. */
  readonly bytes: number
}

const listName = '_CELLAR'
const files = listOf(record('a file', fileFields))
/** HBase does not load files whose names begin so; it does load those that begin with a dot. */
const hidden = '_'

/** The name of a file until it is complete. */
export function hiddenName(file: string): string {
  return hidden + file
}

/**
 * Makes the directory of an export, and removes what one that was interrupted has left.
 * `ERR_DIRECTORY_NOT_EMPTY`; `ERR_CORRUPTION` of a list.
 */
export function prepareDirectory(fileSystem: FileSystem, directory: string): void {
  makeDurableDirectory(fileSystem, directory)
  removeUnfinished(fileSystem, directory)
  const left: string[] = []
  for (const family of fileSystem.listSync(directory)) {
    const path = fileSystem.join(directory, family)
    if (family === listName + temporarySuffix) {
      left.push(path)
      continue
    }
    const isFolder = fileSystem.statSync(path)?.kind === 'directory'
    const names = isFolder ? fileSystem.listSync(path) : ['']
    const foreign = names.find((each) => !/^_[0-9a-f]{32}$/.test(each))
    if (foreign !== undefined) {
      const found = foreign === '' ? family : fileSystem.join(family, foreign)
      const message = `${directory} must be empty for an export to HFiles; it holds ${found}`
      throw new CellarError(ErrorCode.directoryNotEmpty, message)
    }
    left.push(...names.map((each) => fileSystem.join(path, each)))
  }
  for (const path of left) fileSystem.unlinkSync(path)
}

/** Takes back the list of an export that ended before all of its files had their names. */
function removeUnfinished(fileSystem: FileSystem, directory: string): void {
  const list = readList(fileSystem, directory)
  const isHidden = ({ family, file }: ExportedFile): boolean =>
    fileSystem.statSync(hiddenPath(fileSystem, directory, family, file)) !== undefined
  if (list?.files.some(isHidden) === true) takeBackList(fileSystem, directory, list.id)
}

/**
 * Hides the files of an export again, and then removes its list: at each moment in between the
 * export is one that did not end. False if the list of this id is still there.
 */
export function takeBackList(fileSystem: FileSystem, directory: string, id: string): boolean {
  const path = fileSystem.join(directory, listName)
  removeQuietly(fileSystem, path + temporarySuffix)
  try {
    const list = readList(fileSystem, directory)
    if (list?.id !== id) return true
    renameFiles(fileSystem, directory, list.files, false)
    fileSystem.unlinkSync(path)
  } catch {
    return false
  }
  // A list must not come back without its files after a power cut.
  quietly(() => fileSystem.syncDirectorySync(directory))
  return true
}

/**
 * Writes the list of durable files, and gives them their names. `ERR_DIRECTORY_NOT_EMPTY` if
 * another export into the directory has removed one of them, or has files there too.
 */
export function completeExport(
  fileSystem: FileSystem,
  directory: string,
  id: string,
  list: readonly ExportedFile[],
): void {
  checkAlone(fileSystem, directory, list)
  for (const family of new Set(list.map((each) => each.family))) {
    fileSystem.syncDirectorySync(fileSystem.join(directory, family))
  }
  writeCheckedJsonSync(fileSystem, directory, listName, { format: 1, id, files: list })
  renameFiles(fileSystem, directory, list, true)
}

/** Refuses an export that was not alone: HBase would load the files of two tables as one. */
function checkAlone(
  fileSystem: FileSystem,
  directory: string,
  list: readonly ExportedFile[],
): void {
  const own = list.map(({ family, file }) => fileSystem.join(family, hiddenName(file)))
  const present = fileSystem.listSync(directory).flatMap((family) => {
    const path = fileSystem.join(directory, family)
    if (fileSystem.statSync(path)?.kind !== 'directory') return [family]
    return fileSystem.listSync(path).map((file) => fileSystem.join(family, file))
  })
  if (own.length === present.length && own.every((each) => present.includes(each))) return
  const message = `another export writes to ${directory}`
  throw new CellarError(ErrorCode.directoryNotEmpty, message)
}

/**
 * The files of an export that is complete; undefined if there is no list. An export that ended
 * before its files had their names is completed. `ERR_CORRUPTION`; `ERR_DIRECTORY_NOT_EMPTY` if the
 * list has another id.
 */
export function finishedExport(
  fileSystem: FileSystem,
  directory: string,
  id: string,
): readonly ExportedFile[] | undefined {
  const list = readList(fileSystem, directory)
  if (list === undefined) return undefined
  if (list.id !== id) {
    const message = `${directory} holds the HFiles of another export`
    throw new CellarError(ErrorCode.directoryNotEmpty, message)
  }
  // The process that wrote the list may have ended before it was on the disk.
  fileSystem.syncDirectorySync(directory)
  renameFiles(fileSystem, directory, list.files, true)
  return list.files
}

/**
 * Refuses a directory without a file of its list: an export that did not end, or a part of one. A
 * directory without a list has no Cellar as its writer. `ERR_CORRUPTION`.
 */
export function checkComplete(
  fileSystem: FileSystem,
  directory: string,
  paths: ReadonlySet<string>,
): void {
  for (const { family, file } of readList(fileSystem, directory)?.files ?? []) {
    const path = fileSystem.join(fileSystem.join(directory, family), file)
    if (paths.has(path)) continue
    const expected = 'a file of the export, as its list says'
    const isHidden = fileSystem.statSync(hiddenPath(fileSystem, directory, family, file))
    const found =
      isHidden === undefined ? 'nothing' : 'one without its name: the export did not end'
    throw corruption('incomplete export to HFiles', { file: path, offset: 0, expected, found })
  }
}

/** The list of a directory; undefined if there is none. `ERR_CORRUPTION`. */
function readList(
  fileSystem: FileSystem,
  directory: string,
): { readonly id: string; readonly files: readonly ExportedFile[] } | undefined {
  const path = fileSystem.join(directory, listName)
  if (fileSystem.statSync(path) === undefined) return undefined
  return readCheckedJsonSync(fileSystem, path, 'list of HFiles', (value) => {
    const fields = readObject(value, 'the list')
    return { id: name.read(fields.id, 'id'), files: files.read(fields.files, 'files') }
  })
}

function hiddenPath(
  fileSystem: FileSystem,
  directory: string,
  family: string,
  file: string,
): string {
  return fileSystem.join(fileSystem.join(directory, family), hiddenName(file))
}

/**
 * Gives files their names, or hides them, durably. Those that are so already, or that HBase has
 * taken, stay.
 */
function renameFiles(
  fileSystem: FileSystem,
  directory: string,
  list: readonly ExportedFile[],
  shown: boolean,
): void {
  for (const { family, file } of list) {
    const shownPath = fileSystem.join(fileSystem.join(directory, family), file)
    const paths = [hiddenPath(fileSystem, directory, family, file), shownPath]
    const [from, to] = shown ? paths : paths.reverse()
    if (fileSystem.statSync(from) !== undefined) fileSystem.renameSync(from, to)
  }
  for (const family of new Set(list.map((each) => each.family))) {
    const folder = fileSystem.join(directory, family)
    if (fileSystem.statSync(folder) !== undefined) fileSystem.syncDirectorySync(folder)
  }
}
