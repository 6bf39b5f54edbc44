/**
 * Random operations on one small table: few rows, qualifiers and timestamps, so that cells, markers
 * and time ranges collide all the time.
 */
import fc from 'fast-check'
import type { Timestamp } from '../../src/storage/cell/timestamp.js'
import type {
  Append,
  Check,
  CheckAction,
  CompareOperator,
  Delete,
  FamilyOptions,
  Get,
  Increment,
  MultiRowMutations,
  Mutation,
  Put,
  PutCell,
  RowMutations,
  Scan,
} from '../../src/api/index.js'
import { filterTrees, type FilterTree } from './filter-trees.js'

/** Where a read looks, besides its options. */
interface ReadFrom {
  /** Which open snapshot to read, modulo their number; undefined = the newest state. */
  readonly view: number | undefined
  readonly tree?: FilterTree | undefined
}

/** The tables of a run, with the same families. All operations but atomic batches use the first. */
export const tableNames = ['table', 'other'] as const
export type TableName = (typeof tableNames)[number]

export type Operation =
  | { readonly kind: 'put'; readonly put: Put }
  | { readonly kind: 'delete'; readonly delete: Delete }
  | { readonly kind: 'increment'; readonly increment: Increment }
  | { readonly kind: 'append'; readonly append: Append }
  | { readonly kind: 'mutateRow'; readonly mutateRow: RowMutations }
  | { readonly kind: 'mutateRows'; readonly mutateRows: MultiRowMutations }
  | { readonly kind: 'check'; readonly check: Check; readonly action: CheckAction }
  /** Checks and mutations name one of the two tables. */
  | {
      readonly kind: 'atomic'
      readonly checks: readonly (Check & { readonly table: TableName })[]
      readonly mutations: readonly (MultiRowMutations['rows'][number] & {
        readonly table: TableName
      })[]
    }
  | ({ readonly kind: 'get'; readonly get: Get } & ReadFrom)
  | ({ readonly kind: 'scan'; readonly scan: Scan } & ReadFrom)
  | { readonly kind: 'openSnapshot' }
  | { readonly kind: 'closeSnapshot'; readonly view: number }
  | { readonly kind: 'flush' }
  /** A major compaction. */
  | { readonly kind: 'compact' }
  /** What the families' policies find worth merging. */
  | { readonly kind: 'merge' }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'clock'; readonly milliseconds: number }

/** Merges two files of similar size at a time, so that others are left alone. */
const pairs = { policy: 'tiered', widthMin: 2, sizeTolerance: 0, spaceRatioMax: 100 } as const

/** Family configurations; each run takes some of them. */
export const familyOptions: Readonly<Record<string, FamilyOptions>> = {
  apart: { compaction: pairs, versions: 3, mob: true, mobThreshold: 1 },
  counted: { compaction: pairs, versions: 10, bloomFilter: 'ROWCOL', compression: 'NONE' },
  expiring: { compaction: pairs, versions: 3, ttlMilliseconds: 10_000 },
  kept: { compaction: pairs, versions: 3, keepDeletedCells: true },
  keptUntil: {
    compaction: pairs,
    versions: 2,
    minVersions: 1,
    ttlMilliseconds: 10,
    keepDeletedCells: 'TTL',
  },
  least: { versions: 4, minVersions: 2, ttlMilliseconds: 10_000 },
  one: {},
  ordered: { compaction: pairs, versions: 2, newVersionBehavior: true, bloomFilter: 'ROWCOL' },
  orderedLeast: {
    versions: 3,
    minVersions: 1,
    ttlMilliseconds: 10_000,
    newVersionBehavior: true,
    bloomFilter: 'ROWPREFIX_FIXED_LENGTH',
    rowPrefixBytes: 2,
    compression: 'GZ',
    inMemory: true,
  },
  three: { compaction: pairs, versions: 3, blockBytes: 1024, bloomFilter: 'NONE' },
}

/** Time at which runs start. */
export const startTime = 1_000_000

const row = fc.constantFrom('a', 'a\0', 'ab', 'b', '\u{10ffff}')
const bound = fc.constantFrom('a', 'a\0', 'aa', 'ab', 'b', 'c', '\u{10ffff}')
const qualifier = fc.constantFrom('', 'p', 'p\0', 'q')
const counter = '\0\0\0\0\0\0\0\x07'
const value = fc.constantFrom('', 'v', 'w', 'value', counter)
const rangeEnd = fc.constantFrom(0, 1, 2, 5, 6, 7, 999_990, 1_000_000, 1_000_002, 1_000_011)

const timestamp: fc.Arbitrary<Timestamp> = fc.constantFrom<Timestamp[]>(
  1,
  2,
  5,
  6,
  989_999,
  990_000,
  999_995,
  1_000_000,
  1_000_001,
  1_000_002,
  1_000_005,
  1_020_000,
  2n ** 53n + 1n,
)
const maybeTimestamp = fc.option(timestamp, { nil: undefined })

const timeRange = fc
  .tuple(rangeEnd, fc.oneof(rangeEnd, fc.constant(2n ** 63n - 1n)))
  .map(([a, b]): [Timestamp, Timestamp] => (a <= b ? [a, b] : [Number(b), a]))

function sometimes<T>(arbitrary: fc.Arbitrary<T>, freq = 3): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq })
}

/** Leaves out members that are undefined, to keep counterexamples short. */
function compact<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, each]) => each !== undefined)) as T
}

function listOf<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(arbitrary, { minLength: 1, maxLength: 3 })
}

/** Everything that writes; rows are filled in by the caller. */
function writes(family: fc.Arbitrary<string>) {
  const column = fc.record({ family, qualifier })
  const columnAt = fc
    .record({ family, qualifier, timestamp: maybeTimestamp })
    .map((target) => compact(target))
  const cell: fc.Arbitrary<PutCell> = fc
    .record({
      column,
      value,
      timestamp: maybeTimestamp,
      ttlMilliseconds: sometimes(fc.constantFrom(1000), 8),
    })
    .map((each) => compact(each))
  const rawMarker: fc.Arbitrary<PutCell> = fc
    .record({
      column,
      timestamp,
      type: fc.constantFrom('Delete' as const, 'DeleteColumn' as const),
    })
    .map((each) => each)
  const put = fc
    .record({
      cells: listOf(fc.oneof({ arbitrary: cell, weight: 15 }, { arbitrary: rawMarker, weight: 1 })),
      timestamp: sometimes(timestamp),
      ttlMilliseconds: sometimes(fc.constantFrom(1, 1000, 9_999), 8),
    })
    .map((each) => {
      const hasMarker = each.cells.some((part) => part.type !== undefined)
      return compact(hasMarker ? { ...each, ttlMilliseconds: undefined } : each)
    })
  const wholeRow = fc.record({ timestamp: maybeTimestamp }).map((each) => compact(each))
  const parts = fc
    .record({
      timestamp: sometimes(timestamp),
      families: sometimes(
        listOf(fc.record({ family, timestamp: maybeTimestamp }).map((each) => compact(each))),
      ),
      familyVersions: sometimes(listOf(fc.record({ family, timestamp }))),
      columns: sometimes(listOf(columnAt), 1),
      columnVersions: sometimes(listOf(columnAt), 1),
    })
    .map((each) => compact(each))
  const deletion = fc.oneof({ arbitrary: wholeRow, weight: 1 }, { arbitrary: parts, weight: 4 })
  const uniqueColumns = fc.uniqueArray(column, {
    minLength: 1,
    maxLength: 2,
    selector: (each) => `${each.family}:${each.qualifier}`,
  })
  const updateOptions = {
    timestamp: sometimes(fc.constantFrom(5, 1_000_001)),
    timeRange: sometimes(timeRange, 6),
    ttlMilliseconds: sometimes(fc.constantFrom(1000), 8),
    returnResults: sometimes(fc.constant(false), 8),
  }
  const increment = fc
    .record({
      columns: uniqueColumns.chain((columns) => {
        return fc.constantFrom(1, -2, 2n ** 63n - 1n).map((amount) => {
          return columns.map((each) => ({ column: each, amount }))
        })
      }),
      ...updateOptions,
    })
    .map((each) => compact(each))
  const append = fc
    .record({
      columns: uniqueColumns.map((columns) => {
        return columns.map((each) => ({ column: each, value: '+' }))
      }),
      ...updateOptions,
    })
    .map((each) => compact(each))
  return { column, put, deletion, increment, append }
}

const operators: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
]

function readOptions(families: readonly string[], raw: boolean) {
  const someFamilies = fc.subarray([...families], { minLength: 1 })
  const columns = fc
    .array(fc.record({ family: fc.constantFrom(...families), qualifier }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((list) => list as (string | { family: string; qualifier: string })[])
  return fc.record({
    columns: sometimes(raw ? someFamilies : fc.oneof(someFamilies, columns), 1),
    versions: sometimes(fc.constantFrom(1, 2, 5, 'all' as const, 'all' as const), 4),
    time: fc.oneof(
      { arbitrary: fc.constant({}), weight: 3 },
      { arbitrary: timeRange.map((range) => ({ timeRange: range })), weight: 2 },
      { arbitrary: timestamp.map((each) => ({ timestamp: each })), weight: 1 },
    ),
    familyTimeRanges: sometimes(
      fc.record({ family: fc.constantFrom(...families), range: timeRange }),
      8,
    ),
    cellsPerFamilyMax: sometimes(fc.constantFrom(1, 2, 3), 6),
    cellsPerFamilyOffset: sometimes(fc.constantFrom(0, 1, 2), 6),
  })
}

type ReadParts = ReturnType<typeof readOptions> extends fc.Arbitrary<infer T> ? T : never

function flatten({ time, familyTimeRanges, ...rest }: ReadParts): object {
  const ranges =
    familyTimeRanges === undefined
      ? undefined
      : { [familyTimeRanges.family]: familyTimeRanges.range }
  return compact({ ...rest, ...time, familyTimeRanges: ranges })
}

function reads(families: readonly string[]): fc.Arbitrary<Operation> {
  const view = sometimes(fc.nat(3), 2)
  const family = fc.constantFrom(...families)
  const tree = sometimes(filterTrees({ row, family, qualifier, value }), 2)
  const get = fc
    .record({ row, options: readOptions(families, false), view, tree })
    .map(({ row: ofRow, options, ...from }): Operation => {
      return { kind: 'get', get: { row: ofRow, ...flatten(options) }, ...from }
    })
  const bounds = fc.oneof(
    fc.record({
      startRow: sometimes(bound, 2),
      startInclusive: sometimes(fc.boolean()),
      stopRow: sometimes(bound, 2),
      stopInclusive: sometimes(fc.boolean()),
    }),
    fc.record({ prefix: fc.constantFrom('a', 'b', 'x', '\u{10ffff}') }),
  )
  const scan = fc.boolean().chain((raw) => {
    return fc
      .record({
        bounds,
        options: readOptions(families, raw),
        reversed: sometimes(fc.boolean(), 2),
        limit: sometimes(fc.constantFrom(1, 2, 3)),
        batch: sometimes(fc.constantFrom(1, 2, 3)),
        maxResultBytes: sometimes(fc.constantFrom(1, 60, 150), 6),
        allowPartialResults: sometimes(fc.constant(true), 2),
        view,
        tree: raw ? fc.constant(undefined) : tree,
      })
      .map((each): Operation => {
        const { bounds: range, options: read, reversed, limit, batch, maxResultBytes } = each
        const { allowPartialResults, view: from, tree: filter } = each
        const cut = { batch, maxResultBytes, allowPartialResults }
        const options = { ...range, ...flatten(read), reversed, limit, ...cut }
        // The kind of the bounds is lost when rows and prefixes go through one generator.
        const scan = compact(raw ? { ...options, raw } : options) as Scan
        return { kind: 'scan', scan, view: from, tree: filter }
      })
  })
  return fc.oneof(get, scan)
}

/**
 * Random operations on a table with the given families. `jobsOneIn`: how much rarer flushes,
 * compactions and reopenings are, which take most of the time; by default about one operation in
 * seven is one.
 */
export function operationsOn(families: readonly string[], jobsOneIn = 1): fc.Arbitrary<Operation> {
  const { column, put, deletion, increment, append } = writes(fc.constantFrom(...families))
  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    put.map((each) => ({ put: each })),
    deletion.map((each) => ({ delete: each })),
    increment.map((each) => ({ increment: each })),
    append.map((each) => ({ append: each })),
  )
  const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 })
  const plain = fc.array(
    fc.oneof(
      put.map((each) => ({ put: each })),
      deletion.map((each) => ({ delete: each })),
    ),
    { minLength: 1, maxLength: 2 },
  )
  const condition = fc.oneof(
    fc.record({ equals: fc.oneof(value, fc.constant(null)) }),
    fc.constant({ notExists: true as const }),
    fc.record({
      operator: fc.constantFrom(...operators),
      value: fc.oneof(value, fc.constant(null)),
    }),
  )
  const check = fc
    .record({ row, column, condition, timeRange: sometimes(timeRange, 4) })
    .map(({ condition: how, ...rest }) => compact({ ...rest, ...how }) as Check)
  const tableName = fc.constantFrom(...tableNames)
  const atomic = fc
    .record({
      checks: fc.array(
        fc
          .record({ table: tableName, check })
          .map((each) => ({ ...each.check, table: each.table })),
        { maxLength: 1 },
      ),
      mutations: fc.array(fc.record({ table: tableName, row, mutations: plain }), {
        minLength: 1,
        maxLength: 4,
      }),
    })
    .map((batch): Operation => ({ kind: 'atomic', ...batch }))
  const weighted: [number, fc.Arbitrary<Operation>][] = [
    [24, fc.record({ row, put }).map((o) => ({ kind: 'put', put: { row: o.row, ...o.put } }))],
    [
      10,
      fc
        .record({ row, deletion })
        .map((o) => ({ kind: 'delete', delete: { row: o.row, ...o.deletion } })),
    ],
    [
      4,
      fc
        .record({ row, increment })
        .map((o) => ({ kind: 'increment', increment: { row: o.row, ...o.increment } })),
    ],
    [
      3,
      fc
        .record({ row, append })
        .map((o) => ({ kind: 'append', append: { row: o.row, ...o.append } })),
    ],
    [3, fc.record({ row, mutations }).map((o) => ({ kind: 'mutateRow', mutateRow: o }))],
    [
      2,
      fc
        .uniqueArray(fc.record({ row, mutations: plain }), {
          minLength: 1,
          maxLength: 3,
          selector: (each) => each.row,
        })
        .map((rows) => ({ kind: 'mutateRows', mutateRows: { rows } })),
    ],
    [
      5,
      fc
        .record({ check, action: fc.oneof(mutation, fc.record({ mutations })) })
        .map((o) => ({ kind: 'check', ...o })),
    ],
    [5, atomic],
    [14, reads(families)],
    [2, fc.constant({ kind: 'openSnapshot' })],
    [2, fc.nat(3).map((view) => ({ kind: 'closeSnapshot', view }))],
    [
      3,
      fc
        .constantFrom(-20_000, -1_000, -1, 1, 1_000, 9_999, 10_000, 10_001)
        .map((milliseconds) => ({ kind: 'clock', milliseconds })),
    ],
  ]
  const jobs: [number, fc.Arbitrary<Operation>][] = [
    [8, fc.constant({ kind: 'flush' })],
    [1, fc.constant({ kind: 'compact' })],
    [3, fc.constant({ kind: 'merge' })],
    [2, fc.constant({ kind: 'reopen' })],
  ]
  const all = [...weighted.map(([weight, each]) => [weight * jobsOneIn, each] as const), ...jobs]
  return fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}
