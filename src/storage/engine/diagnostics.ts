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
 * - `cellardb:operation:slow` (without family): `row`, `kind`, `milliseconds`; only with the option
 *   `slowOperationMilliseconds`
 * - `cellardb:pressure` (without table and family): the new state of the back-pressure
 * - `cellardb:damage` (without table and family): `file`, `error`; found by the scrub
 *
 * Subscribers are called synchronously. Node reports the errors that they throw.
 */
import { channel } from 'node:diagnostics_channel'

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
  pressure: channel('cellardb:pressure'),
  damage: channel('cellardb:damage'),
}

/** Publishes a message if the channel has subscribers. */
export function publishDiagnostic(name: keyof typeof channels, message: object): void {
  const target = channels[name]
  if (target.hasSubscribers) target.publish(message)
}
