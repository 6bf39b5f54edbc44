/** Small files that are written as a whole or not at all, and read at once. */
import { quietly } from './quietly.js'
import type { FileSystem } from './types.js'

/** Suffix of the name of a file while it is being written. */
export const temporarySuffix = '.tmp'

/** Writes or replaces a file, durably: temporary name, sync, rename, sync of the directory. */
export function writeWholeFileSync(
  fileSystem: FileSystem,
  directory: string,
  name: string,
  bytes: Buffer,
): void {
  const path = fileSystem.join(directory, name)
  const temporaryPath = path + temporarySuffix
  // A crash may have left the temporary file of an earlier attempt.
  if (fileSystem.statSync(temporaryPath) !== undefined) fileSystem.unlinkSync(temporaryPath)
  const file = fileSystem.openSync(temporaryPath, 'create')
  try {
    file.writeSync(bytes, 0, bytes.length, 0)
    file.syncSync()
  } finally {
    file.closeSync()
  }
  fileSystem.renameSync(temporaryPath, path)
  fileSystem.syncDirectorySync(directory)
}

/** The bytes of a file. */
export function readWholeFileSync(fileSystem: FileSystem, path: string): Buffer {
  const file = fileSystem.openSync(path, 'read')
  try {
    const bytes = Buffer.alloc(file.sizeSync())
    // A file that became shorter meanwhile has fewer bytes.
    return bytes.subarray(0, file.readSync(bytes, 0, bytes.length, 0))
  } finally {
    quietly(() => file.closeSync())
  }
}
