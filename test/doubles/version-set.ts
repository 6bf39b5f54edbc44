/** A version set over a directory without the rest of an engine. */
import type { FileSystem } from '../../src/storage/fs/types.js'
import { inspectDirectorySync } from '../../src/storage/version/open-directory.js'
import type { VersionSetOptions } from '../../src/storage/version/version-set-options.js'
import { VersionSet } from '../../src/storage/version/version-set.js'

/** Opens the database in a directory; an empty one becomes a database, unless that is refused. */
export function openVersionSet(
  fileSystem: FileSystem,
  directory: string,
  { createIfMissing = true, ...options }: VersionSetOptions & { createIfMissing?: boolean } = {},
): VersionSet {
  const content = inspectDirectorySync(fileSystem, directory, createIfMissing)
  return new VersionSet(fileSystem, directory, options, content)
}
