/**
 * What a workload looks like: a generator of operations.
 *
 * To add a workload, write a {@link Phase}: `generate` fills one {@link Operation} after the other,
 * from the given random numbers alone, so that every engine gets the same operations. The runner
 * carries them out, times each, and folds every answer into a checksum that must be equal for all
 * engines.
 */
import type { CallForm, Durability } from './engine.js'
import type { Operation } from './operation.js'
import type { Random } from './draws/random.js'

/** Fills `operation` for the index-th call (0-based). */
export type Generator = (operation: Operation, index: number) => void

/** What a generator is made from. */
export interface GeneratorContext {
  /** Records that the store is meant to hold after its load phase. */
  readonly records: number
  /** Calls of the generator in this phase. */
  readonly calls: number
  /** Seeded; the same for every engine. */
  readonly random: Random
  readonly seed: number
  /**
   * Shared by the phases of a sequence, for what a later phase must know of an earlier one, such as
   * the number of inserted rows.
   */
  readonly memory: Map<string, number>
}

/** Operations of one kind or mix that are measured together: one row of the results. */
export interface Phase {
  /** Name of the workload in the results. */
  readonly name: string
  /** Calls of the generator. */
  calls(records: number): number
  /** Operations that one call counts for: 1000 for a batch of 1000. Default 1. */
  readonly operationsPerCall?: number
  /** The rows that scans visit are the operations, instead of the calls. Default false. */
  readonly countsRows?: boolean
  generate(context: GeneratorContext): Generator
  /** Default 'fastest'. */
  readonly form?: CallForm
  /**
   * Calls that run at the same time, in waves: the next wave starts when the last is answered.
   * Default 1, one after the other. Only with the form 'awaited'.
   */
  readonly concurrency?: number
  /**
   * Open loop instead: calls start at this rate whatever the answers do, and latency counts from
   * the intended start. Calls per second.
   */
  readonly ratePerSecond?: number
  /**
   * Whether all calls are made however long that takes, because later phases need what this one
   * writes. Default false: the phase may end after `--phase-seconds`, and answers behind it are not
   * compared.
   */
  readonly isWhole?: boolean
  /** Not an own row of the results: preparation. Default true. */
  readonly isMeasured?: boolean
  /** Instead of operations: the engine's own maintenance. One operation, timed. */
  readonly maintenance?: 'flush' | 'settle' | 'compact'
  /**
   * Rounds of the waves, such as contended ones, may answer in another order on each engine; counts
   * are compared, not positions. Default false.
   */
  readonly isUnordered?: boolean
}

/** Phases that follow one another on one store, in a process of their own. */
export interface Sequence {
  readonly name: string
  /** Names of the columns of a row. */
  readonly columns: readonly string[]
  readonly phases: readonly Phase[]
  /** Sizes that programs of their own are told. */
  readonly keyBytes: number
  readonly valueBytes: number
  /** This durability, whatever is asked for. */
  readonly durability?: Durability
  /** Multiplies the records of the suite. Default 1. */
  readonly recordsFactor?: number
  /** Memory for cached blocks or pages, from the records of this sequence; default: as asked. */
  readonly cacheBytes?: (records: number) => number
  /** Engines that run this sequence; default: those of the suite. */
  readonly engines?: readonly string[]
}

/** A suite made of sequences: what most suites are. */
export interface WorkloadSuite {
  readonly name: string
  /** One line for the usage text. */
  readonly summary: string
  /** Records by default. */
  readonly defaultRecords: number
  /** Repetitions by default; else 3. */
  readonly defaultRepeat?: number
  /** Memory for cached blocks or pages by default; else 128 MiB. */
  readonly defaultCacheBytes?: number
  readonly sequences: readonly Sequence[]
  /** Engines that make sense; default: all. */
  readonly engines?: readonly string[]
}
