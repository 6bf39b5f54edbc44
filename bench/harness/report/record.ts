/** What the benchmarks write down: one record a workload and engine, and the report around them. */
import type { Environment } from '../../environment.js'
import type { Durability } from '../engine.js'

/** Lowest and highest of what the repetitions gave. */
export interface Spread {
  readonly low: number
  readonly high: number
}

/** One row of the results. Figures are medians over the repetitions. */
export interface ResultRecord {
  readonly suite: string
  readonly workload: string
  /** Name of the engine, with its layout of wide rows behind a slash: `lmdb/row`. */
  readonly engine: string
  readonly durability: Durability
  /** Records that the store held, or was meant to hold, before the workload. */
  readonly records: number
  readonly operations: number
  /** Whether the workload ended after `--phase-seconds`, before all operations were done. */
  readonly isCut?: true
  readonly seconds: number
  readonly opsPerSecond: number
  /** Microseconds of one call; of the batch for workloads that are batches. */
  readonly p50us?: number
  readonly p99us?: number
  readonly p999us?: number
  readonly maxUs?: number
  /** Allocated on disk at the end of the workload. */
  readonly bytesOnDisk?: number
  /** Bytes that the process gave to the block layer for each byte of rows and values written. */
  readonly writeAmplification?: number
  readonly peakRssBytes?: number
  /** Of all threads of the process: more than `seconds` if several worked. */
  readonly cpuSeconds?: number
  /** Over all answers, as hexadecimal; equal for all engines that ran the same operations. */
  readonly checksum?: string
  /** Repetitions behind the medians. */
  readonly repeats: number
  /** Of `opsPerSecond` over the repetitions. */
  readonly spread: Spread
  /** What else a suite measures, by name with the unit last: `eventLoopDelayP99us`. */
  readonly extra?: Readonly<Record<string, number>>
}

/** An engine that could not take part, and why. */
export interface LeftOut {
  readonly engine: string
  readonly reason: string
}

/** A file of results. */
export interface Report {
  readonly machine: Pick<Environment, 'cpu' | 'cores' | 'memoryBytes' | 'platform'>
  readonly node: string
  readonly commit: string | undefined
  /** ISO 8601, UTC. */
  readonly date: string
  /** As they were used, defaults filled in. */
  readonly options: Readonly<Record<string, unknown>>
  /** Versions of the engines by name. */
  readonly engines: Readonly<Record<string, string>>
  readonly leftOut: readonly LeftOut[]
  readonly results: readonly ResultRecord[]
}
