/**
 * The campaigns: what they count, record and publish.
 *
 * @runs campaign
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { childEnvironment } from '../../helpers/child-environment.js'
import { projectRoot } from '../../helpers/project-root.js'
import { shrinkCount } from '../../helpers/shrink.js'
import { faultsOf } from '../../planted/rooms.js'
import { kindNames } from './kinds.js'
import { promises, reliabilityPage } from './promises.js'
import { addCounts, pageOf, readRuns, type RunRecord } from './record.js'
import { addTold, testKinds } from './test-kinds.js'

const program = fileURLToPath(new URL('main.js', import.meta.url))

function campaign(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [program, ...args], {
    encoding: 'utf8',
    env: childEnvironment,
  })
}

function runOf(date: string, images: number, failures: RunRecord['failures'] = []): RunRecord {
  const kinds = { 'power-cut': { seconds: 1800, firstSeed: 7, counts: { rounds: 2, images } } }
  return {
    date,
    commit: 'abc',
    node: 'v1',
    platform: 'p',
    workers: 1,
    seconds: 3600,
    kinds,
    failures,
  }
}

void t.test('what a test file tells is counted, and nothing else', (t) => {
  const counts = { images: 0, runs: 0 }
  for (const line of ['    # 7 places, 12 images', 'ok 3 - 5 images', '# {"runs":4,"other":9}']) {
    addTold(counts, line)
  }
  for (const line of ['not ok 4 - 8 images', '8 images', '# Subtest: 5 imagesets', '+  3 runs']) {
    addTold(counts, line)
  }
  t.strictSame(counts, { images: 17, runs: 4 })
  t.end()
})

void t.test('the file of every kind is there', (t) => {
  for (const [kind, { file }] of Object.entries(testKinds)) {
    t.ok(existsSync(join(projectRoot, 'test', `${file}.test.ts`)), `${kind}: ${file}`)
  }
  t.end()
})

void t.test('counts are added, and the largest of maxima is kept', (t) => {
  const total = { rounds: 1, filesMax: 5 }
  addCounts(total, { rounds: 2, filesMax: 3, images: 4 })
  t.strictSame(total, { rounds: 3, filesMax: 5, images: 4 })
  t.end()
})

void t.test('the page adds up all runs and names each broken promise', (t) => {
  const failure = { kind: 'kill', seed: 9, message: 'lost: a row' }
  const page = pageOf([runOf('2026-01-01T10:00:00Z', 1200), runOf('2026-01-02', 34, [failure])])
  t.match(page, 'Broken promises: 1, in 2.00 hours.')
  t.match(page, '| power-cut | 4 | images 1,234 | 1.00 |')
  t.match(page, '- `npm run crash -- --kind kill --seed 9`: lost: a row')
  t.match(page, '| 2026-01-01 10:00 | abc | v1, p | 1 | 1.00 | 7 | 0 |')
  t.end()
})

void t.test('the published page is that of the recorded runs', (t) => {
  const directory = join(projectRoot, 'test', 'results')
  const path = join(projectRoot, 'test', 'RESULTS.md')
  const runs = existsSync(directory) ? readRuns(directory) : []
  if (runs.length === 0) t.notOk(existsSync(path), 'no page without runs')
  else t.equal(readFileSync(path, 'utf8'), pageOf(runs), 'npm run crash -- --page')
  t.end()
})

void t.test('the tables of the promises are current, and name kinds', async (t) => {
  const page = readFileSync(join(projectRoot, 'docs', 'reliability.md'), 'utf8')
  const directory = join(projectRoot, 'test', 'results')
  const runs = existsSync(directory) ? readRuns(directory) : []
  t.equal(page, await reliabilityPage(page, runs), 'npm run crash -- --page')
  const named = promises.flatMap(({ kinds }) => kinds)
  t.strictSame(
    kindNames.filter((kind) => !named.includes(kind)),
    [],
    'each kind checks a promise',
  )
  t.strictSame(
    named.filter((kind) => !kindNames.includes(kind)),
    [],
  )
})

void t.test('each planted fault that a campaign finds names a kind', async (t) => {
  const found = (await faultsOf()).filter(({ foundBy }) => foundBy !== undefined)
  t.ok(found.length >= 60, `${found.length} faults`)
  for (const { name, foundBy } of found) t.ok(kindNames.includes(foundBy!), name)
})

void t.test('each kind that is a test file has one, and the help names all', (t) => {
  for (const [name, { file }] of Object.entries(testKinds)) {
    t.ok(existsSync(join(projectRoot, 'test', `${file}.test.ts`)), name)
  }
  const { stdout } = campaign('--help')
  for (const name of kindNames) t.match(stdout, new RegExp(`\\b${name}\\b`), name)
  t.end()
})

void t.test('a seed is repeated once, and a recorded run is kept', (t) => {
  const home = t.testdir({})
  const results = join(home, 'results')
  const { status, stdout } = campaign('--kind', 'owned', '--seed', '5', '--record', results)
  t.equal(status, 0, stdout)
  t.match(readRuns(results), [
    { failures: [], kinds: { owned: { firstSeed: 5, counts: { rounds: 1, histories: 1 } } } },
  ])
  t.equal(readdirSync(results).length, 1, 'one file a run')
  t.end()
})

void t.test('a count that fails is made as small as it goes', async (t) => {
  t.equal(await shrinkCount(250, async (count) => count >= 37), 37)
  t.equal(await shrinkCount(1, async () => true), 1)
})

void t.test('a wrong command line is refused', (t) => {
  for (const args of [['--kind', 'none'], ['--seconds', '-1'], ['--typo'], ['word']]) {
    t.equal(campaign(...args).status, 2, args.join(' '))
  }
  t.end()
})
