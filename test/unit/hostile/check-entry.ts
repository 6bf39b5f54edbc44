/** Checks one entry of the package with hostile calls. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { CellarError } from '../../../src/entries/index.js'
import { HostileCalls, type HostileEntry } from './hostile-calls.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)

/** Whether a failure is a `CellarError`, or the error of a function that the caller gave. */
export function isCellarError(error: unknown): boolean {
  return error instanceof CellarError || (error instanceof Error && error.message === 'hands off')
}

/**
 * Whether a failure is that of a class that was called as the function of a caller; nothing tells a
 * class from a function before the call.
 */
export function isOfCalledClass(error: unknown): boolean {
  return error instanceof TypeError && error.message.startsWith('Class constructor')
}

/**
 * Everything in an entry works or fails as promised, whatever it is called with. The calls run in a
 * temporary directory: some of their values are paths of databases, which are made then.
 */
export async function checkEntry(
  t: Test,
  entry: HostileEntry,
  isPromised = isCellarError,
): Promise<void> {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const run = new HostileCalls(seed, isPromised)
  const project = process.cwd()
  const before = readdirSync(project)
  const directory = mkdtempSync(join(tmpdir(), 'cellar-hostile-'))
  process.chdir(directory)
  await run.run(entry)
  process.chdir(project)
  rmSync(directory, { recursive: true })
  t.strictSame(readdirSync(project), before, 'no file is left in the project')
  process.off('unhandledRejection', note)
  for (const { callee, error } of run.complaints.values()) {
    t.fail(`${callee}: ${error instanceof Error ? error.stack : String(error)}`)
  }
  t.strictSame(unhandled, [], 'no rejection is left unhandled')
  t.ok(run.calls > run.callees, `${run.callees} callees, ${run.calls} calls, seed ${seed}`)
}
