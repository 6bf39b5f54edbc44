/**
 * Recorded results as they are shown: those of a suite (`SUITE.json`), and beside them what Cellar
 * did on other versions of Node (`node-22/SUITE.json`), as results of an engine of that name.
 *
 * Peers are not recorded twice: a column of another Node is compared with Cellar alone.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Report, ResultRecord } from './record.js'

/** Stands between the name of an engine and the version of Node that it ran on. */
const onNode = ' on Node '

/** Whether a result is one of another Node, beside the others of its report. */
export const isBeside = (engine: string): boolean => engine.includes(onNode)

/** What has to be the same for figures to stand side by side. */
const conditionsOf = ({ machine, options }: Report): string => {
  const { suite, records, durability, seed, cacheBytes, quick } = options
  const { cpu, cores } = machine
  return JSON.stringify({ cpu, cores, suite, records, durability, seed, cacheBytes, quick })
}

function readFile(path: string): Report | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : undefined
}

/**
 * The report of a suite in a folder of results; undefined if none is recorded.
 *
 * @throws Error if the results of another Node were recorded under other conditions
 */
export function readReport(folder: string, suite: string): Report | undefined {
  const report = readFile(join(folder, `${suite}.json`))
  if (report === undefined) return undefined
  const results: ResultRecord[] = [...report.results]
  const engines = { ...report.engines }
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name, `${suite}.json`)
    const other = /^node-\d+$/.test(name) ? readFile(path) : undefined
    if (other === undefined) continue
    if (conditionsOf(other) !== conditionsOf(report)) {
      throw new Error(`${path}: ${conditionsOf(other)}, beside ${conditionsOf(report)}`)
    }
    const [, major] = /^v(\d+)/.exec(other.node)!
    const label = `cellar${onNode}${major}`
    for (const result of other.results) {
      if (result.engine === 'cellar') results.push({ ...result, engine: label })
    }
    engines[label] = `(${other.node}, commit ${other.commit ?? 'unknown'})`
  }
  return { ...report, engines, results }
}
