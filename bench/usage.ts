/** What the suites share with the entry that calls them. */

/** What a suite is asked to do. */
export interface SuiteSettings {
  /** Parts of the suite to run; empty: all. */
  readonly parts: readonly string[]
  /** File that receives the results as JSON. */
  readonly outPath: string | undefined
  /** Short runs, to see that everything works; the figures mean little. */
  readonly quick: boolean
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
