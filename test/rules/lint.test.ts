/**
 * The rules of `.oxlintrc.json` that the project leans on, each with a sample that breaks it.
 * `npm run lint`, which `.ci/run` calls, applies them to all files.
 *
 * @runs alone
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runTool } from './support.js'

/** By rule: a file that breaks it. */
const samples: Readonly<Record<string, string>> = {
  'no-floating-promises': 'export function start(work: Promise<void>): void {\n  work\n}\n',
  'no-misused-promises': 'export const each = (list: Promise<boolean>) => (list ? 1 : 2)\n',
  'await-thenable': 'export const wait = async (n: number) => {\n  await n\n}\n',
  'no-explicit-any': 'export const free: any = 1\n',
  'no-unsafe-member-access': 'export const name = JSON.parse("1").name as string\n',
  'no-unsafe-return': 'export const parse = (text: string): number => JSON.parse(text)\n',
  'switch-exhaustiveness-check':
    "export function half(word: 'a' | 'b'): number {\n" +
    "  switch (word) {\n    case 'a':\n      return 1\n  }\n  return 2\n}\n",
  'only-throw-error': "export function fail(): never {\n  throw 'text'\n}\n",
  'no-unused-vars': 'const unused = 1\nexport const used = 2\n',
  'no-default-export': 'export default 1\n',
  'no-restricted-properties': 'export const number = Math.random()\n',
  'no-restricted-imports': "export { readFileSync } from 'node:fs'\n",
  'max-lines': `export const line = 1\n${'\n'.repeat(600)}`,
  'max-lines-per-function': `export function long(): void {\n${'  void 0\n'.repeat(70)}}\n`,
}

void t.test('a sample that breaks a rule is an error', async (t) => {
  // Not below .tap, which the rules leave out.
  const folder = mkdtempSync(join(tmpdir(), 'cellar-lint-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const source = join(folder, 'src')
  mkdirSync(source)
  for (const name of ['.oxlintrc.json', 'tsconfig.json']) {
    cpSync(join(projectRoot, name), join(folder, name))
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
  for (const [rule, text] of Object.entries(samples)) {
    writeFileSync(join(source, `${rule}.ts`), text)
  }
  writeFileSync(join(source, 'good.ts'), 'export const good = 1\n')
  const { code, stdout } = await runTool('oxlint/bin/oxlint', ['--format=unix', 'src'], folder)
  t.equal(code, 1)
  for (const rule of Object.keys(samples)) {
    t.match(stdout, new RegExp(`src/${rule}\\.ts:.*Error/[a-z]+\\(${rule}\\)`), rule)
  }
  t.notMatch(stdout, 'good.ts')
})
