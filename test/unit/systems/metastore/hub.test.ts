/**
 * The example of the README: a hub is killed, another takes over.
 *
 * @runs long
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

void t.test('a topic and its subscription move to another hub', async (t) => {
  const script = join(import.meta.dirname, '../../../../bench/hub/main.js')
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  t.match(stdout, /^alpha owns the topic, its subscriber is at 0\nalpha is dead \(SIGKILL\)/)
  t.match(stdout, /\nbeta owns the topic, its subscriber is at \d+\n/)
  t.match(stdout, 'what alpha would write now is refused: ERR_HEDWIG_BAD_VERSION')
  t.match(stdout, /nothing acknowledged was lost\n$/)
})
