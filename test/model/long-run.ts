/**
 * Long runs of random operations on the engine and the reference model, one for each file in
 * `long/`: together at least 500,000 operations in
 * the long form, and a twentieth of them in the short one.
 *
 * A run has a thread to itself, because tap watches every promise of the thread of the tests, which
 * takes more time than the operations.
 *
 * CELLAR_SEED repeats a run; CELLAR_MODEL_DIVISOR=10 carries out a tenth of the operations.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import type { LongRun } from './long-run-worker.js'
import { lengthOf } from '../helpers/length.js'

const divisor = lengthOf('CELLAR_MODEL_DIVISOR', 150, 1)
const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_121)
/** A safeguard only: a run takes some 10 s. */
const timeout = 1_800_000

/** Operations of the form; the promise forms take longer. */
const operationsOf = { sync: 60_000, async: 40_000 } as const

/** Defines the test of one run: lists of operations on up to two of the families at a time. */
export function testLongRun(form: LongRun['form'], families: readonly string[]): void {
  const operations = Math.ceil(operationsOf[form] / divisor)
  const title = `${form} operations on ${families.join(', ')} agree with the model (seed ${seed})`
  t.setTimeout(timeout)
  void t.test(title, { timeout }, async (t) => {
    const workerData: LongRun = { seed, families, form, operations }
    const worker = new Worker(new URL('./long-run-worker.js', import.meta.url), { workerData })
    const [count] = (await once(worker, 'message')) as [number]
    await worker.terminate()
    t.ok(count >= operations, `${count} operations agree`)
    t.comment(`model: ${count} random operations agree with the engine`)
  })
}
