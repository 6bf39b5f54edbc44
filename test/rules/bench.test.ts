/** The command line of the benchmarks: what it accepts, what it writes, how it ends. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runProgram } from './support.js'
import type { ChildResult } from './support.js'

function bench(...args: string[]): Promise<ChildResult> {
  const script = join(projectRoot, 'build', 'bench', 'main.js')
  return runProgram(process.execPath, [script, ...args])
}

void t.test('unknown suites, parts and options end with usage and code 2', async (t) => {
  for (const args of [[], ['nothing'], ['micro', 'nothing'], ['micro', '--nothing'], ['--out']]) {
    const { code, stdout, stderr } = await bench(...args)
    t.equal(code, 2, `bench ${args.join(' ')}`)
    t.match(stderr, 'usage: npm run bench')
    t.equal(stdout, '')
  }
  t.equal((await bench('--help')).code, 0)
})

void t.test('a suite prints a table and writes its figures with the machine', async (t) => {
  const outPath = join(t.testdir(), 'figures.json')
  const { code, stdout, stderr } = await bench('micro', 'hash', '--quick', '--out', outPath)
  t.equal(code, 0, stderr)
  t.match(stdout, 'hash 16 bytes')
  const report = JSON.parse(readFileSync(outPath, 'utf8')) as {
    quick: boolean
    environment: Record<string, unknown>
    measurements: { name: string; operationsPerSecond: number }[]
  }
  t.match(report, { suite: 'micro', quick: true, environment: { node: process.version } })
  t.ok(report.measurements.length > 0)
  for (const { name, operationsPerSecond } of report.measurements) {
    // A call hashes 10,000 keys: without the factor the rate would be far below this.
    t.ok(operationsPerSecond > 100_000, `${name}: ${operationsPerSecond}/s`)
  }
})
