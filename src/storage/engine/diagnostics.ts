/**
 * Events of the background work on Node's `diagnostics_channel`, for monitors that know the process
 * but not the code that opened the database.
 *
 * The channels, and the fields of their messages besides `directory`, `table` and `family`:
 *
 * - `cellardb:flush:start`: `entries`, `bytes` (of memory); `:progress`: `bytesDone`, `bytesTotal`;
 *   `:end`: the counts of the job; `:error`: `error`
 * - `cellardb:compaction:start`: `kind`, `major`, `inputFiles`, `bytesTotal`; `:progress`: the same
 *   without `kind`, with `bytesDone`; `:end`: the result (`CompactionOutcome`); `:error`: `error`
 * - `cellardb:operation:slow`: `row`, `kind`, `milliseconds`; only with the option
 *   `slowOperationMilliseconds`. `cellardb:operation:timed`: the same without `row`, of each
 *   operation, job and sync that is timed
 * - `cellardb:pressure` (without table and family): the new state of the back-pressure
 * - `cellardb:damage` (without table and family): `file`, `error`; found by the scrub
 *
 * Two tracing channels tell of the begin and the end of work, and pass the contexts of stores that
 * are bound to them: `cellardb:operation` with `row` and `kind`, and `cellardb:job` with `family`
 * and `kind`: `flush` or `compaction`.
 *
 * Subscribers are called synchronously. Node reports the errors that they throw.
 */
import { channel, tracingChannel, type TracingChannel } from 'node:diagnostics_channel'

const channels = {
  flushStart: channel('cellardb:flush:start'),
  flushProgress: channel('cellardb:flush:progress'),
  flushEnd: channel('cellardb:flush:end'),
  flushError: channel('cellardb:flush:error'),
  compactionStart: channel('cellardb:compaction:start'),
  compactionProgress: channel('cellardb:compaction:progress'),
  compactionEnd: channel('cellardb:compaction:end'),
  compactionError: channel('cellardb:compaction:error'),
  operationSlow: channel('cellardb:operation:slow'),
  operationTimed: channel('cellardb:operation:timed'),
  pressure: channel('cellardb:pressure'),
  damage: channel('cellardb:damage'),
}

/** Publishes a message if the channel has subscribers. */
export function publishDiagnostic(name: keyof typeof channels, message: object): void {
  const target = channels[name]
  if (target.hasSubscribers) target.publish(message)
}

const operations = tracingChannel('cellardb:operation')
const jobs = tracingChannel('cellardb:job')

/** Whether somebody listens to operations; every operation asks. */
export function isTraced(): boolean {
  return hasSubscribers(operations)
}

/** Node has the same as a property since 20.13. */
function hasSubscribers({ start, end, asyncStart, asyncEnd, error }: TracingChannel): boolean {
  return (
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers
  )
}

/** Runs an operation between the messages of its channel. */
export function traceOperationSync<T>(message: object, run: () => T): T {
  return operations.traceSync(run, message)
}

/** As {@link traceOperationSync}, for an operation with a promise. */
export function traceOperation<T>(message: object, run: () => Promise<T>): Promise<T> {
  return operations.tracePromise(run, message)
}

/** Runs a job between the messages of its channel. */
export function traceJob<T>(message: () => object, run: () => Promise<T>): Promise<T> {
  return hasSubscribers(jobs) ? jobs.tracePromise(run, message()) : run()
}
