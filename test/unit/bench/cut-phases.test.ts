import { join } from 'node:path'
import t from 'tap'
import { compareAnswers } from '../../../bench/harness/report/compare.js'
import { runSequence } from '../../../bench/harness/runner.js'
import { engine } from '../../../bench/engines/model.js'
import type { Phase, Sequence } from '../../../bench/harness/workload.js'

const writes: Phase = {
  name: 'writes',
  calls: (records) => records,
  generate: () => (operation, index) => {
    operation.kind = 'put'
    operation.makeRow(4).writeUInt32BE(index)
    operation.columns = [0]
    operation.values = [Buffer.from('value')]
  },
}
const whole: Phase = { ...writes, name: 'whole', isWhole: true, calls: () => 20_000 }
const short: Phase = { ...writes, name: 'short', calls: () => 1 }
const sequence: Sequence = {
  name: 'one',
  columns: ['value'],
  keyBytes: 4,
  valueBytes: 5,
  phases: [whole, writes, short],
}

/** Every answer is a number of its own. */
const counts: Phase = {
  name: 'counts',
  calls: (records) => records,
  generate: () => (operation) => {
    operation.kind = 'increment'
    operation.makeRow(4)
    operation.columns = [0]
    operation.amount = 1
  },
}

async function run(
  directory: string,
  records: number,
  phaseSecondsMax: number,
  phases = sequence.phases,
) {
  const opened = await engine.open({
    directory,
    durability: 'buffered',
    layout: 'native',
    columns: sequence.columns,
    cacheBytes: 1024,
  })
  const settings = { directory, records, seed: 1, phaseSecondsMax }
  const outcomes = await runSequence(opened, sequence, phases, settings)
  await opened.close()
  return outcomes
}

void t.test('a phase that takes too long is cut, and nothing behind it is compared', async (t) => {
  const directory = t.testdir()
  const many = 2 ** 31
  const [all, cut, behind] = await run(directory, many, 0.001)
  t.match(all, { operations: 20_000, checksum: String })
  t.equal(all.isCut, undefined)
  t.equal(cut.isCut, true)
  t.ok(cut.operations >= 1 && cut.operations < many, `${cut.operations}`)
  t.equal(cut.checksum, undefined)
  t.match(behind, { operations: 1 })
  t.equal(behind.checksum, undefined)

  const answerOf = (outcomes: Awaited<ReturnType<typeof run>>) => {
    return {
      sequence: 'one',
      engine: join('e', String(outcomes.length)),
      outcomes,
      state: undefined,
    }
  }
  const complete = await run(directory, 50, 0)
  t.notOk(complete.some(({ isCut, checksum }) => isCut === true || checksum === undefined))
  const first = answerOf([all, cut, behind])
  t.strictSame(compareAnswers([first, answerOf(complete)]), [])
  const wrong = complete.map((outcome) => ({ ...outcome, checksum: '00000000' }))
  t.equal(compareAnswers([first, answerOf(wrong)]).length, 1, 'what was whole is compared')
})

void t.test('answers are compared as far as both of two phases came', async (t) => {
  const directory = t.testdir()
  const answerOf = (engine: string, outcomes: Awaited<ReturnType<typeof run>>) => {
    return { sequence: 'one', engine, outcomes, state: undefined }
  }
  const cut = await run(directory, 2 ** 31, 0.001, [counts, counts])
  const complete = await run(directory, 5, 0, [counts, counts])
  t.equal(cut[0].isCut, true)
  t.equal(cut[1].marks, undefined, 'behind a cut phase nothing is known')
  t.strictSame(
    complete[0].marks?.map(({ calls }) => calls),
    [1, 2, 4],
  )
  const first = answerOf('first', cut)
  t.strictSame(compareAnswers([first, answerOf('second', complete)]), [])
  const marks = complete[0].marks!.map((mark) => ({ ...mark, checksum: '00000000' }))
  const wrong = [{ ...complete[0], marks }, complete[1]]
  const [difference, ...others] = compareAnswers([first, answerOf('second', wrong)])
  t.match(difference, /second: one: counts: answers to \d+ calls have checksum 00000000/)
  t.equal(others.length, 0)
})
