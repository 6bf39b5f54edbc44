/**
 * The drawn cases of test/data/compaction (form: drawing.ts). With CELLAR_REWRITE=1 the expected
 * choices are written anew; look at the difference before you keep it.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../../helpers/project-root.js'
import { runCase } from './drawing.js'

const directory = join(projectRoot, 'test', 'data', 'compaction')

/** Runs a block of lines; comments and the empty block stay as they are. */
function rerun(block: string): string {
  const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) return block
  const end = block.indexOf('\n----\n')
  const input = lines.slice(0, end < 0 ? undefined : lines.indexOf('----'))
  const kept = end < 0 ? block.trimEnd() : block.slice(0, end)
  return `${kept}\n----\n${runCase(input)}`
}

const names = readdirSync(directory).filter((name) => name.endsWith('.txt'))

for (const name of names) {
  void t.test(`the choices drawn in ${name} are made`, (t) => {
    const path = join(directory, name)
    const blocks = readFileSync(path, 'utf8').trimEnd().split(/\n\n+/)
    const results = blocks.map(rerun)
    if (process.env.CELLAR_REWRITE === '1') writeFileSync(path, `${results.join('\n\n')}\n`)
    else {
      blocks.forEach((block, index) => {
        const sentence = /^case (.*)$/m.exec(block)?.[1] ?? 'a comment'
        t.equal(results[index], block, sentence)
      })
    }
    t.ok(blocks.length > 1, 'there are cases')
    t.end()
  })
}

void t.test('there is a drawing for each policy', (t) => {
  t.ok(names.length >= 6)
  t.end()
})
