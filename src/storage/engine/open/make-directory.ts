/** Makes directories whose names survive a power cut. */
import type { FileSystem } from '../../fs/types.js'

/** Makes a directory and its missing parents, each one's name durable in its parent. */
export function makeDurableDirectory(fileSystem: FileSystem, directory: string): void {
  if (fileSystem.statSync(directory) !== undefined) return
  const parent = fileSystem.join(directory, '..')
  if (parent !== directory) makeDurableDirectory(fileSystem, parent)
  fileSystem.makeDirectorySync(directory)
  fileSystem.syncDirectorySync(parent)
}
