/** Calls with arguments that are right but for one value within them. */
import type { Test } from 'tap'
import { hostileValues, pathsOf, withValue } from '../table/arguments/hostile-values.js'
import { isCellarError } from './check-entry.js'

/** A call, and arguments that it takes. */
export interface MemberCall {
  readonly call: (...values: never[]) => unknown
  readonly values: readonly unknown[]
}

/** Each value within the arguments, replaced by hostile ones: the call works, or says why not. */
export async function checkMembers(
  t: Test,
  calls: Readonly<Record<string, MemberCall>>,
): Promise<void> {
  for (const [name, { call, values }] of Object.entries(calls)) {
    await call(...(values as never[]))
    let count = 0
    for (const path of pathsOf(values)) {
      for (const { name: value, make } of hostileValues) {
        count++
        try {
          await call(...(withValue(values, path, make()) as never[]))
        } catch (error) {
          if (isCellarError(error) || isOfClass(error)) continue
          t.fail(`${name}, ${path.join('.')} is ${value}: ${(error as Error).stack}`)
        }
      }
    }
    t.ok(count > 0, `${name}: ${count} calls`)
  }
}

/** A class is a function whose call throws: what the caller's function throws is its own affair. */
function isOfClass(error: unknown): boolean {
  return error instanceof TypeError && /^Class constructors? .*without 'new'/.test(error.message)
}
