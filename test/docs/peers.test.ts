/**
 * The tasks of docs/guide.md with other stores: programs that run where the peers of the benchmarks
 * are installed, and the table of their lines.
 *
 * @runs alone
 */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runProgram } from '../rules/support.js'
import { missingLine } from './extract-blocks.js'

/** What `npm run bench` installs. */
const installed = join(projectRoot, 'bench', 'peers', 'node_modules')

/** Has a link to the peers, so that they are found from there. */
const outputFolder = join(projectRoot, 'build', 'docs-peers')

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
  const skip =
    !existsSync(join(installed, name)) && `${name} is not installed; npm run bench does it`
  void t.test(`the tasks of the guide with ${name}`, { skip }, async (t) => {
    const folder = join(outputFolder, page)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    symlinkSync(installed, join(folder, 'node_modules'))
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

void t.test('no task takes more lines than elsewhere, and the guide says how many', async (t) => {
  const script = join(projectRoot, '.ci', 'peer-lines.mjs')
  const { code, stderr } = await runProgram(process.execPath, [script, '--check'])
  t.equal(code, 0, `run npm run docs:lines; ${stderr}`)
})
