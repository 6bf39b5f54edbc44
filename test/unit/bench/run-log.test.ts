import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fillIn, parseOptions, UsageError } from '../../../bench/harness/options.js'
import { makeReport } from '../../../bench/harness/report/report.js'
import { isFinished, RunLog, type FinishedStep } from '../../../bench/harness/run-log.js'

const optionsOf = (...words: string[]) =>
  fillIn(parseOptions(['ycsb', '--out', 'results.json', '--resume', ...words]), {})

const step = (round: number): FinishedStep => ({
  sequence: 'point',
  engine: 'lmdb/row',
  round,
  answer: { kind: 'done', outcomes: [], state: { rows: round, checksum: 'abc' } },
})

void t.test('finished steps are taken over, others are not there', async (t) => {
  const path = join(t.testdir(), 'results', 'ycsb.json')
  const log = RunLog.open('ycsb', optionsOf(), path)
  t.equal(log.find('point', 'lmdb/row', 1), undefined)
  log.add(step(1))
  log.add(step(2))
  const resumed = RunLog.open('ycsb', optionsOf(), path)
  t.strictSame(resumed.find('point', 'lmdb/row', 2), step(2).answer)
  t.equal(resumed.find('point', 'lmdb/row', 3), undefined)
  t.equal(resumed.find('point', 'lmdb/cells', 1), undefined)
  t.equal(resumed.find('scan', 'lmdb/row', 1), undefined)
  resumed.add(step(3))
  t.match(RunLog.open('ycsb', optionsOf(), path).find('point', 'lmdb/row', 1), { kind: 'done' })
  t.notOk(isFinished('ycsb', optionsOf(), path))
})

void t.test('a run under other conditions is not resumed', async (t) => {
  const path = join(t.testdir(), 'ycsb.json')
  RunLog.open('ycsb', optionsOf(), path).add(step(1))
  for (const words of [['--seed', '5'], ['--records', '7'], ['--phase-seconds', '1'], ['A']]) {
    t.throws(() => RunLog.open('ycsb', optionsOf(...words), path), UsageError, words.join(' '))
  }
  t.throws(() => RunLog.open('cas', optionsOf(), path), UsageError)
  const other = readFileSync(path, 'utf8').replaceAll(process.version, 'v18.0.0')
  writeFileSync(path, other)
  t.throws(() => RunLog.open('ycsb', optionsOf(), path), /v18\.0\.0/)
})

void t.test('without --resume a run begins anew', async (t) => {
  const path = join(t.testdir(), 'ycsb.json')
  RunLog.open('ycsb', optionsOf(), path).add(step(1))
  const options = fillIn(parseOptions(['ycsb', '--out', path]), {})
  t.equal(RunLog.open('ycsb', options, path).find('point', 'lmdb/row', 1), undefined)
  const silent = RunLog.open('ycsb', options, undefined)
  silent.add(step(1))
  t.match(silent.find('point', 'lmdb/row', 1), { kind: 'done' })
  t.throws(() => parseOptions(['ycsb', '--resume']), UsageError)
})

void t.test('a report is finished, under its conditions', async (t) => {
  const path = join(t.testdir(), 'ycsb.json')
  t.notOk(isFinished('ycsb', optionsOf(), path))
  const outcome = { results: [], engines: {}, leftOut: [], failures: [] }
  writeFileSync(path, JSON.stringify(makeReport('ycsb', optionsOf(), outcome)))
  t.ok(isFinished('ycsb', optionsOf(), path))
  t.notOk(isFinished('ycsb', optionsOf('--seed', '5'), path))
  t.equal(RunLog.open('ycsb', optionsOf(), path).find('point', 'lmdb/row', 1), undefined)
})
