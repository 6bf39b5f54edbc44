/**
 * The demonstration of a cluster says what is missing, and ends well where HBase can be started.
 *
 * @runs alone, campaign
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { childEnvironment } from '../helpers/child-environment.js'
import { lengthOf } from '../helpers/length.js'

const run = promisify(execFile)
const script = fileURLToPath(new URL('../../bench/cluster/main.js', import.meta.url))
const isLong = lengthOf('CELLAR_CLUSTER', 0, 1) > 0
const skip = isLong ? false : 'the long form starts HBase and a dozen processes'

void t.test('npm run cluster', { skip, timeout: 600_000 }, async (t) => {
  const words = [script, '--cities', '300', '--kills', '2']
  const { stdout } = await run(process.execPath, words, { env: childEnvironment })
  t.match(stdout, 'every cell is as its source says: 3 rounds')
  t.match(stdout, 'all owners and tokens are as before')
  t.match(stdout, /orders counted exactly once: OK/)
})

void t.test('without Java it says so', async (t) => {
  const env = { ...childEnvironment, PATH: '/nowhere' }
  const ended = run(process.execPath, [script], { env })
  await t.rejects(ended, { code: 3, stderr: /HBase cannot be started: no Java from version 17/ })
})

void t.test('words that are wrong end with the usage', async (t) => {
  for (const words of [
    ['--cites', '3'],
    ['--cities', 'many'],
    ['--kills', '0'],
  ]) {
    const ended = run(process.execPath, [script, ...words], { env: childEnvironment })
    await t.rejects(ended, { code: 2, stderr: /Usage: npm run cluster/ })
  }
})
