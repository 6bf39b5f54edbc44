/** Steps after a failure, or beside the work, whose own failure counts for nothing. */
import type { FileSystem } from './types.js'

/**
 * Runs a step on whose success nothing depends, such as the close of a file that was only read. Its
 * error is dropped, so that it neither ends the steps after it nor replaces an earlier error.
 */
export function quietly(step: () => void): void {
  try {
    step()
  } catch {
    // Nothing depends on it.
  }
}

/** Removes a file, if it is there and can be removed. */
export function removeQuietly(fileSystem: FileSystem, path: string): void {
  quietly(() => {
    if (fileSystem.statSync(path) !== undefined) fileSystem.unlinkSync(path)
  })
}
