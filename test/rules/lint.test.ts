/**
 * ESLint and Prettier find nothing. `npm run lint` is the same by hand; `npx prettier --write .`
 * mends what Prettier finds.
 */
import t from 'tap'
import type { Test } from 'tap'
import { runTool } from './support.js'
import type { ChildResult } from './support.js'

/** Fails with what a tool printed, line by line. */
function check(t: Test, result: ChildResult, sentence: string): void {
  const output = `${result.stdout}\n${result.stderr}`.split('\n').filter((line) => line !== '')
  t.equal(result.code, 0, sentence, { diagnostic: true, output })
}

void t.test('eslint finds nothing', async (t) => {
  const args = ['-c', '.eslint.config.js', '--max-warnings', '0', '.']
  check(t, await runTool('eslint/bin/eslint.js', args), 'npx eslint -c .eslint.config.js .')
})

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

void t.test('prettier finds nothing', async (t) => {
  const args = ['--check', '--log-level', 'warn', '.']
  check(t, await runTool('prettier/bin/prettier.cjs', args), 'npx prettier --check .')
})
