/**
 * The published suite of metadata stores against the stores over tables.
 *
 * @runs alone
 */
import t from 'tap'
import { backendsMax } from '../../helpers/length.js'
import { runMetadataSuite } from '../../suites/metadata/suite.js'
import { cellarBackend, memoryBackend } from './backends.js'

for (const backend of [cellarBackend, memoryBackend].slice(0, backendsMax)) {
  void t.test(`Metadata over ${backend.name}`, async (t) => {
    const { run, skipped } = await runMetadataSuite(t, backend)
    t.ok(run > 0, `${run} cases run`)
    // Whatever the reporter leaves out, the count is printed.
    process.stderr.write(`metadata cases on ${backend.name}: ${run} run, ${skipped} left out\n`)
    t.equal(skipped, 0, 'cases left out')
  })
}
