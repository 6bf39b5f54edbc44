/**
 * Imported before tap by the processes of `npm test`: tap loads hooks into every process and thread
 * that a test starts, at the cost of a second each. They serve the coverage report, which is off.
 */
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'

globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.listeners.splice(0)
process.env.NODE_OPTIONS = ''
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { execArgv: [], ...options })
  }
}
syncBuiltinESMExports()
