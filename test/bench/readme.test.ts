/** The performance section of README.md is what the recorded results say. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatPage } from '../../bench/harness/plot.js'
import type { Report, ResultRecord } from '../../bench/harness/record.js'
import { formatSection, replaceSection } from '../../bench/readme.js'
import { projectRoot, runProgram } from '../rules/support.js'

function recordOf(engine: string, opsPerSecond: number): ResultRecord {
  return {
    suite: 'ycsb',
    workload: 'A',
    engine,
    durability: 'buffered',
    records: 10_000,
    operations: 10_000,
    seconds: 10_000 / opsPerSecond,
    opsPerSecond,
    repeats: 3,
    spread: { low: opsPerSecond * 0.9, high: opsPerSecond * 1.1 },
  }
}

const report: Report = {
  machine: { cpu: 'Some <CPU>', cores: 2, memoryBytes: 1, platform: 'linux x64 6' },
  node: 'v20.0.0',
  commit: 'abc',
  date: '2026-11-21T00:00:00.000Z',
  options: { suite: 'ycsb', repeat: 3, seed: 301 },
  engines: { cellar: 'this tree', lmdb: '3.5.6' },
  leftOut: [{ engine: 'classic-level', reason: 'not installed' }],
  results: [recordOf('lmdb/row', 65_000), recordOf('cellar', 195_000), recordOf('lmdb/cells', 9)],
}

void t.test('README.md and the recorded results agree', (t) => {
  const text = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  const section = formatSection(join(projectRoot, 'bench/results'))
  t.equal(replaceSection(text, section), text, 'run npm run bench:readme')
  t.end()
})

void t.test('the section names winner, ratio, versions, machine and commit', (t) => {
  const folder = t.testdir()
  t.match(formatSection(folder), 'No results are recorded yet.')
  writeFileSync(join(folder, 'ycsb.json'), JSON.stringify(report))
  const section = formatSection(folder)
  t.match(section, '| A, buffered, 10.0 k records | **195 k** | 65.0 k | 9.00 | 3.0 x |')
  for (const part of ['lmdb 3.5.6', 'Some <CPU>, 2 cores', 'v20.0.0', 'commit abc', '2026-11-21']) {
    t.match(section, part)
  }
  t.end()
})

void t.test('text without marks is refused', (t) => {
  t.throws(() => replaceSection('nothing here', 'section'), /lacks/)
  t.end()
})

void t.test('the page has a bar for every result and refers to nothing outside', (t) => {
  const page = formatPage(report)
  t.equal(page.match(/<rect /g)?.length, report.results.length)
  t.match(page, 'Some &lt;CPU&gt;')
  t.match(page, 'classic-level: not installed')
  t.notMatch(page, /<script|https?:|href=|src=/)
  t.end()
})

void t.test('wrong options of the generator end with code 2 and change nothing', async (t) => {
  const script = join(projectRoot, 'build', 'bench', 'readme.js')
  const { code, stderr } = await runProgram(process.execPath, [script, '--nothing'])
  t.equal(code, 2)
  t.match(stderr, 'usage: npm run bench:readme')
})
