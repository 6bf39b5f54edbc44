/**
 * The two lengths of random runs and fault campaigns. `npm test` and `.ci/run` take the short form.
 * `CELLAR_TESTS=long` takes the long form: `npm run test:long` sets it.
 *
 * A variable of its own, such as CELLAR_KILL_ROUNDS, overrides both.
 */
const isLong = process.env['CELLAR_TESTS'] === 'long'

/**
 * On how many databases the suites run: 1 is the engine; 2 adds the model, or the engine in memory.
 * `.ci/run` and the long form take both.
 */
export const backendsMax = Number(process.env['CELLAR_BACKENDS'] ?? (isLong ? 2 : 1))

/** How many rounds, runs or seconds a test takes; `variable` overrides the two defaults. */
export function lengthOf(variable: string, short: number, long: number): number {
  return Number(process.env[variable] ?? (isLong ? long : short))
}
