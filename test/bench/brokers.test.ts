/**
 * The demonstration of brokers ends well, and shows its owners before and after.
 *
 * @runs alone
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { childEnvironment } from '../helpers/child-environment.js'
import { lengthOf } from '../helpers/length.js'

const isLong = lengthOf('CELLAR_BROKERS', 0, 1) > 0
const skip = isLong ? false : 'the long form starts five processes'
const script = fileURLToPath(new URL('../../bench/brokers/main.js', import.meta.url))

void t.test('npm run brokers over Cellar', { skip, timeout: 240_000 }, async (t) => {
  const words = [script, '--store', 'cellar']
  const { stdout } = await promisify(execFile)(process.execPath, words, { env: childEnvironment })
  for (const when of ['at first', 'after the kill', 'while it stands still', 'after the restart']) {
    t.match(stdout, `owners ${when}:`)
  }
  t.match(stdout, 'its late write is refused: ERR_METADATA_BAD_VERSION')
  t.notMatch(stdout, 'nobody')
})

void t.test('a word that is not known ends with the usage', async (t) => {
  const run = promisify(execFile)(process.execPath, [script, '--stroe', 'cellar'], {
    env: childEnvironment,
  })
  await t.rejects(run, { code: 2, stderr: /usage: npm run brokers/ })
})
