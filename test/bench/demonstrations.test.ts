/**
 * Demonstrations refuse words that they do not know, and outlive the reader of their output.
 *
 * @runs campaign
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { childEnvironment } from '../helpers/child-environment.js'

const scriptOf = (name: string): string =>
  fileURLToPath(new URL(`../../bench/${name}/main.js`, import.meta.url))

for (const name of ['orders', 'library']) {
  void t.test(`npm run ${name} says what it takes`, async (t) => {
    const run = (...words: string[]) =>
      promisify(execFile)(process.execPath, [scriptOf(name), ...words], {
        env: childEnvironment,
        timeout: 60_000,
      })
    const usage = new RegExp(`usage: npm run ${name}`)
    t.match((await run('--help')).stdout, usage)
    for (const words of [['0'], ['-1'], ['five'], ['--rounds', '5'], ['1', 'x'], ['1', '2', '3']]) {
      await t.rejects(run(...words), { code: 2, stderr: usage }, words.join(' '))
    }
  })
}

void t.test('npm start closes its database when nobody reads its output', async (t) => {
  const words = [scriptOf('cities'), '--directory', join(t.testdir({}), 'data')]
  const child = spawn(process.execPath, words, { env: childEnvironment })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const [code] = (await once(child, 'close')) as [number]
  t.equal(code, 130)
  t.equal(errors, '')
})
