/** Measures calls, and makes records of them. */
import type { ResultRecord } from '../harness/report/record.js'
import type { QueueDurability } from './topic.js'

/** What a workload did. */
export interface Measured {
  readonly workload: string
  readonly operations: number
  readonly seconds: number
  /** Milliseconds of each call; empty if calls were not measured. */
  readonly calls: readonly number[]
}

/** Measures calls one behind the other, from so many callers at a time. */
export async function measure(
  workload: string,
  calls: number,
  perCall: number,
  callers: number,
  call: () => Promise<unknown>,
): Promise<Measured> {
  const times: number[] = []
  let left = calls
  const start = performance.now()
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const begin = performance.now()
      await call()
      times.push(performance.now() - begin)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - start) / 1000
  return { workload, operations: calls * perCall, seconds, calls: times }
}

/** The record of a measurement. */
export function recordOf(
  engine: string,
  durability: QueueDurability,
  records: number,
  { workload, operations, seconds, calls }: Measured,
): ResultRecord {
  const sorted = [...calls].sort((a, b) => a - b)
  const at = (share: number): { us: number } | undefined => {
    const time = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]
    return time === undefined ? undefined : { us: time * 1000 }
  }
  const [p50, p99] = [at(0.5), at(0.99)]
  const opsPerSecond = operations / seconds
  return {
    suite: 'messaging',
    workload,
    engine,
    durability,
    records,
    operations,
    seconds,
    opsPerSecond,
    ...(p50 === undefined || p99 === undefined ? {} : { p50us: p50.us, p99us: p99.us }),
    repeats: 1,
    spread: { low: opsPerSecond, high: opsPerSecond },
  }
}
