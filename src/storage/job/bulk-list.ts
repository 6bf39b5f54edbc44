/**
 * The list of a bulk directory, `BULK`: its SSTables and their families. The list is written last,
 * so a directory with a list is complete. See ../engine/FORMAT.md.
 */
import { CellarError, ErrorCode } from '../../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { readCheckedJsonSync, writeCheckedJsonSync } from '../version/checked-json.js'
import { count, listOf, name, readObject, record, type RecordOf } from '../version/json-fields.js'

const fileFields = {
  family: name,
  /** The number in the file's name, to which its checksums are bound. */
  fileNumber: count(1),
  fileBytes: count(1),
  entryCount: count(1),
}

/** One SSTable of a bulk directory. */
export interface BulkFile extends RecordOf<typeof fileFields> {}

const listName = 'BULK'
const listFormat = 1
const files = listOf(record('a file', fileFields))

/** Path of the list in a directory. */
export function bulkListPath(fileSystem: FileSystem, directory: string): string {
  return fileSystem.join(directory, listName)
}

/** Writes the list durably. REQUIRES that the files are durable. */
export function writeBulkListSync(
  fileSystem: FileSystem,
  directory: string,
  list: readonly BulkFile[],
): void {
  writeCheckedJsonSync(fileSystem, directory, listName, { format: listFormat, files: list })
}

/**
 * Reads the list of a directory. Throws `ERR_INVALID_ARGUMENT` if there is none, `ERR_CORRUPTION`
 * or `ERR_FORMAT_VERSION`.
 */
export function readBulkListSync(fileSystem: FileSystem, directory: string): readonly BulkFile[] {
  const path = bulkListPath(fileSystem, directory)
  if (fileSystem.statSync(path) === undefined) {
    const message = `${directory} holds no finished bulk files: there is no ${listName}`
    throw new CellarError(ErrorCode.invalidArgument, message)
  }
  return readCheckedJsonSync(fileSystem, path, 'list of bulk files', (value) => {
    const list = readObject(value, 'the list')
    const format = count(1).read(list.format, 'format')
    if (format > listFormat) {
      const message = `${path} has format ${format}, this version reads up to ${listFormat}`
      throw new CellarError(ErrorCode.formatVersion, message)
    }
    return files.read(list.files, 'files')
  })
}
