/**
 * All pairs of background operations that overlap; see `operations.ts`.
 *
 * @runs campaign
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { hasPool } from '../../../src/storage/job/threads/worker-executor.js'
import { randomFrom, seed } from '../../unit/storage/version/fixtures.js'
import { operations, overlap } from './operations.js'
import { lengthOf } from '../../helpers/length.js'

const names = Object.keys(operations)
const draw = randomFrom(seed)
/** Each with itself and with those behind it, in an order drawn by the seed. */
const pairs = names
  .flatMap((first, i) => names.slice(i).map((second) => [first, second]))
  .map((pair) => ({ pair, order: draw() }))
  .sort((a, b) => a.order - b.order)
  .map(({ pair }) => pair)
/** Pairs inline; all of them in the long form. */
const inlinePairs = lengthOf('CELLAR_INLINE_PAIRS', 20, Infinity)
/** Pairs on worker threads; the campaign tries all, and more than two at a time. */
const workerPairs = lengthOf('CELLAR_WORKER_PAIRS', 3, 12)

void t.test(`pairs end and leave the data right, inline, seed ${seed}`, async (t) => {
  for (const pair of pairs.slice(0, inlinePairs)) {
    const fileSystem = new MemoryFileSystem()
    const ground = { fileSystem, directory: '/db', bulkDirectory: '/bulk' }
    t.same(await overlap({ ...ground, executor: 'inline' }, pair), [], pair.join(' and '))
  }
})

const reason =
  process.env['CELLAR_EXECUTOR'] === 'inline'
    ? 'CELLAR_EXECUTOR=inline: no threads'
    : !hasPool()
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
