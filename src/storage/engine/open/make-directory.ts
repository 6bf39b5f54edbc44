/** Makes directories whose names survive a power cut. */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import type { FileSystem } from '../../fs/types.js'

/**
 * Makes a directory and its missing parents, each one's name durable in its parent. Also the name
 * of an empty directory becomes durable: the process that made it may have ended before its sync.
 */
export function makeDurableDirectory(fileSystem: FileSystem, directory: string): void {
  const kind = fileSystem.statSync(directory)?.kind
  const parent = fileSystem.join(directory, '..')
  if (kind === undefined) {
    if (parent !== directory) makeDurableDirectory(fileSystem, parent)
    fileSystem.makeDirectorySync(directory)
    fileSystem.syncDirectorySync(parent)
  } else if (kind === 'directory' && fileSystem.listSync(directory).length === 0) {
    syncReadable(fileSystem, parent)
  }
}

/** Syncs a directory, unless this process must not read it. */
function syncReadable(fileSystem: FileSystem, directory: string): void {
  try {
    fileSystem.syncDirectorySync(directory)
  } catch (error) {
    if (!(error instanceof CellarError) || error.code !== ErrorCode.readOnly) throw error
  }
}
