/**
 * The kit of the suites: the test object, the loop over the cases, the clock that cases set, and
 * readings of outcomes.
 */
import type { Clock } from '../../src/api/index.js'

/** The part of tap's test object that the suites use; other test runners are easily adapted. */
export interface SuiteTest {
  /** Runs a test below this one; a text for `skip` is the reason to leave the test out. */
  test(
    name: string,
    options: { readonly skip?: string },
    body: (t: SuiteTest) => Promise<void>,
  ): PromiseLike<unknown>
  /** Fails the test unless both are the same value. */
  equal(found: unknown, wanted: unknown, message: string): unknown
  /** Text for the reader of the results. */
  comment(text: string): unknown
}

/** The number of cases that a run of a suite ran and left out. */
export interface SuiteCounts {
  /** Cases that were run. */
  readonly run: number
  /** Cases that need a capability that the backend lacks. */
  readonly skipped: number
}

/** One case. The name is a sentence that no other case of the suite has. */
export interface SuiteCase {
  readonly name: string
}

/** A suite, and the backend under test. */
export interface SuiteRun<C extends SuiteCase> {
  /** Name of the suite. */
  readonly suite: string
  /** Name of the backend. */
  readonly backend: string
  readonly cases: readonly C[]
  /** Names of the only cases to run. Default: all. */
  readonly only?: readonly string[] | undefined
  /** Time after which a case that has not ended fails. Default 60 seconds. */
  readonly caseMilliseconds?: number | undefined
  /** Why a case cannot run on the backend; undefined if it can. */
  obstacle?(each: C): string | undefined | Promise<string | undefined>
  /** Runs one case. */
  run(t: SuiteTest, each: C): Promise<void>
}

/**
 * Runs cases as tests below `t`, one after the other. Throws if two cases have the same name, or if
 * `only` names a case that does not exist.
 */
export async function runCases<C extends SuiteCase>(
  t: SuiteTest,
  suite: SuiteRun<C>,
): Promise<SuiteCounts> {
  const { only, caseMilliseconds = 60_000 } = suite
  const named = new Map(suite.cases.map((each) => [each.name, each]))
  if (named.size < suite.cases.length) throw new Error(`two cases of ${suite.suite} share a name`)
  const chosen = (only ?? [...named.keys()]).map((name) => {
    const found = named.get(name)
    if (found === undefined) throw new Error(`${suite.suite} has no case '${name}'`)
    return found
  })
  let run = 0
  for (const each of chosen) {
    const skip = await suite.obstacle?.(each)
    if (skip === undefined) run++
    const title = `${suite.suite} [${suite.backend}]: ${each.name}`
    await t.test(title, skip === undefined ? {} : { skip }, (t) =>
      inTime(suite.run(t, each), caseMilliseconds),
    )
  }
  t.comment(`${suite.suite} [${suite.backend}]: ${run} of ${chosen.length} cases run`)
  return { run, skipped: chosen.length - run }
}

/** Rejects when the body takes too long: a callback that never comes must not look like success. */
async function inTime(body: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`the case did not end within ${milliseconds} ms`)
    timer = setTimeout(() => reject(error), milliseconds)
  })
  try {
    await Promise.race([body, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A clock that a case sets by hand. */
export class SuiteClock implements Clock {
  milliseconds: number
  /** Milliseconds by which each reading moves the clock. */
  step = 0

  constructor(milliseconds: number) {
    this.milliseconds = milliseconds
  }

  now(): number {
    const now = this.milliseconds
    this.milliseconds += this.step
    return now
  }
}

/** The code of an error; the error as text if it has none. */
export function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? code : `no code: ${String(error)}`
}

/** `OK`, or the code of the error that a promise rejects with. */
export async function outcome(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'OK'
  } catch (error) {
    return codeOf(error)
  }
}

/** `OK`, or the code of the error that a function throws. */
export function thrown(action: () => unknown): string {
  try {
    action()
    return 'OK'
  } catch (error) {
    return codeOf(error)
  }
}

/** Runs a function that must fail with an error of this code; returns the error. */
export async function failsWith(code: string, work: () => unknown): Promise<Error> {
  try {
    await work()
  } catch (error) {
    if (codeOf(error) === code) return error as Error
    throw new Error(`expected ${code}, got ${codeOf(error)}`, { cause: error })
  }
  throw new Error(`expected ${code}, and nothing failed`)
}

/** Resolves after a time. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

const pollMilliseconds = 10

/** Waits until `read` gives `wanted`, and returns the last reading. */
export async function eventually(
  read: () => Promise<string> | string,
  wanted: string,
  milliseconds = 10_000,
): Promise<string> {
  for (let waited = 0; ; waited += pollMilliseconds) {
    const found = await read()
    if (found === wanted || waited >= milliseconds) return found
    await pause(pollMilliseconds)
  }
}

/** Lets the event loop turn `count` times. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}
