/**
 * The tasks of docs/guide.md with other stores: programs that run where the peers of the benchmarks
 * are installed, and the table of their lines.
 *
 * @runs alone
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runProgram } from '../rules/support.js'
import { missingLine } from './extract-blocks.js'
import { folderOfPrograms, whyMissing } from './peer-packages.js'

const pages = { level: 'classic-level', lmdb: 'lmdb' }

interface Program {
  readonly title: string
  readonly code: string
}

function programsOf(page: string): Program[] {
  const text = readFileSync(join(projectRoot, 'test', 'docs', 'peers', `${page}.md`), 'utf8')
  const found = text.matchAll(/^## (\d+\. .+)$[\s\S]*?^```js\n([\s\S]*?)^```/gm)
  return [...found].map(([, title, code]) => ({ title, code }))
}

for (const [page, name] of Object.entries(pages)) {
  const skip = whyMissing(name)
  void t.test(`the tasks of the guide with ${name}`, { skip }, async (t) => {
    const folder = folderOfPrograms(page)
    const programs = programsOf(page)
    t.equal(programs.length, 12)
    for (const { title, code } of programs) {
      const path = join(folder, `${Number.parseInt(title, 10)}.mjs`)
      writeFileSync(path, code)
      const { stdout, stderr } = await runProgram(process.execPath, [path], {
        cwd: t.testdir(),
        environment: { NODE_OPTIONS: '' },
      })
      const prints = [...code.matchAll(/\/\/ prints (.+)$/gm)].map(([, line]) => line)
      t.ok(prints.length > 0, title)
      t.equal(missingLine(prints, stdout), undefined, `${title}; ${stdout}${stderr}`)
    }
  })
}

void t.test('the tables of lines are those of the programs, and say who wins', async (t) => {
  const script = join(projectRoot, '.ci', 'peer-lines.mjs')
  const { code, stderr } = await runProgram(process.execPath, [script, '--check'])
  t.equal(code, 0, `run npm run docs:lines; ${stderr}`)
})
