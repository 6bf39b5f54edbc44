/** Checks one entry of the package with hostile calls. */
import type { Test } from 'tap'
import { CellarError } from '../../../src/index.js'
import { HostileCalls, type HostileEntry } from './hostile-calls.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)

/** Whether a failure is a `CellarError`, or the error of a function that the caller gave. */
export function isCellarError(error: unknown): boolean {
  return error instanceof CellarError || (error instanceof Error && error.message === 'hands off')
}

/** Everything in an entry works or fails as promised, whatever it is called with. */
export async function checkEntry(
  t: Test,
  entry: HostileEntry,
  isPromised = isCellarError,
): Promise<void> {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const run = new HostileCalls(seed, isPromised)
  await run.run(entry)
  process.off('unhandledRejection', note)
  for (const { callee, error } of run.complaints.values()) {
    t.fail(`${callee}: ${error instanceof Error ? error.stack : String(error)}`)
  }
  t.strictSame(unhandled, [], 'no rejection is left unhandled')
  t.ok(run.calls > run.callees, `${run.callees} callees, ${run.calls} calls, seed ${seed}`)
}
