/**
 * The list of a bulk directory, `BULK`: its SSTables and their families.
 *
 * The list is written last and as a whole, so a directory with a list is complete. It has two lines
 * of UTF-8: a JSON object, and the XXH64 (seed 0) of that line as 16 hexadecimal digits. See
 * ../engine/FORMAT.md.
 */
import { corruption, CellarError, ErrorCode } from '../../base/errors.js'
import { InvariantError } from '../../base/assert.js'
import { xxh64 } from '../codec/checksum.js'
import type { FileSystem } from '../fs/types.js'
import {
  readArray,
  readCount,
  readName,
  readObject,
  refuseUnknownFields,
} from '../version/json-fields.js'

/** One SSTable of a bulk directory. */
export interface BulkFile {
  readonly family: string
  /** The number in the file's name, to which its checksums are bound. */
  readonly fileNumber: number
  readonly fileBytes: number
  readonly entryCount: number
}

const listName = 'BULK'
const listFormat = 1
const fileFields: ReadonlySet<string> = new Set(['family', 'fileNumber', 'fileBytes', 'entryCount'])
/** Longest list that is read, in bytes. A list names some thousand files at most. */
const listBytesMax = 64 * 1024 * 1024

/** Path of the list in a directory. */
export function bulkListPath(fileSystem: FileSystem, directory: string): string {
  return fileSystem.join(directory, listName)
}

/** Writes the list durably. REQUIRES that the files are durable. */
export function writeBulkListSync(
  fileSystem: FileSystem,
  directory: string,
  files: readonly BulkFile[],
): void {
  const body = JSON.stringify({ format: listFormat, files })
  const content = Buffer.from(`${body}\n${checksumOf(body)}\n`, 'utf8')
  const path = bulkListPath(fileSystem, directory)
  const file = fileSystem.openSync(`${path}.tmp`, 'create')
  try {
    file.writeSync(content, 0, content.length, 0)
    file.syncSync()
  } finally {
    file.closeSync()
  }
  fileSystem.renameSync(`${path}.tmp`, path)
  fileSystem.syncDirectorySync(directory)
}

/**
 * Reads the list of a directory. Throws `ERR_INVALID_ARGUMENT` if there is none, `ERR_CORRUPTION`
 * or `ERR_FORMAT_VERSION`.
 */
export function readBulkListSync(fileSystem: FileSystem, directory: string): BulkFile[] {
  const path = bulkListPath(fileSystem, directory)
  if (fileSystem.statSync(path) === undefined) {
    const message = `${directory} holds no finished bulk files: there is no ${listName}`
    throw new CellarError(ErrorCode.invalidArgument, message)
  }
  const [body, checksum, ...rest] = readTextSync(fileSystem, path).split('\n')
  if (rest.length !== 1 || rest[0] !== '' || checksum !== checksumOf(body)) {
    throw damaged(path, 'a line of JSON and its checksum', 'something else')
  }
  try {
    const list = readObject(JSON.parse(body), 'the list')
    const format = readCount(list, 'format', 1)
    if (format > listFormat) {
      const message = `${path} has format ${format}, this version reads up to ${listFormat}`
      throw new CellarError(ErrorCode.formatVersion, message)
    }
    return readArray(list.files, 'files').map(decodeFile)
  } catch (error) {
    if (error instanceof CellarError) throw error
    throw damaged(path, 'a list of bulk files', (error as InvariantError).message)
  }
}

function decodeFile(value: unknown): BulkFile {
  const object = readObject(value, 'a file')
  refuseUnknownFields(object, fileFields, 'a file')
  return {
    family: readName(object, 'family'),
    fileNumber: readCount(object, 'fileNumber', 1),
    fileBytes: readCount(object, 'fileBytes', 1),
    entryCount: readCount(object, 'entryCount', 1),
  }
}

function readTextSync(fileSystem: FileSystem, path: string): string {
  const file = fileSystem.openSync(path, 'read')
  try {
    const bytes = file.sizeSync()
    if (bytes > listBytesMax) throw damaged(path, `at most ${listBytesMax} bytes`, `${bytes}`)
    const content = Buffer.allocUnsafe(bytes)
    const found = file.readSync(content, 0, bytes, 0)
    return content.toString('utf8', 0, found)
  } finally {
    file.closeSync()
  }
}

function checksumOf(body: string): string {
  return xxh64(Buffer.from(body, 'utf8'), 0n).toString(16).padStart(16, '0')
}

function damaged(path: string, expected: string, found: string): CellarError {
  return corruption('damaged list of bulk files', { file: path, offset: 0, expected, found })
}
