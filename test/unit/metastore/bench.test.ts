/** The benchmark of the metastore: it runs, and its stores answer the same. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Report } from '../../../bench/harness/record.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const bench = join(import.meta.dirname, '../../../bench/main.js')

void t.test('Cellar and the store in memory give equal answers', async (t) => {
  const directory = t.testdir()
  const out = join(directory, 'metastore.json')
  const engines = ['--engines', 'cellar,memory']
  const args = [bench, 'metastore', '--quick', ...engines, '--directory', directory, '--out', out]
  await promisify(execFile)(process.execPath, args, { env: childEnvironment })
  const { results } = JSON.parse(readFileSync(out, 'utf8')) as Report
  t.equal(results.length, 14)
  for (const { workload, operations, opsPerSecond, checksum } of results) {
    t.ok(operations > 0 && opsPerSecond > 0, workload)
    const same = results.filter((other) => other.workload === workload)
    t.strictSame(
      same.map((other) => other.checksum),
      [checksum, checksum],
    )
  }
})

void t.test('unknown stores end with code 2', async (t) => {
  const args = [bench, 'metastore', '--engines', 'nothing']
  const failed = promisify(execFile)(process.execPath, args, { env: childEnvironment })
  await t.rejects(failed, { name: 'Error', message: /there are cellar, lmdb/ })
})
