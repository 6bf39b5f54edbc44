/**
 * Runs abstract-level's own suite on tape, whose output is TAP: tap counts each of its assertions,
 * and a failed one fails the file.
 */
import { createRequire } from 'node:module'
import type { CellarLevel } from '../../../src/entries/level.js'

interface SuiteOptions {
  readonly test: unknown
  readonly factory: (options?: object) => CellarLevel
}

const require = createRequire(import.meta.url)

/** Runs the suite on the databases that `factory` makes, each new and empty. */
export function runSuite(factory: SuiteOptions['factory']): void {
  const suite = require('abstract-level/test') as (options: SuiteOptions) => void
  suite({ test: require('tape'), factory })
}
