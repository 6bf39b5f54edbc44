/** H. Check and mutate. */
import type { Check, CheckAction, CompareOperator } from '../../../src/api/index.js'
import {
  allVersions,
  everywhere,
  putCell,
  versions,
  type TableCase,
  type State,
  type Step,
} from './case.js'

type Condition = Omit<Check, 'row' | 'column'>

const operators: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
]

function step(condition: Condition, action: CheckAction, success: boolean, column = 'f:q'): Step {
  return { check: { row: 'r', column, ...condition } as Check, action, success }
}

function putAction(value: string, column = 'f:q'): CheckAction {
  return { put: { cells: { [column]: value } } }
}

/** Puts back the stored value, then checks with each operator; `holding` says which must match. */
function compareAll(
  stored: string,
  expected: string,
  holding: readonly CompareOperator[],
  makeAction: () => CheckAction,
): Step[] {
  return operators.flatMap((operator): Step[] => {
    const success = holding.includes(operator)
    return [
      putCell('q', undefined, stored),
      step({ operator, value: expected }, makeAction(), success),
    ]
  })
}

const lessThanStored: readonly CompareOperator[] = ['LESS', 'LESS_OR_EQUAL', 'NOT_EQUAL']
const greaterThanStored: readonly CompareOperator[] = ['GREATER', 'GREATER_OR_EQUAL', 'NOT_EQUAL']
const equalToStored: readonly CompareOperator[] = ['GREATER_OR_EQUAL', 'LESS_OR_EQUAL', 'EQUAL']

function compareOperatorCase(what: string, makeAction: () => CheckAction): TableCase {
  return {
    number: 127,
    title: `expected operator stored, then ${what}`,
    source: 'TestFromClientSide5#testCheckAndPutWithCompareOp, #testCheckAndDeleteWithCompareOp',
    states: ['memtable', 'reopened', 'flushed'],
    steps: [
      step({ notExists: true }, putAction('bbbb'), true),
      { get: { row: 'r' }, cells: ['q=bbbb'] },
      ...compareAll('bbbb', 'aaaa', lessThanStored, makeAction),
      ...compareAll('cccc', 'dddd', greaterThanStored, makeAction),
      ...compareAll('dddd', 'dddd', equalToStored, makeAction),
    ],
  }
}

const ts = 50_000
const value = 'VALUE'

/** Case 130: whether the check holds with the cell at `ts`. */
const timeRanges: readonly [string, readonly [number, number], boolean][] = [
  ['at later', [ts + 10_000, ts + 10_001], false],
  ['from later', [ts + 10_000, 2 ** 52], false],
  ['between later', [ts + 10_000, ts + 20_000], false],
  ['until ts', [0, ts], false],
  ['at ts', [ts, ts + 1], true],
  ['from ts', [ts, 2 ** 52], true],
  ['between', [ts, ts + 20_000], true],
  ['until later', [0, ts + 10_000], true],
]

function timeRangeCase([what, timeRange, success]: (typeof timeRanges)[number]): TableCase {
  const condition: Condition = { equals: value, timeRange }
  return {
    number: 130,
    title: `time range ${what}`,
    source: 'TestFromClientSide5#testCheckAndMutateWithTimeRange',
    states: everywhere,
    steps: [
      putCell('q', ts, value),
      step(condition, { put: { cells: { 'f:other': 'new' }, timestamp: ts } }, success),
      { get: { row: 'r', columns: ['f:other'] }, cells: success ? ['other=new'] : [] },
      step(
        condition,
        {
          mutations: [
            { put: { cells: { 'f:more': 'new' }, timestamp: ts } },
            { delete: { columns: ['f:other'] } },
          ],
        },
        success,
      ),
      { get: { row: 'r' }, cells: success ? ['more=new', 'q'] : ['q'] },
      step(condition, { delete: { columns: ['f:q'] } }, success),
      { get: { row: 'r', columns: ['f:q'] }, cells: success ? [] : ['q'] },
    ],
  }
}

const rowMutations: CheckAction = {
  mutations: [
    { put: { cells: { 'f:q1': 'one' } } },
    { delete: { columns: ['f:q2'] } },
    { increment: { columns: { 'f:q3': 1 } } },
    { append: { columns: { 'f:q4': 'b' } } },
  ],
}
const five = '\0\0\0\0\0\0\0\x05'
const six = '\0\0\0\0\0\0\0\x06'
const afterRowMutations = ['q1=one', `q3=${six}`, 'q4=ab']
const inMemory: readonly State[] = ['memtable', 'reopened', 'flushed']

/** Cases about check and mutate. */
export const checkCases: readonly TableCase[] = [
  compareOperatorCase('put', () => putAction('zzzz')),
  compareOperatorCase('delete', () => ({ delete: { columns: ['f:q'] } })),
  {
    number: 128,
    title: 'an empty expected value matches an absent and an empty cell',
    source: 'TestHRegion#testCheckAndMutate_WithEmptyRowValue',
    states: everywhere,
    families: versions(allVersions),
    steps: [
      step({ equals: '' }, putAction(''), true),
      step({ equals: '' }, putAction('val1'), true),
      step({ equals: '' }, putAction('val2'), false),
      step({ equals: '' }, { delete: { columnVersions: ['f:q'] } }, false),
      { get: { row: 'r' }, cells: ['q=val1'] },
      step({ equals: 'val1' }, putAction('val2'), true),
      step({ equals: 'val2' }, { delete: { columnVersions: ['f:q', 'f:q'] } }, true),
      { get: { row: 'r' }, cells: ['q='] },
      step({ equals: '' }, { delete: { columnVersions: ['f:q'] } }, true),
      { get: { row: 'r' }, cells: [] },
      step({ equals: null }, putAction('val1'), true),
      { get: { row: 'r' }, cells: ['q=val1'] },
    ],
  },
  {
    number: 128,
    title: 'NOT_EQUAL to nothing',
    source: 'CompareOperator on an absent cell, HRegion#matches',
    states: everywhere,
    steps: [
      step({ operator: 'NOT_EQUAL', value: null }, putAction('x'), false),
      step({ operator: 'NOT_EQUAL', value: 'y' }, putAction('x'), false),
      putCell('q', undefined, ''),
      step({ operator: 'NOT_EQUAL', value: '' }, putAction('x'), false),
      step({ operator: 'GREATER', value: '' }, putAction(''), true),
      step({ notExists: true }, putAction('x'), true),
      step({ operator: 'NOT_EQUAL', value: null }, putAction('y'), true),
      { get: { row: 'r' }, cells: ['q=y'] },
    ],
  },
  ...timeRanges.map(timeRangeCase),
  {
    number: 133,
    title: 'row mutations under a check, with increment and append',
    source: 'TestFromClientSide5#testCheckAndRowMutations',
    states: everywhere,
    steps: [
      { put: { row: 'r', cells: { 'f:q2': 'two', 'f:q3': Buffer.from(five), 'f:q4': 'a' } } },
      {
        check: { row: 'r', column: 'f:q1', notExists: true },
        action: rowMutations,
        success: true,
        cells: [`q3=${six}`, 'q4=ab'],
      },
      { get: { row: 'r' }, cells: afterRowMutations },
      {
        check: { row: 'r', column: 'f:q1', notExists: true },
        action: rowMutations,
        success: false,
      },
      { get: { row: 'r' }, cells: afterRowMutations },
    ],
  },
  {
    number: 134,
    title: 'a list of checks, each on its own',
    source: 'TestFromClientSide5#testCheckAndMutateBatch',
    states: inMemory,
    steps: [
      { putList: ['r1', 'r2'].map((row) => ({ row, cells: { 'f:q': 'a' } })) },
      {
        run: async ({ calls, same }) => {
          const results = await calls.checkAndMutateList([
            { check: { row: 'r1', column: 'f:q', equals: 'a' }, action: putAction('b') },
            { check: { row: 'r2', column: 'f:q', equals: 'x' }, action: putAction('b') },
          ])
          same(
            results.map(({ success }) => success),
            [true, false],
            'by position',
          )
        },
      },
      { scan: {}, results: [['r1|f:q=b'], ['r2|f:q=a']] },
    ],
  },
  {
    number: 134,
    title: 'a check without condition is refused',
    source: 'TestFromClientSide5#testCheckAndMutateWithoutCondition',
    states: ['memtable'],
    steps: [
      {
        fails: {
          check: { row: 'r', column: 'f:q' } as Check,
          action: putAction('b'),
          success: true,
        },
        code: 'ERR_INVALID_ARGUMENT',
      },
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 136,
    title: 'a write under a check is not hidden by a clock that steps back',
    source: 'TestHRegion#testCheckAndMutateTimestampsAreMonotonic',
    states: everywhere,
    startTime: 1,
    steps: [
      putCell('q', 10, 'q1'),
      step({ equals: 'q1' }, putAction('q2'), true),
      { get: { row: 'r' }, cells: ['q@10=q2'] },
    ],
  },
  {
    number: 136,
    title: 'increment and append are newer than what they change',
    source: 'TestHRegion#testIncrement/AppendTimestampsAreMonotonic',
    states: everywhere,
    startTime: 1,
    steps: [
      putCell('c', 10, five),
      putCell('a', 10, 'x'),
      { increment: { row: 'r', columns: { 'f:c': 1 } }, cells: [`c@11=${six}`] },
      { append: { row: 'r', columns: { 'f:a': 'y' } }, cells: ['a@11=xy'] },
      { get: { row: 'r' }, cells: ['a@11=xy', `c@11=${six}`] },
    ],
  },
]
