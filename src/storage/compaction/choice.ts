/**
 * The types of compaction policies. A policy is a pure function from the files of a store to a
 * choice. Since policies do no input or output, tests can make up files and compare choices.
 *
 * All policies keep this order. If two files hold the same row, the file that stands first (a
 * smaller level; on level 0 the newer file) has only newer entries of that row than the other.
 * Retention rules count versions and apply markers within the inputs of one compaction. They give
 * right answers only if the inputs are neighbours in this order.
 */
import type { FileMetadata } from '../version/file-metadata.js'

/** The choice to do nothing. */
export interface NothingChoice {
  readonly kind: 'nothing'
  /**
   * Whether files would be chosen if they were not busy. Then the policy is asked again when a run
   * ends.
   */
  readonly blocked: boolean
}

/** The choice to merge files into new ones. */
export interface MergeChoice {
  readonly kind: 'merge'
  /**
   * The inputs, at least one, newest first: by level; within level 0 as there, within others by
   * key.
   */
  readonly files: readonly FileMetadata[]
  /** The level of the outputs, at least the deepest level of an input. */
  readonly outputLevel: number
  /** An output is finished at the first row after this many bytes; Infinity = one output. */
  readonly outputBytesMax: number
  /**
   * Escaped rows, ascending; often none. An output is also finished before the first key that is
   * greater than or equal to one of these rows, whatever the output's size. So outputs are aligned
   * with the files below, and later compactions find less overlap.
   */
  readonly boundaries: readonly Buffer[]
  /**
   * Whether the inputs are all files of the store that share a row with the row range of the
   * inputs. Then delete markers, and all cells that they mask, may be dropped.
   */
  readonly major: boolean
}

/** The choice to move files to another level, which only changes the manifest. */
export interface MoveChoice {
  readonly kind: 'move'
  readonly files: readonly FileMetadata[]
  readonly outputLevel: number
}

/** The choice to remove files without reading them, because all of their cells have expired. */
export interface DropChoice {
  readonly kind: 'drop'
  readonly files: readonly FileMetadata[]
}

/** The choice of a policy. */
export type CompactionChoice = NothingChoice | MergeChoice | MoveChoice | DropChoice

/** The facts from which a policy chooses. */
export interface PolicyInput {
  /** The files of the store, as `StoreVersion.levels` orders them. */
  readonly levels: readonly (readonly FileMetadata[])[]
  /** Present time in milliseconds since the Unix epoch. */
  readonly now: number
  /** Time to live of the family in milliseconds; Infinity if nothing expires. */
  readonly ttlMilliseconds: number
  /** Versions of a column that the family keeps although they have expired. */
  readonly minVersions: number
  /**
   * Numbers of the files that a running job reads. These files, and files that may overlap them,
   * are not chosen.
   */
  readonly busyFiles: ReadonlySet<number>
  /**
   * Whether the store got no file for a while. Then a policy may do work that would be cheaper
   * later.
   */
  readonly resting: boolean
  /**
   * What runs beyond the first have cost reads since the last compaction, in bytes that could have
   * been merged in that time; see `by-reads.ts`.
   */
  readonly readBytes: number
}

/** The work that a store has put off, which back-pressure measures. */
export interface CompactionDebt {
  /** Sorted runs beyond those that the policy keeps at rest. */
  readonly runs: number
  /** Bytes that wait to be rewritten. */
  readonly bytes: number
}

/** An interval of rows, not escaped. An absent bound is open. */
export interface RowInterval {
  /** Inclusive. */
  readonly firstRow?: Buffer | undefined
  /** Exclusive. */
  readonly endRow?: Buffer | undefined
}

/** A policy with its options. A policy has no state: the same input gives the same choice. */
export interface CompactionPolicy {
  /** The most urgent background compaction. */
  choose(input: PolicyInput): CompactionChoice
  /**
   * The compaction that a user requested: merges all files, or those with rows of an interval and
   * all files that overlap them. The policy does not judge whether the merge is worth it.
   */
  chooseMajor(input: PolicyInput, rows?: RowInterval): CompactionChoice
  /** How far the policy lags, by the files alone, whether or not they are busy. */
  debt(input: Pick<PolicyInput, 'levels'>): CompactionDebt
}

/** Names of the policies, as users and manifests write them. */
export type PolicyName =
  | 'exploring'
  | 'leveled'
  | 'tiered'
  | 'lazy-leveled'
  | 'fifo'
  | 'date-tiered'

/** Nothing to do. */
export const nothing: NothingChoice = { kind: 'nothing', blocked: false }

/** Nothing can be done now, because files are busy. */
export const blocked: NothingChoice = { kind: 'nothing', blocked: true }
