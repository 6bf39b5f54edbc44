/**
 * The tables of README.md, docs/performance.md and the targets are what the results say.
 *
 * @runs alone
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatOverview } from '../../bench/harness/report/overview.js'
import { formatPage } from '../../bench/harness/report/plot.js'
import type { Report, ResultRecord } from '../../bench/harness/report/record.js'
import { readReport } from '../../bench/harness/report/recorded.js'
import { countWins } from '../../bench/harness/report/table.js'
import { formatGlance, formatSection, replaceSection, sections } from '../../bench/readme.js'
import { formatTargets } from '../../bench/targets.js'
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

for (const section of sections) {
  void t.test(`${section.path} and the recorded results agree`, (t) => {
    const text = readFileSync(join(projectRoot, section.path), 'utf8')
    const content = section.make(join(projectRoot, 'bench/results'))
    t.equal(replaceSection(text, section, content), text, 'run npm run bench:readme')
    t.end()
  })
}

void t.test('a target says what was reached, and whether that is enough', (t) => {
  const own = (workload: string, opsPerSecond: number, extra = {}): ResultRecord => {
    return { ...recordOf('cellar', opsPerSecond), workload, ...extra }
  }
  const results = new Map([
    ['ycsb', [...report.results, { ...recordOf('rocksdb-cpp', 9e9), workload: 'A' }]],
    [
      'cas',
      [
        ...[own('cas-hot', 60), { ...recordOf('lmdb/cells', 10), workload: 'cas-hot' }],
        ...[own('hot-row-get-before', 120), own('hot-row', 9, { operations: 1_100_000 })],
        own('hot-row-get-after', 100),
      ],
    ],
    [
      'scale',
      [
        ...[own('scan50', 100), own('scan50', 40, { records: 500_000 })],
        ...[own('get-zipfian', 150), own('get-zipfian', 900, { records: 500_000 })],
        ...[own('get-uniform-4x-cache', 150), own('get-uniform-10x-cache', 140)],
        ...['get-zipfian', 'get-uniform-4x-cache', 'get-uniform-10x-cache'].flatMap((workload) =>
          ['lmdb', 'classic-level'].map((engine) => ({ ...recordOf(engine, 100), workload })),
        ),
      ],
    ],
    [
      'level',
      [
        { ...own('compact', 9), engine: 'cellar-level' },
        { ...recordOf('classic-level', 8), workload: 'compact' },
      ],
    ],
    ['compaction', [own('merge with 1 hooks', 1, { extra: { hookPart: 0.1 } })]],
  ])
  const lines = formatTargets(results).split('\n')
  const lineOf = (text: string): string => lines.find((line) => line.includes(text)) ?? ''
  t.match(lineOf('YCSB'), '**`A`: 3.00 x the best Node peer (lmdb/row)**; `F`: no result beside')
  t.match(lineOf('YCSB'), '| 1 of 6, see [reads](../docs/decisions.md#reads-what')
  t.match(lineOf('checkAndMutate'), '**`cas-hot`: 6.00 x lmdb**')
  t.match(lineOf('cost of an operation'), '`scan50` 2.50 x (10000 to 500000 records)')
  t.match(lineOf('cost of an operation'), '| 1 of 4, see [reads](')
  t.match(lineOf('everything cached'), '**`get-zipfian`: 1.50 x lmdb**; `get-uniform`: no result')
  t.match(lineOf('four times the cache'), '**`get-uniform-4x-cache`: 1.50 x classic-level**')
  t.match(lineOf('ten times the cache'), '| `get-uniform-10x-cache`: 1.40 x classic-level;')
  t.match(
    lineOf('million overwrites'),
    '**`hot-row-get-after` 1.20 x (1.00 M increments)** | met |',
  )
  t.match(lineOf('50,000 rows'), '**`compact`: 1.13 x classic-level** | met |')
  t.match(lineOf('cell hooks'), '**one hook +10 %**; `merge with 2 hooks`: no 2 hooks')
  // Every miss leads to a heading.
  for (const [, file, anchor] of lines.join('').matchAll(/see \[\w+\]\(([^#)]*)#([^)]+)\)/g)) {
    const path = join(projectRoot, 'bench', file === '' ? 'README.md' : file)
    const headings = readFileSync(path, 'utf8').match(/^##+ .*$/gm) ?? []
    const anchors = headings.map((heading) =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    t.ok(anchors.includes(anchor), `${file}#${anchor}`)
  }
  t.end()
})

void t.test('a run whose workloads were cut says so', (t) => {
  const folder = t.testdir()
  const options = { ...report.options, phaseSecondsMax: 3 }
  const cut = report.results.map((result) => ({ ...result, isCut: true }))
  writeFileSync(join(folder, 'ycsb.json'), JSON.stringify({ ...report, options, results: cut }))
  const section = formatSection(folder)
  t.match(section, '|  | cellar | lmdb/row | lmdb/cells | cellar / best')
  t.match(section, 'records | **195 k** | 65.0 k | 9.00 | 3.0 x |')
  t.match(section.replaceAll('\n', ' '), 'workloads end after 3 s')
  t.equal(readReport(folder, 'cas'), undefined, 'a suite that is not recorded')
  const merged = readReport(folder, 'ycsb')!
  t.match(formatTargets(new Map([['ycsb', merged.results]])), '**`A`: 3.00 x the best Node peer')
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

/** Two engines at the same rate; the second answers its slowest calls sooner. */
const openLoad: Report = {
  ...report,
  options: { ...report.options, suite: 'latency' },
  results: [
    { ...recordOf('cellar', 1000), p50us: 20, p99us: 900, p999us: 8000 },
    { ...recordOf('lmdb', 1000.01), p50us: 80, p99us: 600, p999us: 2000 },
  ].map((result) => ({ ...result, extra: { eventLoopDelayP99us: 1 } })),
}

void t.test('results at a fixed rate are told by their percentiles', (t) => {
  const folder = t.testdir()
  writeFileSync(join(folder, 'latency.json'), JSON.stringify(openLoad))
  const section = formatSection(folder)
  t.match(section, '**latency**, latency from the intended start of a call')
  t.match(section, '|  | cellar | lmdb | best Node peer / cellar |')
  t.match(section, '| A, buffered, 10.0 k records, p50 | **20.0 µs** | 80.0 µs | 4.0 x |')
  t.match(section, '| A, buffered, 10.0 k records, p99.9 | 8.00 ms | **2.00 ms** | 0.3 x |')
  const page = formatPage(openLoad)
  t.equal(page.match(/<rect /g)?.length, 6)
  t.match(page, 'shorter is better')
  t.match(page, '8.00 ms')
  t.notMatch(page, '/s<')
  t.match(countWins(openLoad.results), 'best of 1 workloads: lmdb 1')
  t.end()
})

void t.test('the README shows wins and losses against the best peer', (t) => {
  const folder = t.testdir()
  t.notMatch(formatGlance(folder), 'x |')
  const results = [
    { ...recordOf('cellar', 10_000), workload: 'cas-hot' },
    { ...recordOf('lmdb/row', 40_000), workload: 'cas-hot' },
    { ...recordOf('rocksdb-cpp', 90_000), workload: 'cas-hot' },
  ]
  writeFileSync(join(folder, 'cas.json'), JSON.stringify({ ...report, results }))
  const line =
    '| compare and set of hot rows, 10.0 k records | 10.0 k | 40.0 k (lmdb/row) | 0.3 x |'
  t.match(formatGlance(folder), line)
  t.end()
})

void t.test('text without marks is refused', (t) => {
  t.throws(() => replaceSection('nothing here', sections[0], 'content'), /lacks/)
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

void t.test('the overview draws growth over records and latencies by percentile', (t) => {
  const sized = [10_000, 40_000].flatMap((records) =>
    ['cellar', 'lmdb'].map((engine) => ({ ...recordOf(engine, 5000), workload: 'get', records })),
  )
  const timed = {
    ...recordOf('cellar', 1000),
    workload: 'writes',
    p50us: 9,
    p99us: 80,
    p999us: 700,
  }
  const page = formatOverview(
    { ...report, results: sized },
    { ...report, results: [timed, { ...recordOf('lmdb', 1000), workload: 'no-latencies' }] },
    ['scale', 'latency'],
  )
  t.equal(page.split('<figure>').length - 1, 2, 'one picture a workload that has figures')
  for (const text of ['aria-label="get"', 'aria-label="writes"', 'p99.9', 'Some &lt;CPU&gt;']) {
    t.ok(page.includes(text), text)
  }
  t.ok(page.includes('<a href="scale.html">'))
  t.notMatch(page, /NaN|undefined|<script/)
  const lost = { ...recordOf('cellar', 10), workload: 'lost' }
  const compared = {
    ...report,
    results: [...sized, lost, { ...recordOf('lmdb', 1000), workload: 'lost' }],
  }
  const both = formatOverview(undefined, undefined, [], [compared])
  t.match(both, 'the best of the Node packages in 2 of 3 workloads')
  t.equal(both.split('<figure').length - 1, 1, 'wins and losses are in one picture')
  const { engine } = sized[0]
  t.notMatch(formatOverview(undefined, undefined, []), `<figure>.*${engine}`)
  for (const svg of page.match(/<svg [^>]*>/g) ?? []) t.match(svg, 'viewBox="0 0 480 320"')
  t.end()
})
