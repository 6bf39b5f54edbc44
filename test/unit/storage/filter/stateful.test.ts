/**
 * Filters that count, or judge rows as a whole, on random tables against naive evaluation.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { KeyOnlyFilter } from '../../../../src/storage/filter/cell-filters.js'
import {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
} from '../../../../src/storage/filter/column-count-filters.js'
import { DependentColumnFilter } from '../../../../src/storage/filter/dependent-column-filter.js'
import type { Filter } from '../../../../src/storage/filter/filter.js'
import { FilterList } from '../../../../src/storage/filter/filter-list.js'
import { PageFilter, RandomRowFilter } from '../../../../src/storage/filter/row-filters.js'
import {
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
} from '../../../../src/storage/filter/single-column-filters.js'
import { SkipFilter, WhileMatchFilter } from '../../../../src/storage/filter/wrapping-filters.js'
import {
  bytes,
  Choice,
  families,
  qualifiers,
  randomCondition,
  randomPureFilter,
  values,
  type NaiveCell,
} from './naive.js'
import { makeTable, newest, rowsOf, scanTable, show, tableStates } from './random-table.js'
import type { TableState } from './random-table.js'
import { lengthOf } from '../../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_260_102)

type Rows = readonly (readonly NaiveCell[])[]

interface StatefulFilter {
  readonly text: string
  readonly make: () => Filter
  readonly apply: (rows: Rows, reversed: boolean) => Rows
}

type MakeStateful = (choice: Choice) => StatefulFilter

function singleColumn(choice: Choice): StatefulFilter {
  const family = choice.of(families)
  const qualifier = choice.of(qualifiers)
  const condition = randomCondition(choice, values)
  const filterIfMissing = choice.flag()
  const latestVersionOnly = choice.flag()
  const exclude = choice.flag()
  const { operator, comparator: value } = condition
  const column = { family, qualifier: bytes(qualifier) }
  const options = { column, operator, value, filterIfMissing, latestVersionOnly }
  const inColumn = (cell: NaiveCell): boolean => {
    return cell.family === family && cell.qualifier === qualifier
  }
  return {
    text: `SingleColumnValue ${family}:${qualifier} ${condition.text} ${exclude}`,
    make: () => {
      return exclude
        ? new SingleColumnValueExcludeFilter(options)
        : new SingleColumnValueFilter(options)
    },
    apply: (rows) => {
      const kept = rows.filter((row) => {
        const tested = row.filter(inColumn)
        if (tested.length === 0) return !filterIfMissing
        const judged = latestVersionOnly ? tested.slice(0, 1) : tested
        return judged.some((cell) => condition.holds(cell.value))
      })
      return exclude ? kept.map((row) => row.filter((cell) => !inColumn(cell))) : kept
    },
  }
}

function dependentColumn(choice: Choice): StatefulFilter {
  const family = choice.of(families)
  const qualifier = choice.of(qualifiers)
  const condition = choice.flag() ? randomCondition(choice, values) : undefined
  const drop = choice.flag()
  const inColumn = (cell: NaiveCell): boolean => {
    return cell.family === family && cell.qualifier === qualifier
  }
  const counts = (cell: NaiveCell): boolean => {
    return inColumn(cell) && (condition?.holds(cell.value) ?? true)
  }
  return {
    text: `DependentColumn ${family}:${qualifier} ${condition?.text} ${drop}`,
    make: () => {
      return new DependentColumnFilter({
        column: { family, qualifier: bytes(qualifier) },
        dropDependentColumn: drop,
        operator: condition?.operator,
        value: condition?.comparator,
      })
    },
    apply: (rows) => {
      return rows.map((row) => {
        const stamps = new Set(row.filter(counts).map(({ timestamp }) => timestamp))
        return row.filter((cell) => {
          if (inColumn(cell) && (drop || !counts(cell))) return false
          return stamps.has(cell.timestamp)
        })
      })
    },
  }
}

function pagination(choice: Choice): StatefulFilter {
  const limit = choice.below(4)
  if (choice.flag()) {
    const offset = choice.below(4)
    return {
      text: `ColumnPagination ${limit} ${offset}`,
      make: () => new ColumnPaginationFilter(limit, offset),
      apply: (rows) => rows.map((row) => newest(row, 1).slice(offset, offset + limit)),
    }
  }
  const from = choice.of(qualifiers)
  return {
    text: `ColumnPagination ${limit} ${JSON.stringify(from)}`,
    make: () => new ColumnPaginationFilter(limit, bytes(from)),
    apply: (rows) => {
      return rows.map((row) => {
        const columns = newest(row, 1)
        const start = columns.findIndex(({ qualifier }) => qualifier >= from)
        return start < 0 ? [] : columns.slice(start, start + limit)
      })
    },
  }
}

function columnCount(choice: Choice): StatefulFilter {
  const limit = choice.below(6)
  return {
    text: `ColumnCountGet ${limit}`,
    make: () => new ColumnCountGetFilter(limit),
    apply: (rows) => {
      const end = rows.findIndex((row) => newest(row, 1).length > limit)
      const seen = end < 0 ? rows : rows.slice(0, end + 1)
      return seen.map((row) => newest(row, 1).slice(0, limit))
    },
  }
}

function firstMatching(choice: Choice): StatefulFilter {
  const wanted = [choice.of(qualifiers), choice.of(qualifiers)]
  return {
    text: `FirstKeyValueMatchingQualifiers ${JSON.stringify(wanted)}`,
    make: () => new FirstKeyValueMatchingQualifiersFilter(wanted.map(bytes)),
    apply: (rows) => {
      return rows.map((row) => {
        const end = row.findIndex(({ qualifier }) => wanted.includes(qualifier))
        return end < 0 ? row : row.slice(0, end + 1)
      })
    },
  }
}

function wrapping(choice: Choice): StatefulFilter {
  const inner = randomPureFilter(choice, 2)
  if (choice.flag()) {
    return {
      text: `Skip ${inner.text}`,
      make: () => new SkipFilter(inner.make()),
      apply: (rows, reversed) => {
        return rows.filter((row) => row.every((cell) => inner.keeps(cell, reversed)))
      },
    }
  }
  return {
    text: `WhileMatch ${inner.text}`,
    make: () => new WhileMatchFilter(inner.make()),
    apply: (rows, reversed) => {
      const cells = rows.flat()
      const end = cells.findIndex((cell) => !inner.keeps(cell, reversed))
      const kept = end < 0 ? cells : cells.slice(0, end)
      return rows.map((row) => row.filter((cell) => kept.includes(cell)))
    },
  }
}

/** A page of the rows that another filter lets through: the page stands last. */
function pageOfFiltered(choice: Choice): StatefulFilter {
  const inner = randomPureFilter(choice, 2)
  const limit = choice.below(5)
  return {
    text: `MUST_PASS_ALL(${inner.text}, Page ${limit})`,
    make: () => new FilterList('MUST_PASS_ALL', [inner.make(), new PageFilter(limit)]),
    apply: (rows, reversed) => {
      return rows
        .map((row) => row.filter((cell) => inner.keeps(cell, reversed)))
        .filter((row) => row.length > 0)
        .slice(0, limit)
    },
  }
}

/**
 * Two members that jump, one of them stateful, joined by "or": each must see only what it would see
 * alone.
 */
function eitherJumps(choice: Choice): StatefulFilter {
  const inner = randomPureFilter(choice, 1)
  const count = choice.flag() ? pagination(choice) : firstMatching(choice)
  const order = choice.flag()
  return {
    text: `MUST_PASS_ONE(${inner.text}, ${count.text})`,
    make: () => {
      const members = [inner.make(), count.make()]
      return new FilterList('MUST_PASS_ONE', order ? members : members.reverse())
    },
    apply: (rows, reversed) => {
      const counted = count.apply(rows, reversed)
      return rows.map((row, index) => {
        return row.filter((cell) => counted[index].includes(cell) || inner.keeps(cell, reversed))
      })
    },
  }
}

const kinds: Readonly<Record<string, MakeStateful>> = {
  singleColumn,
  dependentColumn,
  pagination,
  columnCount,
  firstMatching,
  wrapping,
  pageOfFiltered,
  eitherJumps,
  page: (choice) => {
    const limit = choice.below(6)
    const apply = (rows: Rows): Rows => rows.slice(0, limit)
    return { text: `Page ${limit}`, make: () => new PageFilter(limit), apply }
  },
  firstKey: () => {
    const apply = (rows: Rows): Rows => rows.map((row) => row.slice(0, 1))
    return { text: 'FirstKeyOnly', make: () => new FirstKeyOnlyFilter(), apply }
  },
  keyOnly: () => {
    const apply = (rows: Rows): Rows => {
      return rows.map((row) => {
        return row.map((cell) => ({
          ...cell,
          value: `\0\0\0${String.fromCharCode(cell.value.length)}`,
        }))
      })
    }
    return { text: 'KeyOnly', make: () => new KeyOnlyFilter({ lengthAsValue: true }), apply }
  },
  randomRow: (choice) => {
    const chance = choice.of([-0.5, 1.5])
    const apply = (rows: Rows): Rows => (chance > 1 ? rows : [])
    return { text: `RandomRow ${chance}`, make: () => new RandomRowFilter(chance), apply }
  },
}

/** Kinds that rely on not seeing the rest of a column that they want to leave. */
const leavesColumns: ReadonlySet<string> = new Set(['pagination', 'columnCount', 'eitherJumps'])

const rounds = lengthOf('CELLAR_FILTER_ROUNDS', 2, 8)

async function compareKinds(
  t: Test,
  choice: Choice,
  state: TableState,
  names: readonly string[],
  withEmptyQualifier: boolean,
): Promise<void> {
  const table = await makeTable(choice, state, withEmptyQualifier)
  for (const name of names) {
    for (let each = 0; each < 6; each++) {
      const filter = kinds[name](choice)
      for (const reversed of [false, true]) {
        const rows = rowsOf(table.cells, reversed)
        const expected = show(filter.apply(rows, reversed))
        const found = await scanTable(table, filter.make(), { versions: 'all', reversed })
        const what = `${name}, reversed ${reversed}: ${filter.text}`
        if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, what)
      }
    }
  }
  await table.test.close()
  t.pass('all kinds')
}

for (const state of tableStates) {
  void t.test(`counting filters match naive evaluation [${state}, seed ${seed}]`, async (t) => {
    const choice = new Choice(seededRandom(seed + tableStates.indexOf(state)))
    const names = Object.keys(kinds)
    for (let round = 0; round < rounds; round++) {
      await compareKinds(t, choice, state, names, false)
      const rest = names.filter((name) => !leavesColumns.has(name))
      await compareKinds(t, choice, state, rest, true)
    }
  })
}

void t.test(`the empty column counts once [seed ${seed}]`, async (t) => {
  const choice = new Choice(seededRandom(seed))
  for (let round = 0; round < rounds; round++) {
    await compareKinds(t, choice, 'flushed', [...leavesColumns], true)
  }
})

void t.test('a filter object can be used for one scan after the other', async (t) => {
  const choice = new Choice(seededRandom(seed))
  const table = await makeTable(choice, 'flushed')
  const filters: Filter[] = [
    new PageFilter(2),
    new ColumnCountGetFilter(2),
    new WhileMatchFilter(new PageFilter(1)),
    new FilterList('MUST_PASS_ONE', [new PageFilter(1), new ColumnCountGetFilter(1)]),
  ]
  for (const filter of filters) {
    const first = await scanTable(table, filter, {})
    t.ok(first.length > 0, 'rows are found')
    t.same(await scanTable(table, filter, {}), first)
  }
  await table.test.close()
})
