/**
 * Drops files of which every cell has expired, without reading them.
 *
 * A cell has expired if its timestamp is less than now minus the time to live; a cell of exactly
 * that age has not expired. Markers count like cells. If the family keeps no expired versions, an
 * expired marker masks nothing, because all cells that it could mask have expired too.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import { nothing, type CompactionChoice, type PolicyInput } from './choice.js'
import { isBusy } from './selection.js'

/** Whether every entry of the file has expired and may be dropped. */
export function isExpired(input: PolicyInput, file: FileMetadata): boolean {
  if (input.ttlMilliseconds === Infinity || input.minVersions > 0) return false
  return file.maxTimestamp < input.now - input.ttlMilliseconds
}

/** Drops all files that have expired and that no job reads. */
export function expiredChoice(input: PolicyInput): CompactionChoice {
  const expired = input.levels.flat().filter((file) => isExpired(input, file))
  const files = expired.filter((file) => !isBusy(input, file))
  if (files.length === 0) return nothing
  return { kind: 'drop', files }
}
