/**
 * The programs of docs/examples that stand there for several stores: all print the same.
 *
 * Needs the built package; a store that is not installed is skipped by its name.
 *
 * @runs alone, campaign
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { filesBelow, projectRoot, runProgram } from '../rules/support.js'
import { folderOfPrograms, whyMissing } from './peer-packages.js'

const peers = ['better-sqlite3', 'classic-level', 'lmdb']
const textOf = (path: string): string => readFileSync(join(projectRoot, path), 'utf8')

const programs = filesBelow('docs/examples', (path) => path.endsWith('/cellar.mts'))

/** What a program prints; a failure of the test if it does not run to its end. */
async function printed(t: Test, program: string, text: string): Promise<string> {
  writeFileSync(program, text)
  const name = basename(program, '.mjs')
  const settings = {
    cwd: t.testdir({ [name]: {} }) + `/${name}`,
    environment: { NODE_OPTIONS: '' },
  }
  const { code, stdout, stderr } = await runProgram(process.execPath, [program], settings)
  t.equal(code, 0, `${name} runs to its end; ${stderr}`)
  return stdout
}

t.equal(programs.length, 10)
for (const path of programs) {
  const name = path.split('/').at(-2)!
  void t.test(name, async (t) => {
    const folder = folderOfPrograms('programs', name)
    const { outputText } = ts.transpileModule(textOf(path), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    })
    const expected = await printed(t, join(folder, 'cellar.mjs'), outputText)
    t.ok(expected.trim().split('\n').length > 2, 'the program prints something')
    for (const peer of peers) {
      void t.test(peer, { skip: whyMissing(peer) }, async (t) => {
        const text = textOf(path.replace('cellar.mts', `${peer}.mjs`))
        t.equal(await printed(t, join(folder, `${peer}.mjs`), text), expected)
      })
    }
  })
}
