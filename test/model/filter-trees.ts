/**
 * Random filters that judge cells one by one, in lists nested several deep: as text of the filter
 * language for the engine, and evaluated plainly for the model.
 */
import fc from 'fast-check'
import { parseFilter } from '../../src/storage/filter/parse/parse-filter.js'
import type { Filter } from '../../src/storage/filter/filter.js'
import { binary, type PlainCell } from '../helpers/cells/plain-cells.js'

const operators = ['<', '<=', '=', '!=', '>', '>='] as const

/** A condition on one part of a cell, or a list of filters. */
export type FilterTree =
  | {
      readonly part: 'row' | 'family' | 'qualifier' | 'value'
      readonly operator: (typeof operators)[number]
      readonly constant: string
    }
  | { readonly qualifierPrefix: string }
  | { readonly timestamps: readonly number[] }
  | { readonly list: 'AND' | 'OR'; readonly members: readonly FilterTree[] }

const names = {
  row: 'RowFilter',
  family: 'FamilyFilter',
  qualifier: 'QualifierFilter',
  value: 'ValueFilter',
} as const

/** Random filters over the parts that cells of the model have; lists up to `depth` deep. */
export function filterTrees(
  parts: Readonly<Record<keyof typeof names, fc.Arbitrary<string>>>,
  depth = 5,
): fc.Arbitrary<FilterTree> {
  const operator = fc.constantFrom(...operators)
  const condition = fc.constantFrom('row', 'family', 'qualifier', 'value').chain((part) => {
    return fc.record({ part: fc.constant(part), operator, constant: parts[part] })
  })
  const leaf: fc.Arbitrary<FilterTree> = fc.oneof(
    { arbitrary: condition, weight: 6 },
    { arbitrary: fc.record({ qualifierPrefix: parts.qualifier }), weight: 1 },
    {
      arbitrary: fc.record({
        timestamps: fc.array(fc.constantFrom(1, 2, 5, 1_000_000, 1_000_002), { maxLength: 3 }),
      }),
      weight: 1,
    },
  )
  if (depth === 0) return leaf
  const members = fc.array(filterTrees(parts, depth - 1), { minLength: 2, maxLength: 3 })
  const list = fc.record({ list: fc.constantFrom('AND', 'OR'), members })
  return fc.oneof({ arbitrary: leaf, weight: 2 }, { arbitrary: list, weight: 1 })
}

/** The filter that the engine gets. */
export function filterOf(tree: FilterTree): Filter {
  return parseFilter(Buffer.from(textOf(tree), 'latin1'))
}

function textOf(tree: FilterTree): string {
  if ('list' in tree) return `(${tree.members.map(textOf).join(` ${tree.list} `)})`
  if ('timestamps' in tree) return `TimestampsFilter(${tree.timestamps.join(', ')})`
  if ('qualifierPrefix' in tree) return `ColumnPrefixFilter('${quoted(tree.qualifierPrefix)}')`
  const { part, operator, constant } = tree
  return `${names[part]}(${operator}, 'binary:${quoted(constant)}')`
}

function quoted(text: string): string {
  return binary(text).replaceAll("'", "''")
}

/** Whether the filter lets a cell through. */
export function keepsCell(tree: FilterTree, cell: PlainCell): boolean {
  if ('list' in tree) {
    const { list, members } = tree
    if (list === 'AND') return members.every((member) => keepsCell(member, cell))
    return members.some((member) => keepsCell(member, cell))
  }
  if ('timestamps' in tree) return tree.timestamps.some((each) => BigInt(each) === cell.timestamp)
  if ('qualifierPrefix' in tree) return cell.qualifier.startsWith(binary(tree.qualifierPrefix))
  const stored = cell[tree.part]
  const constant = binary(tree.constant)
  switch (tree.operator) {
    case '<':
      return stored < constant
    case '<=':
      return stored <= constant
    case '=':
      return stored === constant
    case '!=':
      return stored !== constant
    case '>':
      return stored > constant
    case '>=':
      return stored >= constant
  }
}
