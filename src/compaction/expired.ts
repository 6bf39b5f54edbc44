/**
 * Files that have expired as a whole: they are removed without being read.
 *
 * A cell has expired if its timestamp is smaller than now less the time to live; a cell of exactly
 * that age has not. Markers count like cells: an expired marker masks nothing if the family keeps
 * no expired versions, and all that it could mask has expired too.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import { nothing, type CompactionChoice, type PolicyInput } from './choice.js'
import { isBusy } from './selection.js'

/** Whether every entry of the file has expired and may go. */
export function isExpired(input: PolicyInput, file: FileMetadata): boolean {
  if (input.ttlMilliseconds === Infinity || input.minVersions > 0) return false
  return file.maxTimestamp < input.now - input.ttlMilliseconds
}

/** Drops all files that have expired. */
export function expiredChoice(input: PolicyInput): CompactionChoice {
  const expired = input.levels.flat().filter((file) => isExpired(input, file))
  const files = expired.filter((file) => !isBusy(input, file))
  if (files.length === 0) return nothing
  return { kind: 'drop', files }
}
