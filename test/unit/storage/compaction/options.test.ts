import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import { ErrorCode } from '../../../../src/base/errors.js'
import {
  checkPolicyFamily,
  choosePolicy,
  policyNames,
} from '../../../../src/storage/compaction/choose-policy.js'
import type { PolicyInput, PolicyName } from '../../../../src/storage/compaction/choice.js'
import { checkedChoice, mergeOf } from '../../../../src/storage/compaction/selection.js'
import { SimulatedStore } from './simulation.js'

const invalid = { code: ErrorCode.invalidArgument }

void t.test('every policy can be made without options', (t) => {
  for (const name of policyNames) {
    const choice = choosePolicy(name).choose(new SimulatedStore().input())
    t.equal(choice.kind, 'nothing', name)
  }
  t.end()
})

void t.test('unknown policies and options are refused', (t) => {
  t.throws(() => choosePolicy('stripe' as PolicyName), invalid)
  t.throws(() => choosePolicy('toString' as PolicyName), invalid)
  for (const name of policyNames) {
    t.throws(() => choosePolicy(name, { novel: 1 }), invalid, name)
    t.throws(() => choosePolicy(name, 5), invalid, name)
    t.throws(() => choosePolicy(name, null as never), invalid, name)
  }
  t.end()
})

const bad: [PolicyName, object][] = [
  ['exploring', { filesMin: 1 }],
  ['exploring', { filesMin: 2.5 }],
  ['exploring', { filesMin: 11 }],
  ['exploring', { ratio: -1 }],
  ['exploring', { ratio: NaN }],
  ['exploring', { filesMax: Infinity }],
  ['exploring', { filesMax: '7' }],
  ['leveled', { levelRatio: 1 }],
  ['leveled', { levelsMax: 33 }],
  ['leveled', { levelsMax: 1 }],
  ['leveled', { fileBytes: 0 }],
  ['leveled', { pick: 'random' }],
  ['leveled', { tombstoneRatioMin: -0.1 }],
  ['tiered', { widthMin: 1 }],
  ['tiered', { spaceRatioMax: -1 }],
  ['lazy-leveled', { levelRatio: 0.5 }],
  ['fifo', { filesMin: 3 }],
  ['date-tiered', { baseWindowMilliseconds: 0 }],
  ['date-tiered', { windowsPerTier: 1 }],
]

for (const [name, options] of bad) {
  void t.test(`${name} refuses ${JSON.stringify(options)}`, (t) => {
    t.throws(() => choosePolicy(name, options as never), invalid)
    t.end()
  })
}

void t.test('FIFO demands a family whose cells expire', (t) => {
  t.throws(() => checkPolicyFamily('fifo', { ttlMilliseconds: Infinity, minVersions: 0 }), invalid)
  t.throws(() => checkPolicyFamily('fifo', { ttlMilliseconds: 1000, minVersions: 1 }), invalid)
  checkPolicyFamily('fifo', { ttlMilliseconds: 1000, minVersions: 0 })
  checkPolicyFamily('date-tiered', { ttlMilliseconds: Infinity, minVersions: 1 })
  t.end()
})

/** A store with three overlapping files on level 0. */
function threeFlushes(): PolicyInput {
  const store = new SimulatedStore()
  for (let flush = 0; flush < 3; flush++) {
    store.write(1)
    store.write(2)
    store.flush()
  }
  return store.input()
}

void t.test('a merge that leaves out a file between its inputs is an internal error', (t) => {
  const input = threeFlushes()
  const [newest, middle, oldest] = input.levels[0]
  const output = { outputLevel: 0, outputBytesMax: Infinity }
  t.throws(
    () => checkedChoice(input, mergeOf(input.levels, [newest, oldest], output)),
    InvariantError,
  )
  checkedChoice(input, mergeOf(input.levels, [newest, middle], output))
  t.end()
})

void t.test('a move or merge past an older file is an internal error', (t) => {
  const input = threeFlushes()
  const [newest, , oldest] = input.levels[0]
  const move = (file: typeof newest) => () =>
    checkedChoice(input, { kind: 'move', files: [file], outputLevel: 1 })
  t.throws(move(newest), InvariantError)
  t.doesNotThrow(move(oldest))
  const down = { outputLevel: 1, outputBytesMax: Infinity }
  t.throws(() => checkedChoice(input, mergeOf(input.levels, [newest], down)), InvariantError)
  t.end()
})

void t.test('a choice of a busy or unknown file is an internal error', (t) => {
  const input = threeFlushes()
  const files = input.levels[0].slice(0, 1)
  const busy = { ...input, busyFiles: new Set([files[0].fileNumber]) }
  t.throws(() => checkedChoice(busy, { kind: 'drop', files }), InvariantError)
  const other = threeFlushes().levels[0].slice(0, 1)
  t.throws(() => checkedChoice(input, { kind: 'drop', files: other }), InvariantError)
  t.end()
})
