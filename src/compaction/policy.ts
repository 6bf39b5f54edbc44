/**
 * The two choices that the engine made before policies were chosen per family; it is to use
 * choose-policy.ts, and this file goes with its last import.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import type { MergeChoice, PolicyInput } from './choice.js'
import { choosePolicy } from './choose-policy.js'

/** A choice of the policies that only merge. */
export type CompactionChoice = { readonly kind: 'nothing' } | MergeChoice

const exploring = choosePolicy('exploring')

function inputOf(files: readonly FileMetadata[]): PolicyInput {
  return {
    levels: [files],
    now: 0,
    ttlMilliseconds: Infinity,
    minVersions: 0,
    busyFiles: new Set(),
  }
}

/** What HBase's exploring policy does with files, ordered newest first. */
export function exploringChoice(files: readonly FileMetadata[]): CompactionChoice {
  const choice = exploring.choose(inputOf(files))
  return choice.kind === 'merge' ? choice : { kind: 'nothing' }
}

/** A major compaction: all files, if there are any. */
export function majorChoice(files: readonly FileMetadata[]): CompactionChoice {
  const choice = exploring.chooseMajor(inputOf(files))
  return choice.kind === 'merge' ? choice : { kind: 'nothing' }
}
