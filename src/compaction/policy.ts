/**
 * Compaction policies: pure functions from the files of a store to a choice (design D8). They know
 * nothing of input and output, so tests draw files and compare choices.
 */
import type { FileMetadata } from '../version/file-metadata.js'

/** What to do with some files of a store. */
export type CompactionChoice =
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'merge'
      /** Newest first; neighbours in the order of sequences. */
      readonly files: readonly FileMetadata[]
      /** True if these are all files of the store. */
      readonly major: boolean
    }

/** Options of the exploring policy, with HBase's names in the comments. */
export interface ExploringOptions {
  /** Fewest files worth a compaction (hbase.hstore.compaction.min). Default 3. */
  readonly filesMin: number
  /** Most files in one compaction (hbase.hstore.compaction.max). Default 10. */
  readonly filesMax: number
  /**
   * No file may be larger than this times the sum of the others (…compaction.ratio). Default 1.2.
   */
  readonly ratio: number
  /** A run smaller than this is always in ratio (…compaction.min.size). Default 8 MiB. */
  readonly ratioBytesMin: number
  /**
   * At this many files the run that removes most files a byte is taken (…blockingStoreFiles).
   * Default 16.
   */
  readonly filesBlocking: number
}

/** HBase's defaults, but for the smaller files of an embedded store. */
export const exploringDefaults: ExploringOptions = {
  filesMin: 3,
  filesMax: 10,
  ratio: 1.2,
  ratioBytesMin: 8 * 1024 * 1024,
  filesBlocking: 16,
}

const nothing: CompactionChoice = { kind: 'nothing' }

function totalBytes(files: readonly FileMetadata[]): number {
  return files.reduce((sum, file) => sum + file.fileBytes, 0)
}

function inRatio(
  files: readonly FileMetadata[],
  bytes: number,
  options: ExploringOptions,
): boolean {
  if (bytes < options.ratioBytesMin) return true
  return files.every((file) => file.fileBytes <= (bytes - file.fileBytes) * options.ratio)
}

/**
 * HBase's exploring policy (spec 1.7): of all runs of neighbouring files that are in ratio, the one
 * with most files, then the smallest. If the store is stuck, the run with the most files per byte.
 *
 * `files` are ordered newest first and none is being compacted.
 */
export function exploringChoice(
  files: readonly FileMetadata[],
  options: ExploringOptions = exploringDefaults,
): CompactionChoice {
  const stuck = files.length >= options.filesBlocking
  let best: readonly FileMetadata[] | undefined
  let bestBytes = 0
  let fallback: readonly FileMetadata[] | undefined
  let fallbackBytes = 0
  for (let start = 0; start + options.filesMin <= files.length; start++) {
    const endMax = Math.min(files.length, start + options.filesMax)
    for (let end = start + options.filesMin; end <= endMax; end++) {
      const run = files.slice(start, end)
      const bytes = totalBytes(run)
      if (inRatio(run, bytes, options)) {
        const better =
          best === undefined ||
          run.length > best.length ||
          (run.length === best.length && bytes < bestBytes)
        if (better) {
          best = run
          bestBytes = bytes
        }
      } else if (
        stuck &&
        (fallback === undefined || run.length / bytes > fallback.length / fallbackBytes)
      ) {
        fallback = run
        fallbackBytes = bytes
      }
    }
  }
  const chosen = best ?? fallback
  if (chosen === undefined) return nothing
  return { kind: 'merge', files: chosen, major: chosen.length === files.length }
}

/** A major compaction: all files, if there is anything to gain. */
export function majorChoice(files: readonly FileMetadata[]): CompactionChoice {
  if (files.length === 0) return nothing
  return { kind: 'merge', files, major: true }
}
