/** Recorded results: `SUITE.json` in a folder of results. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from './record.js'

/** The report of a suite in a folder of results; undefined if none is recorded. */
export function readReport(folder: string, suite: string): Report | undefined {
  const path = join(folder, `${suite}.json`)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : undefined
}
