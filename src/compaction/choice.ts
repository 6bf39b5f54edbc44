/**
 * The vocabulary of compaction policies: pure functions from the files of a store to a
 * choice. They do no input or output, so tests draw files and compare choices.
 *
 * The order that every policy keeps: if two files hold the same row, all entries of that row in the
 * file that stands first (a smaller level; on level 0 the newer file) are newer than those in the
 * other. Retention rules count versions and apply markers within the inputs of one compaction, and
 * give right answers only if the inputs are neighbours in this order.
 */
import type { FileMetadata } from '../version/file-metadata.js'

/** Nothing to do. */
export interface NothingChoice {
  readonly kind: 'nothing'
  /** There would be something to do if files were not busy: ask again when they are done. */
  readonly blocked: boolean
}

/** Merge files into new ones. */
export interface MergeChoice {
  readonly kind: 'merge'
  /** At least one; newest first: by level, on level 0 as there, deeper by key. */
  readonly files: readonly FileMetadata[]
  /** At least the deepest level of an input. */
  readonly outputLevel: number
  /** An output is finished at the first row behind this many bytes; Infinity = one output. */
  readonly outputBytesMax: number
  /**
   * Escaped rows, ascending, often none: an output is also finished before the first key that is
   * not smaller than one of these, whatever its size. Outputs are thereby aligned with the files
   * below, so that later compactions find less overlap.
   */
  readonly boundaries: readonly Buffer[]
  /**
   * The inputs are all files of the store that share a row with their common row range: delete
   * markers and all that they mask may go.
   */
  readonly major: boolean
}

/** Give files another level; only the manifest changes. */
export interface MoveChoice {
  readonly kind: 'move'
  readonly files: readonly FileMetadata[]
  readonly outputLevel: number
}

/** Remove files, all of whose cells have expired, without reading them. */
export interface DropChoice {
  readonly kind: 'drop'
  readonly files: readonly FileMetadata[]
}

/** What to do with some files of a store. */
export type CompactionChoice = NothingChoice | MergeChoice | MoveChoice | DropChoice

/** What a policy knows. */
export interface PolicyInput {
  /** The files of the store, as `StoreVersion.levels` orders them. */
  readonly levels: readonly (readonly FileMetadata[])[]
  /** Milliseconds since the Unix epoch. */
  readonly now: number
  /** Time to live of the family; Infinity if nothing expires. */
  readonly ttlMilliseconds: number
  /** Versions of a column that the family keeps although they have expired. */
  readonly minVersions: number
  /** Numbers of the files that a running job reads. They and what may overlap them are left. */
  readonly busyFiles: ReadonlySet<number>
  /** The store got no file for a while: work that would save more work if it waited may be done. */
  readonly resting: boolean
}

/** What a store has put off; see `debt.ts`. */
export interface CompactionDebt {
  /** Sorted runs beyond those that the policy has at rest. */
  readonly runs: number
  /** Bytes that wait to be rewritten. */
  readonly bytes: number
}

/** Rows as users know them, not escaped. An absent limit is open. */
export interface RowInterval {
  /** Inclusive. */
  readonly firstRow?: Buffer | undefined
  /** Exclusive. */
  readonly endRow?: Buffer | undefined
}

/** A policy with its options. Stateless: the same input gives the same choice. */
export interface CompactionPolicy {
  readonly name: PolicyName
  /** The most urgent thing to do in the background. */
  choose(input: PolicyInput): CompactionChoice
  /**
   * What somebody asked for: merge all files, or those that hold rows of an interval and whatever
   * overlaps these. Does not look whether it is worth it.
   */
  chooseMajor(input: PolicyInput, rows?: RowInterval): CompactionChoice
  /** How far the policy is behind, whether or not files are busy. */
  debt(input: PolicyInput): CompactionDebt
}

/** The names of the policies, as users and manifests write them. */
export type PolicyName =
  'exploring' | 'leveled' | 'tiered' | 'lazy-leveled' | 'fifo' | 'date-tiered'

/** Nothing to do. */
export const nothing: NothingChoice = { kind: 'nothing', blocked: false }

/** Nothing can be done now. */
export const blocked: NothingChoice = { kind: 'nothing', blocked: true }
