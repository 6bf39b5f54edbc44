/** All pairs of background operations that overlap; see `operations.ts`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { MemoryFileSystem } from '../../../src/index.js'
import { findPool } from '../../../src/job/worker-executor.js'
import { randomFrom, seed } from '../../unit/version/fixtures.js'
import { operations, overlap } from './operations.js'

const names = Object.keys(operations)
/** Each with itself and with those behind it. */
const pairs = names.flatMap((first, i) => names.slice(i).map((second) => [first, second]))
/** Pairs on worker threads in this test; the campaign tries all, and more than two at a time. */
const workerPairs = 12

void t.test('every pair ends and leaves the data right, inline', async (t) => {
  for (const pair of pairs) {
    const fileSystem = new MemoryFileSystem()
    const ground = { fileSystem, directory: '/db', bulkDirectory: '/bulk' }
    t.same(await overlap({ ...ground, executor: 'inline' }, pair), [], pair.join(' and '))
  }
})

const reason =
  process.env['CELLAR_EXECUTOR'] === 'inline'
    ? 'CELLAR_EXECUTOR=inline: no threads'
    : findPool() === undefined
      ? 'piscina is not installed'
      : false

void t.test(
  `pairs end and leave the data right on worker threads, seed ${seed}`,
  { skip: reason },
  async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'cellar-pairs-'))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    const random = randomFrom(seed)
    for (let i = 0; i < workerPairs; i++) {
      const pair = pairs[Math.floor(random() * pairs.length)]
      const ground = { directory: join(root, `db${i}`), bulkDirectory: join(root, `bulk${i}`) }
      t.same(await overlap({ ...ground, executor: 'worker' }, pair), [], pair.join(' and '))
    }
  },
)
