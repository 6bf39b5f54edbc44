/**
 * The parser that sums up test runs for continuous integration counts what it should.
 */
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, runProgram } from './support.js'

const passing = `TAP version 14
# Subtest: build/test/a.test.js
    # Subtest: one
        ok 1 - first
        ok 2 - second
        1..2
    ok 1 - one # time=1ms
    ok 2 - without zstd # SKIP no zstd here
    # Subtest: nothing asserted
        1..0
    ok 3 - nothing asserted
    1..3
ok 1 - build/test/a.test.js # time=2ms
1..1
`

const failing = `TAP version 14
1..3
# Subtest: build/test/a.test.js
    ok 1 - ok
    not ok 2 - equal
      ---
      diff: |
        not ok 1 - this is only text
      ok 5
      ...
    not ok 3 - later # todo
    1..3
not ok 1 - build/test/a.test.js
  ---
  exitCode: 1
  ...
# Subtest: build/test/b.test.js
    ok 1 - fine
    1..1
not ok 2 - build/test/b.test.js # timed out
not ok 3 - build/test/c.test.js
`

const skipped = 'ok 1 - on a live server # SKIP no server\n1..1\n'

async function summary(input: string): Promise<[string | undefined, number | null]> {
  const script = join(projectRoot, '.ci', 'summary.mjs')
  const { stdout, code } = await runProgram(process.execPath, [script], { input })
  return [stdout.trimEnd().split('\n').at(-1), code]
}

void t.test('assertions count, closing lines of subtests and skipped points do not', async (t) => {
  t.strictSame(await summary(passing), ['3 passed, 0 failed', 0])
})

void t.test('failures, crashes and timeouts count, text of diagnostics does not', async (t) => {
  t.strictSame(await summary(failing), ['2 passed, 3 failed', 1])
})

void t.test('a run that was cut short or has no tests is a failure', async (t) => {
  t.strictSame(await summary(''), ['0 passed, 1 failed', 1])
  t.strictSame(await summary('TAP version 14\nok 1 - a\n'), ['1 passed, 1 failed', 1])
  t.strictSame(await summary('TAP version 14\n1..0\n'), ['0 passed, 1 failed', 1])
  t.strictSame(await summary(`TAP version 14\n${skipped}`), ['0 passed, 1 failed', 1])
})

void t.test(
  'the runner tells files that pass, are skipped, fail, or end in the middle',
  async (t) => {
    const directory = t.testdir({
      'good.test.js': `console.log('ok 1 - fine\\n1..1')`,
      'skipped.test.js': `console.log(${JSON.stringify(skipped.trimEnd())})`,
      'wrong.test.js': `console.log('not ok 1 - one is two\\n1..1'); process.exitCode = 1`,
      'cut.test.js': `console.log('ok 1 - fine'); process.exit(0)`,
      'killed.test.js': `process.kill(process.pid, 'SIGKILL')`,
    })
    const run = async (...names: string[]): Promise<[string, number | null]> => {
      const files = names.map((name) => join(directory, `${name}.test.js`))
      const report = join(directory, 'report.tap')
      const words = [join(projectRoot, '.ci', 'test.mjs'), '--report', report, ...files]
      const { stdout, code } = await runProgram(process.execPath, words, {})
      return [stdout, code]
    }
    const [stdout, code] = await run('good', 'skipped')
    t.match(stdout, /^ok +skipped/m)
    t.match(stdout, /1 skipped\n1 passed, 0 failed\n$/)
    t.equal(code, 0)
    for (const name of ['wrong', 'cut', 'killed']) {
      const [said, exitCode] = await run('good', name)
      t.match(said, new RegExp(`^not ok ${name}`, 'm'), name)
      t.match(said, /\d+ passed, 1 failed\n$/, name)
      t.equal(exitCode, 1, name)
    }
  },
)

void t.test('failures are named by the tests around them, each once', async (t) => {
  const script = join(projectRoot, '.ci', 'failures.mjs')
  const code = `
    import { readFileSync } from 'node:fs'
    import { failuresOf } from ${JSON.stringify(script)}
    console.log(JSON.stringify(failuresOf(readFileSync(0, 'utf8'))))`
  const input = `TAP version 14
# Subtest: build/suites/a.test.js
    # Subtest: outer
        # Subtest: inner
            ok 1 - fine
            not ok 2 - one is two
              ---
              compare: ===
              ...
            1..2
        not ok 1 - inner # time=3ms
          ---
          at: here
          ...
        1..1
    not ok 1 - outer # time=4ms
    1..1
not ok 1 - build/suites/a.test.js # time=5ms
# Subtest: build/suites/b.test.js
    ok 1 - fine
    not ok 2 - later # todo
    1..2
not ok 2 - build/suites/b.test.js # time=600000ms
  ---
  expired: TAP
  ...
1..2
`
  const { stdout } = await runProgram(process.execPath, ['--input-type=module', '-e', code], {
    input,
  })
  t.strictSame(JSON.parse(stdout), [
    {
      name: 'build/suites/a.test.js > outer > inner > one is two',
      details: '              compare: ===',
    },
    { name: 'build/suites/b.test.js', details: '  expired: TAP' },
  ])
})
