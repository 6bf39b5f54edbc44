/** Latencies of calls, counted in Node's own histogram: HdrHistogram with three figures. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

/** What a histogram says, in microseconds, at most 0.1 % too high; 0 if it is empty. */
export interface Percentiles {
  readonly p50us: number
  readonly p99us: number
  readonly p999us: number
  readonly maxUs: number
}

/** An empty histogram. */
export function newLatencies(): RecordableHistogram {
  return createHistogram({ figures: 3 })
}

/** Records a duration. The histogram takes whole nanoseconds from 1 on. */
export function recordLatency(latencies: RecordableHistogram, milliseconds: number): void {
  latencies.record(Math.max(1, Math.floor(milliseconds * 1e6)))
}

/** The figures of a report. */
export function percentilesOf(latencies: RecordableHistogram): Percentiles {
  const at = (percentile: number): number => latencies.percentile(percentile) / 1000
  return { p50us: at(50), p99us: at(99), p999us: at(99.9), maxUs: latencies.max / 1000 }
}
