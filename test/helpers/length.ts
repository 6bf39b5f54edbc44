/**
 * The two lengths of random runs and fault campaigns. `npm test` and `.ci/run` take the short form.
 * `CELLAR_TESTS=long` takes the long form: `npm run test:long` sets it.
 *
 * A variable of its own, such as CELLAR_KILL_ROUNDS, overrides both.
 */
const isLong = process.env['CELLAR_TESTS'] === 'long'

/** How many rounds, runs or seconds a test takes; `variable` overrides the two defaults. */
export function lengthOf(variable: string, short: number, long: number): number {
  return Number(process.env[variable] ?? (isLong ? long : short))
}
