/**
 * The configuration of ESLint. `npm run lint`, which `.ci/run` calls, applies it to all files.
 *
 * @runs alone
 */
import t from 'tap'
import { runTool } from './support.js'

void t.test('the rules that the project leans on are errors', async (t) => {
  const { stdout } = await runTool('eslint/bin/eslint.js', [
    '-c',
    '.eslint.config.js',
    '--print-config',
    'src/base/bytes.ts',
  ])
  const { rules } = JSON.parse(stdout) as { rules: Record<string, [number, ...unknown[]]> }
  for (const name of [
    '@typescript-eslint/no-floating-promises',
    '@typescript-eslint/no-misused-promises',
    '@typescript-eslint/no-explicit-any',
    'max-lines',
    'max-lines-per-function',
    'no-restricted-imports',
  ]) {
    t.equal(rules[name]?.[0], 2, `${name} is an error`)
  }
  t.match(rules['max-lines'], [2, { max: 600 }])
  t.match(rules['max-lines-per-function'], [2, { max: 70 }])
})
