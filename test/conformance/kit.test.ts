/** The kit of the suites: names, choices, counts, and cases that do not end. */
import t from 'tap'
import { runCases, type SuiteTest } from '../suites/kit.js'

/** A test object that notes the tests, and the messages of the failed ones. */
function recorder(): { readonly notes: string[]; readonly test: SuiteTest } {
  const notes: string[] = []
  const test: SuiteTest = {
    test: async (name, { skip }, body) => {
      if (skip !== undefined) return void notes.push(`${name}: left out, ${skip}`)
      const failed = await body(test).then(
        () => 'passed',
        (error: unknown) => (error as Error).message,
      )
      notes.push(`${name}: ${failed}`)
    },
    equal: () => undefined,
    comment: (text) => notes.push(text),
  }
  return { notes, test }
}

const suite = { suite: 'Sample', backend: 'mine', caseMilliseconds: 20 }
const first = { name: 'one', run: async () => undefined }
const second = { name: 'two', run: () => new Promise<undefined>(() => undefined) }
const run = async (_: SuiteTest, each: typeof first): Promise<void> => each.run()

void t.test('cases run in turn, and one that does not end fails', async (t) => {
  const { notes, test } = recorder()
  const cases = [first, second, { ...first, name: 'three' }]
  const obstacle = ({ name }: typeof first): string | undefined =>
    name === 'three' ? 'no reason' : undefined
  t.strictSame(await runCases(test, { ...suite, cases, obstacle, run }), { run: 2, skipped: 1 })
  t.strictSame(notes, [
    'Sample [mine]: one: passed',
    'Sample [mine]: two: the case did not end within 20 ms',
    'Sample [mine]: three: left out, no reason',
    'Sample [mine]: 2 of 3 cases run',
  ])
})

void t.test('cases are chosen by name; a name without a case is refused', async (t) => {
  const { notes, test } = recorder()
  const cases = [first, second]
  await runCases(test, { ...suite, cases, only: ['one'], run })
  t.equal(notes[0], 'Sample [mine]: one: passed')
  t.equal(notes.length, 2)
  const unknown = runCases(test, { ...suite, cases, only: ['four'], run })
  await t.rejects(unknown, { message: "Sample has no case 'four'" })
})

void t.test('two cases with one name are refused', async (t) => {
  const { test } = recorder()
  const running = runCases(test, { ...suite, cases: [first, { ...first }], run })
  await t.rejects(running, { message: 'two cases of Sample share a name' })
})
