/**
 * The benchmarks of the metastore and of metadata: they run, and their stores answer the same.
 *
 * @runs campaign
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { loadPeer } from '../../../../bench/engines/peers.js'
import type { Report } from '../../../../bench/harness/report/record.js'
import { childEnvironment } from '../../../helpers/child-environment.js'

const bench = join(import.meta.dirname, '../../../../bench/main.js')

function isPeerThere(name: string): boolean {
  try {
    loadPeer(name)
    return true
  } catch {
    return false
  }
}

async function equalAnswers(t: Test, suite: string, names: string): Promise<void> {
  const stores = names.split(',').length
  const directory = t.testdir()
  const out = join(directory, `${suite}.json`)
  const engines = ['--engines', names]
  const args = [bench, suite, '--quick', ...engines, '--directory', directory, '--out', out]
  await promisify(execFile)(process.execPath, args, { env: childEnvironment })
  const { results } = JSON.parse(readFileSync(out, 'utf8')) as Report
  t.equal(results.length, 7 * stores)
  for (const { workload, operations, opsPerSecond, checksum } of results) {
    t.ok(operations > 0 && opsPerSecond > 0, workload)
    const same = results.filter((other) => other.workload === workload)
    t.strictSame(
      same.map((other) => other.checksum),
      Array.from({ length: stores }, () => checksum),
    )
  }
}

void t.test('the benchmark of the metastore runs', async (t) =>
  equalAnswers(t, 'metastore', 'cellar'),
)

const skip = isPeerThere('lmdb') ? false : 'the peers of the benchmarks are not installed'

void t.test('Cellar and lmdb give equal answers', { skip }, async (t) =>
  equalAnswers(t, 'metastore', 'cellar,lmdb'),
)

void t.test("Pulsar's metadata on Cellar and in a Map give equal answers", async (t) =>
  equalAnswers(t, 'metadata', 'cellar,map'),
)

void t.test('unknown stores end with code 2', async (t) => {
  const args = [bench, 'metastore', '--engines', 'nothing']
  const failed = promisify(execFile)(process.execPath, args, { env: childEnvironment })
  await t.rejects(failed, { name: 'Error', message: /there are cellar, lmdb/ })
})
