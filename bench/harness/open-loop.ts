/**
 * Open-loop load: calls start at a fixed rate whatever the answers do, and the latency counts from
 * the moment at which a call should have started. A closed loop would hide stalls: it stops asking
 * while the store stands still.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Store } from './engine.js'
import { recordLatency } from './report/latencies.js'
import type { Tally } from './runner.js'
import type { Slot } from './slot.js'
import type { Generator } from './workload.js'

/** Resolution of the event loop's delay, in milliseconds; subtracted, because it is no delay. */
const resolutionMilliseconds = 1

/** Runs `calls` calls at `ratePerSecond`; at most one per slot is under way, the rest wait late. */
export async function openLoop(
  store: Store,
  generate: Generator,
  calls: number,
  ratePerSecond: number,
  slots: readonly Slot[],
  tally: Tally,
): Promise<void> {
  const { latencies, extra } = tally
  const interval = 1000 / ratePerSecond
  const free = [...slots]
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds })
  delay.enable()
  const started = performance.now()
  let failure: unknown
  let isFailed = false
  let underWay = 0
  let onAnswer: () => void = () => undefined
  const finish = (slot: Slot, intended: number): void => {
    recordLatency(latencies, performance.now() - intended)
    free.push(slot)
    underWay--
    onAnswer()
  }
  for (let index = 0; index < calls;) {
    const due = Math.min(calls, Math.floor((performance.now() - started) / interval) + 1)
    for (; index < due && free.length > 0; index++) {
      const slot = free.pop()!
      const intended = started + index * interval
      generate(slot.operation, index)
      underWay++
      const done = slot.carryOut(store)
      if (!(done instanceof Promise)) {
        finish(slot, intended)
        continue
      }
      done.then(
        () => finish(slot, intended),
        (error: unknown) => {
          failure = error
          isFailed = true
          onAnswer()
        },
      )
    }
    if (isFailed) throw failure
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  while (underWay > 0 && !isFailed) await new Promise<void>((resolve) => (onAnswer = resolve))
  delay.disable()
  if (isFailed) throw failure
  tally.seconds = (performance.now() - started) / 1000
  const inMicroseconds = (nanoseconds: number): number =>
    Math.max(0, nanoseconds / 1000 - resolutionMilliseconds * 1000)
  extra['eventLoopDelayP50us'] = inMicroseconds(delay.percentile(50))
  extra['eventLoopDelayP99us'] = inMicroseconds(delay.percentile(99))
  extra['eventLoopDelayP999us'] = inMicroseconds(delay.percentile(99.9))
  extra['eventLoopDelayMaxUs'] = inMicroseconds(delay.max)
}
