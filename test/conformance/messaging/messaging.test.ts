/** The published suite of messaging and transactions against the embedded engine. */
import t from 'tap'
import { runMessagingSuite } from '../../../src/conformance/messaging/suite.js'
import { embeddedBackend } from './backends.js'

void t.test(`messaging over ${embeddedBackend.name}`, async (t) => {
  const { run, leftOut } = await runMessagingSuite(t, embeddedBackend)
  t.equal(run, 92, 'cases run')
  t.equal(leftOut, 7, 'cases left out')
})
