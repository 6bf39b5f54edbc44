/**
 * The command line of the benchmarks: what it accepts, what it writes, how it ends.
 *
 * @runs alone
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Report } from '../../bench/harness/report/record.js'
import { projectRoot, runProgram } from './support.js'
import type { ChildResult } from './support.js'

function bench(...args: string[]): Promise<ChildResult> {
  const script = join(projectRoot, 'build', 'bench', 'main.js')
  return runProgram(process.execPath, [script, ...args])
}

void t.test('unknown suites, parts and options end with usage and code 2', async (t) => {
  const wrong = [
    [],
    ['nothing'],
    ['micro', 'nothing'],
    ['micro', '--nothing'],
    ['--out'],
    ['micro', '--out', ''],
    ['micro', '--records', '0'],
    ['micro', '--seed', '-1'],
    ['micro', '--repeat', 'x'],
    ['micro', '--durability', 'hope'],
    ['all', 'hash'],
  ]
  const results = await Promise.all(wrong.map((args) => bench(...args)))
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    const args = wrong[index]
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
  const report = JSON.parse(readFileSync(outPath, 'utf8')) as Report
  t.match(report, { node: process.version, options: { suite: 'micro', quick: true } })
  t.ok(report.machine.cores > 0 && report.results.length > 0)
  for (const { workload, operations } of report.results) {
    t.ok(operations > 0 && operations % 10_000 === 0, `${workload}: calls of 10,000 keys`)
  }
})

void t.test('a suite of its own kind prints what it measures', async (t) => {
  const { code, stdout, stderr } = await bench('transfer', 'small', '--quick')
  t.equal(code, 0, stderr)
  for (const workload of ['scan', 'export, LZ4', 'import', 'major compaction']) {
    t.match(stdout, `small: ${workload} `)
  }
  t.equal((await bench('transfer', 'nothing', '--quick')).code, 2)
})
