/**
 * The published suite of messaging and transactions against both backends.
 *
 * @runs alone
 */
import t from 'tap'
import { backendsMax } from '../../helpers/length.js'
import { runMessagingSuite } from './suite.js'
import { embeddedBackend, memoryBackend } from './backends.js'

/** Numbered cases; without jobs, second openers and logs some do not apply. */
const cases = 99
const notInMemory = 11

const backends = [
  [embeddedBackend, 0],
  [memoryBackend, notInMemory],
] as const

for (const [backend, skipped] of backends.slice(0, backendsMax)) {
  void t.test(`messaging over ${backend.name}`, async (t) => {
    const counts = await runMessagingSuite(t, backend)
    // Comments are not shown by every reporter.
    const { run } = counts
    process.stderr.write(`messaging over ${backend.name}: ${run} cases run\n`)
    t.strictSame(counts, { run: cases - skipped, skipped }, 'cases run, cases left out')
  })
}
