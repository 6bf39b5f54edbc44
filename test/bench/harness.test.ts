/**
 * The harness as a whole, on engines and suites that live beside this test: a wrong engine is
 * caught, an absent one is left out, the command line is checked. Peers need not be installed.
 *
 * @runs alone, campaign
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Report } from '../../bench/harness/report/record.js'
import { projectRoot, runProgram, type ChildResult } from '../rules/support.js'
import { lengthOf } from '../helpers/length.js'
import { whyNoControlGroup } from '../../bench/memory/control-group.js'

const main = join(projectRoot, 'build', 'bench', 'main.js')

function bench(...args: string[]): Promise<ChildResult> {
  // Without tap's loaders, which every process of every engine would load.
  return runProgram(process.execPath, [main, ...args], { environment: { NODE_OPTIONS: '' } })
}

const urlOf = (path: string): string =>
  JSON.stringify(new URL(`file://${join(projectRoot, 'build', 'bench', path)}`).href)

/** An engine that answers as the model does, but for what `change` does to its store. */
function engineModule(name: string, change: string): string {
  return `
    import { openModel } from ${urlOf('engines/model.js')}
    function change(store) { ${change} }
    export const engine = {
      kind: 'store', name: ${JSON.stringify(name)}, layouts: ['native'], isVolatile: true,
      durabilities: ['buffered', 'sync'], version: () => '1',
      open: async ({ columns }) => {
        const opened = openModel(columns.length)
        change(opened.fastest)
        return opened
      },
    }`
}

const wrongs: Readonly<Record<string, string>> = {
  'returns nothing': 'store.get = () => true',
  'says absent': 'store.get = () => false',
  'loses a write': `
    let count = 0
    const put = store.put.bind(store)
    store.put = (...values) => { if (++count !== 50) put(...values) }`,
  'returns the value of another row': `
    const get = store.get.bind(store)
    let last
    store.get = (row, values) => {
      const found = get(last ?? row, values)
      last = Buffer.from(row)
      return found
    }`,
  'ends scans early': `
    const scan = store.scan.bind(store)
    store.scan = (range, visit) => scan({ ...range, limit: Math.max(1, range.limit - 1) }, visit)`,
  'lets stale checks through': `
    const put = store.put.bind(store)
    store.checkAndPut = (row, column, expected, value) => {
      put(row, [column], [value])
      return true
    }`,
  fails: `store.get = () => { throw new Error('on purpose') }`,
}

/** Suite and part that notice; each runs one sequence. */
const noticedBy: Readonly<Record<string, readonly [suite: string, part: string]>> = {
  'lets stale checks through': ['cas', 'cas-hot'],
  'ends scans early': ['ycsb', 'E'],
  'loses a write': ['db-bench', 'fillseq'],
}

/** How many of the wrong engines, and of the suites, are run. */
const engineCount = lengthOf('CELLAR_WRONG_ENGINES', 2, Infinity)
const suiteCount = lengthOf('CELLAR_BENCH_SUITES', 2, Infinity)

for (const [name, change] of Object.entries(wrongs).slice(0, engineCount)) {
  void t.test(`an engine that ${name} fails the run`, async (t) => {
    const directory = t.testdir({ 'wrong.mjs': engineModule('wrong', change) })
    const engine = join(directory, 'wrong.mjs')
    const [suite, part] = noticedBy[name] ?? ['db-bench', 'readrandom']
    const { code, stderr } = await bench(suite, part, '--quick', '--engines', engine)
    t.equal(code, 1)
    t.match(stderr, /FAILED: wrong: /)
  })
}

void t.test('right answers pass, and are written down', async (t) => {
  const directory = t.testdir({ 'right.mjs': engineModule('right', '') })
  const outPath = join(directory, 'results.json')
  const { code, stdout, stderr } = await bench(
    ...['ycsb', '--quick', '--engines', join(directory, 'right.mjs'), '--repeat', '2'],
    ...['--seed', '5', '--out', outPath],
  )
  t.equal(code, 0, stderr)
  t.match(stdout, /A \(buffered\)/)
  const report = JSON.parse(readFileSync(outPath, 'utf8')) as Report
  t.match(report, {
    machine: { cores: Number },
    node: process.version,
    options: { suite: 'ycsb', seed: 5, repeat: 2, quick: true },
    engines: { right: '1' },
    leftOut: [],
  })
  t.strictSame(
    report.results.map(({ workload }) => workload),
    ['load', 'A', 'B', 'C', 'F', 'D', 'E'],
  )
  for (const result of report.results) {
    t.match(result, {
      suite: 'ycsb',
      engine: 'right',
      durability: 'buffered',
      records: Number,
      operations: Number,
      seconds: Number,
      opsPerSecond: Number,
      p50us: Number,
      p99us: Number,
      p999us: Number,
      bytesOnDisk: Number,
      peakRssBytes: Number,
      checksum: /^[0-9a-f]{8}$/,
      repeats: 2,
    })
    t.ok(result.spread.low <= result.opsPerSecond && result.opsPerSecond <= result.spread.high)
  }
})

void t.test('an engine that is not there is named and left out', async (t) => {
  const absent = engineModule('absent', '').replace(
    `version: () => '1'`,
    `version: () => { throw new Error('not installed today') }`,
  )
  const directory = t.testdir({
    'absent.mjs': absent,
    'right.mjs': engineModule('right', ''),
  })
  const engines = ['absent.mjs', 'right.mjs'].map((name) => join(directory, name)).join(',')
  const { code, stdout } = await bench('cas', 'cas-hot', '--quick', '--engines', engines)
  t.equal(code, 0)
  t.match(stdout, 'left out: absent: not installed today')
})

/** One sequence of each suite; its last part runs all parts before. */
const lastParts = [
  ['db-bench', 'deleterandom'],
  ['ycsb', 'D'],
  ['ycsb', 'E'],
  ['cas', 'increment-hot'],
  ['hbase-pe', 'filterScan'],
  ['hbase-pe', 'checkAndDelete'],
  ['latency', 'half-reads-1000'],
]

for (const [suite, part] of lastParts.slice(0, suiteCount)) {
  void t.test(`Cellar answers like the model in ${suite} ${part}`, async (t) => {
    const { code, stdout, stderr } = await bench(suite, part, '--quick', '--engines', 'cellar')
    t.equal(code, 0, stderr)
    t.match(stdout, 'cellar')
  })
}

void t.test('memory is limited where a control group can be made', async (t) => {
  const { code, stdout, stderr } = await bench('memory', '--quick', '--engines', 'cellar')
  t.equal(code, 0, stderr)
  const reason = whyNoControlGroup()
  if (reason === undefined) t.match(stdout, /get-uniform, a quarter .* cellar/)
  else t.match(stdout + stderr, reason)
})

void t.test('a suite of a user is measured like the others', async (t) => {
  const suite = `
    export const suite = {
      name: 'mine', summary: '', defaultRecords: 100,
      sequences: [{
        name: 'only', columns: ['c'], keyBytes: 3, valueBytes: 1,
        phases: [{
          name: 'mine', calls: (records) => records,
          generate: ({ random }) => (operation) => {
            operation.kind = 'increment'
            operation.row = Buffer.from('row')
            operation.columns = [0]
            operation.amount = random.below(10)
          },
        }],
      }],
    }`
  const directory = t.testdir({ 'mine.mjs': suite })
  const { code, stdout } = await bench(join(directory, 'mine.mjs'), '--engines', 'cellar')
  t.equal(code, 0)
  t.match(stdout, /mine \(buffered\) .* cellar/)
})

void t.test(
  'narrow rows run in one layout, and a sequence may have a cache of its own',
  async (t) => {
    const phase = (name: string): string => `{
    name: '${name}', calls: () => 3,
    generate: () => (operation) => {
      operation.kind = 'get'
      operation.row = Buffer.from('row')
    },
  }`
    const shape = 'keyBytes: 3, valueBytes: 1'
    const suite = `export const suite = {
    name: 'mine', summary: '', defaultRecords: 1000, defaultCacheBytes: 77,
    sequences: [
      { name: 'narrow', columns: ['a'], ${shape}, phases: [${phase('77')}] },
      {
        name: 'wide', columns: ['a', 'b'], ${shape}, phases: [${phase('200')}],
        cacheBytes: (records) => 2 * records,
      },
    ],
  }`
    const engine = engineModule('both', '')
      .replace("['native']", "['row', 'cells']")
      .replace('({ columns }) => {', '({ columns, cacheBytes }) => { globalThis.told = cacheBytes')
      .replace('function change(store) {', '$& store.get = () => { check() ; return false };')
    const check = `
    import { appendFileSync } from 'node:fs'
    const check = () => appendFileSync(new URL('told', import.meta.url), globalThis.told + ' ')`
    const directory = t.testdir({ 'mine.mjs': suite, 'both.mjs': check + engine })
    const engines = ['--engines', join(directory, 'both.mjs')]
    const { code, stdout, stderr } = await bench(join(directory, 'mine.mjs'), ...engines, '--quick')
    t.equal(code, 0, stderr)
    t.equal(stdout.match(/│ both\/row/g)?.length, 2)
    t.equal(stdout.match(/│ both\/cells/g)?.length, 1)
    const told = readFileSync(join(directory, 'told'), 'utf8').trim().split(' ')
    t.strictSame(told, ['77', '77', '77', ...Array<string>(6).fill('200')])
  },
)

void t.test('wrong command lines run nothing', async (t) => {
  const directory = t.testdir({ 'empty.mjs': 'export const nothing = 1' })
  const outPath = join(directory, 'never.json')
  const wrong = [
    ['db-bench', '--engines', 'nothing'],
    ['db-bench', '--engines', 'cellar/row'],
    ['db-bench', 'nothing', '--engines', 'cellar'],
    ['db-bench', '--engines', join(directory, 'empty.mjs')],
    [join(directory, 'empty.mjs')],
    ['record', 'nothing'],
    ['ycsb', '--records', '1.5'],
    ['ycsb', '--records', '1', '--records-of', '2'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await bench(...args, '--out', outPath)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, 'usage: npm run bench')
    t.equal(stdout, '')
  }
  t.notOk(existsSync(outPath))
})

void t.test('the output of db_bench is read line by line', async (t) => {
  const { parseOutput } = await import('../../bench/engines/rocksdb-cpp.js')
  const output = [
    'DB path: [/data]',
    '... finished 100000 ops\rfillrandom   :      14.474 micros/op 69086 ops/sec 1.447 seconds' +
      ' 100000 operations;    7.6 MB/s',
    'Microseconds per write:',
    'Percentiles: P50: 3.58 P75: 4.82 P99: 19.40 P99.9: 4863.16 P99.99: 11950.00',
    'readrandom   :       2.000 micros/op 500000 ops/sec 0.126 seconds 63 operations;' +
      '  (63 of 63 found)',
    'Percentiles: P50: 0.53 P75: 0.80 P99: 6.00 P99.9: 448.00 P99.99: 448.00',
    'compact      :   90000.000 micros/op 11 ops/sec 0.090 seconds 1 operations;',
  ].join('\n')
  t.strictSame(parseOutput(output), [
    {
      name: 'fillrandom',
      seconds: 1.4474,
      operations: 100_000,
      p50us: 3.58,
      p99us: 19.4,
      p999us: 4863.16,
    },
    {
      name: 'readrandom',
      seconds: 0.000126,
      operations: 63,
      p50us: 0.53,
      p99us: 6,
      p999us: 448,
    },
    { name: 'compact', seconds: 0.09, operations: 1 },
  ])
})
