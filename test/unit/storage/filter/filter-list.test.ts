/** What lists answer, on cells made by hand: which jump is taken, and what members get to see. */
import t from 'tap'
import type { CellView } from '../../../../src/storage/cell/cell-view.js'
import { FilterCode, type CellHint, type Filter } from '../../../../src/storage/filter/filter.js'
import { FilterBase } from '../../../../src/storage/filter/filter-base.js'
import { FilterList, type FilterListOperator } from '../../../../src/storage/filter/filter-list.js'
import { KeyOnlyFilter } from '../../../../src/storage/filter/cell-filters.js'
import { makeCell } from './made-cells.js'

/** Answers the same every time and counts what it is shown. */
class Fixed extends FilterBase {
  code: FilterCode
  readonly hint: CellHint | undefined
  readonly seen: string[] = []
  over = false

  constructor(code: FilterCode, hint?: CellHint) {
    super()
    this.code = code
    this.hint = hint
  }

  override filterCell(cell: CellView): FilterCode {
    this.seen.push(`${cell.family}:${cell.copyQualifier().toString('latin1')}@${cell.timestamp}`)
    return this.code
  }

  override filterAllRemaining(): boolean {
    return this.over
  }

  nextCellHint(): CellHint | undefined {
    return this.hint
  }
}

function hintTo(row: string, qualifier?: string): Fixed {
  return new Fixed(FilterCode.seekUsingHint, {
    row: Buffer.from(row),
    qualifier: qualifier === undefined ? undefined : Buffer.from(qualifier),
  })
}

function answer(operator: FilterListOperator, members: Filter[]): [FilterCode, string?] {
  const list = new FilterList(operator, members)
  list.reset()
  const cell = makeCell('r', 'f', 'q')
  const code = list.filterCell(cell)
  if (code !== FilterCode.seekUsingHint) return [code]
  const hint = list.nextCellHint()
  return [code, hint && `${hint.row.toString()}/${hint.qualifier?.toString() ?? ''}`]
}

const codes = FilterCode
const seek = FilterCode.seekUsingHint

/**
 * The tables of HBase's FilterListWithAND and FilterListWithOR without hints: "and" of both orders,
 * because a member behind one that rejects the cell is not asked, then "or".
 */
const merged: readonly (readonly [
  first: FilterCode,
  second: FilterCode,
  and: FilterCode,
  andSwapped: FilterCode,
  or: FilterCode,
])[] = [
  [
    codes.include,
    codes.includeAndNextColumn,
    codes.includeAndNextColumn,
    codes.includeAndNextColumn,
    codes.include,
  ],
  [
    codes.include,
    codes.includeAndNextRow,
    codes.includeAndNextRow,
    codes.includeAndNextRow,
    codes.include,
  ],
  [codes.include, codes.skip, codes.skip, codes.skip, codes.include],
  [codes.include, codes.nextColumn, codes.nextColumn, codes.nextColumn, codes.include],
  [codes.include, codes.nextRow, codes.nextRow, codes.nextRow, codes.include],
  [codes.includeAndNextColumn, codes.skip, codes.nextColumn, codes.skip, codes.include],
  [
    codes.includeAndNextColumn,
    codes.nextColumn,
    codes.nextColumn,
    codes.nextColumn,
    codes.includeAndNextColumn,
  ],
  [
    codes.includeAndNextColumn,
    codes.nextRow,
    codes.nextRow,
    codes.nextRow,
    codes.includeAndNextColumn,
  ],
  [
    codes.includeAndNextColumn,
    codes.includeAndNextRow,
    codes.includeAndNextRow,
    codes.includeAndNextRow,
    codes.includeAndNextColumn,
  ],
  [codes.includeAndNextRow, codes.skip, codes.nextRow, codes.skip, codes.include],
  [
    codes.includeAndNextRow,
    codes.nextColumn,
    codes.nextRow,
    codes.nextColumn,
    codes.includeAndNextColumn,
  ],
  [codes.includeAndNextRow, codes.nextRow, codes.nextRow, codes.nextRow, codes.includeAndNextRow],
  [codes.skip, codes.nextColumn, codes.skip, codes.nextColumn, codes.skip],
  [codes.skip, codes.nextRow, codes.skip, codes.nextRow, codes.skip],
  [codes.nextColumn, codes.nextRow, codes.nextColumn, codes.nextRow, codes.nextColumn],
]

void t.test('"and" stops at the first that rejects, "or" goes least far', async (t) => {
  for (const [first, second, all, allSwapped, one] of merged) {
    for (const [a, b, and] of [
      [first, second, all],
      [second, first, allSwapped],
    ]) {
      const what = `${a} and ${b}`
      t.same(answer('MUST_PASS_ALL', [new Fixed(a), new Fixed(b)]), [and], `all: ${what}`)
      t.same(answer('MUST_PASS_ONE', [new Fixed(a), new Fixed(b)]), [one], `one: ${what}`)
    }
  }
})

void t.test('members of "and" behind one that rejects a cell do not see it', async (t) => {
  const rejecting = [codes.skip, codes.nextColumn, codes.nextRow].map((code) => new Fixed(code))
  for (const first of [...rejecting, hintTo('r', 'x')]) {
    const second = new Fixed(codes.include)
    answer('MUST_PASS_ALL', [first, second])
    t.same(second.seen, [], `after ${first.code}`)
  }
})

void t.test('hints take part by where they lead', async (t) => {
  const near = (): Fixed => hintTo('r', 'x')
  const far = (): Fixed => hintTo('r', 'z')
  const row = (): Fixed => hintTo('s')
  const back = (): Fixed => hintTo('r', 'a')
  const all = (...members: Filter[]): unknown => answer('MUST_PASS_ALL', members)
  const one = (...members: Filter[]): unknown => answer('MUST_PASS_ONE', members)
  t.same(all(near(), far()), [seek, 'r/x'], 'the second is not asked')
  t.same(all(row(), far(), near()), [seek, 's/'])
  t.same(all(new Fixed(codes.includeAndNextRow), near()), [seek, 'r/x'], 'before longer jumps')
  t.same(one(near(), far()), [seek, 'r/x'])
  t.same(one(row(), far()), [seek, 'r/z'])
  t.same(all(near(), new Fixed(codes.nextRow)), [seek, 'r/x'])
  t.same(all(new Fixed(codes.nextRow), near()), [codes.nextRow])
  t.same(all(row(), new Fixed(codes.nextRow)), [seek, 's/'])
  t.same(one(row(), new Fixed(codes.nextRow)), [codes.nextRow])
  t.same(one(near(), new Fixed(codes.nextRow)), [seek, 'r/x'])
  t.same(one(near(), new Fixed(codes.include)), [codes.include])
  t.same(one(near(), new Fixed(codes.includeAndNextRow)), [codes.includeAndNextColumn])
  t.same(all(near(), new Fixed(codes.include)), [seek, 'r/x'])
  t.same(all(back(), new Fixed(codes.include)), [codes.skip], 'a hint backwards is no jump')
  t.same(one(back(), new Fixed(codes.nextRow)), [codes.skip])
  const list = new FilterList('MUST_PASS_ONE', [
    far(),
    new FilterList('MUST_PASS_ALL', [near(), row()]),
  ])
  t.same(one(list, row()), [seek, 'r/x'], 'nested')
})

void t.test(
  'a member that asked to jump does not see what it would have passed over',
  async (t) => {
    const shown = (jumping: Fixed): string[] => {
      const list = new FilterList('MUST_PASS_ONE', [new Fixed(codes.skip), jumping])
      list.reset()
      for (const [family, qualifier, timestamp] of [
        ['f', 'a', 2],
        ['f', 'a', 1],
        ['f', 'b', 1],
        ['f', 'c', 1],
        ['g', 'a', 1],
      ] as const) {
        list.filterCell(makeCell('r', family, qualifier, timestamp))
      }
      return jumping.seen
    }
    t.same(shown(new Fixed(codes.skip)), ['f:a@2', 'f:a@1', 'f:b@1', 'f:c@1', 'g:a@1'])
    t.same(shown(new Fixed(codes.nextColumn)), ['f:a@2', 'f:b@1', 'f:c@1', 'g:a@1'])
    t.same(shown(new Fixed(codes.includeAndNextColumn)), ['f:a@2', 'f:b@1', 'f:c@1', 'g:a@1'])
    t.same(shown(new Fixed(codes.nextRow)), ['f:a@2', 'g:a@1'])
    t.same(shown(new Fixed(codes.includeAndNextRow)), ['f:a@2', 'g:a@1'])
    t.same(shown(hintTo('r', 'c')), ['f:a@2', 'f:c@1', 'g:a@1'])
    t.same(shown(hintTo('s')), ['f:a@2'])
  },
)

void t.test(
  'members of "or" that are done no longer count, of "and" they end the scan',
  async (t) => {
    const done = new Fixed(codes.include)
    done.over = true
    t.same(answer('MUST_PASS_ONE', [done, new Fixed(codes.skip)]), [codes.skip])
    t.same(answer('MUST_PASS_ALL', [done, new Fixed(codes.include)]), [codes.nextRow])
    t.equal(new FilterList('MUST_PASS_ALL', [done, new Fixed(1)]).filterAllRemaining(), true)
    t.equal(new FilterList('MUST_PASS_ONE', [done, new Fixed(1)]).filterAllRemaining(), false)
    t.equal(new FilterList('MUST_PASS_ONE', [done, done]).filterAllRemaining(), true)
    t.same(answer('MUST_PASS_ONE', [done, done]), [codes.skip])
  },
)

void t.test('an empty list lets everything through', async (t) => {
  for (const operator of ['MUST_PASS_ALL', 'MUST_PASS_ONE'] as const) {
    const list = new FilterList(operator, [])
    t.same(answer(operator, []), [codes.include])
    t.equal(list.filterAllRemaining(), false)
    t.equal(list.filterRowKey(Buffer.from('r')), false)
    t.equal(list.filterRow(), false)
    t.equal(list.hasFilterRow, false)
  }
})

void t.test('only members that included a cell may replace its value', async (t) => {
  const list = new FilterList('MUST_PASS_ONE', [new KeyOnlyFilter(), new Fixed(codes.skip)])
  list.reset()
  const cell = makeCell('r', 'f', 'q')
  list.filterCell(cell)
  t.equal(list.transformCell(cell)?.length, 0)
  const other = new FilterList('MUST_PASS_ONE', [
    new FilterList('MUST_PASS_ALL', [new KeyOnlyFilter(), new Fixed(codes.skip)]),
    new Fixed(codes.include),
  ])
  other.reset()
  other.filterCell(cell)
  t.equal(other.transformCell(cell), undefined)
})

void t.test('a member that gives hints is asked behind one that rejects, others are not', (t) => {
  const rejecting = new Fixed(FilterCode.skip)
  const hinting = Object.assign(hintTo('s', 'q'), { givesHints: true })
  const silent = hintTo('t', 'q')
  t.same(answer('MUST_PASS_ALL', [rejecting, hinting]), [seek, 's/q'])
  t.same(answer('MUST_PASS_ALL', [rejecting, silent]), [FilterCode.skip])
  const near = Object.assign(hintTo('r', 'z'), { givesHints: true })
  t.same(answer('MUST_PASS_ALL', [near, rejecting, hinting]), [seek, 's/q'], 'the farthest counts')
  t.same(answer('MUST_PASS_ALL', [hinting, rejecting, near]), [seek, 's/q'])
  t.end()
})
