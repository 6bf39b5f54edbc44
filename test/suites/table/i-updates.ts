/** I. Increment, append, row mutations, batch. */
import type { BatchOperation, Delete, Put } from '../../../src/api/index.js'
import {
  everywhere,
  putCell,
  type CaseContext,
  type TableCase,
  type State,
  type Step,
} from './case.js'

const flush: Step = { flush: true }
const noFamily = 'ERR_NO_SUCH_COLUMN_FAMILY'
const inMemory: readonly State[] = ['memtable', 'flushed', 'reopened']

function counter(value: number): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes.toString('latin1')
}

function hundred<T>(make: (row: string, good: boolean) => T): T[] {
  return Array.from({ length: 100 }, (_, index) => {
    return make(`row${String(index).padStart(2, '0')}`, index % 2 === 0)
  })
}

function alternatingFailures(): Record<number, string> {
  return Object.fromEntries(
    hundred((_, good) => good).flatMap((good, index) => (good ? [] : [[index, noFamily]])),
  )
}

const goodRows = hundred((row, good) => (good ? [row] : [])).flat()

function alternatingPuts(): Put[] {
  return hundred((row, good) => ({ row, cells: { [good ? 'f:q' : 'bad:q']: 'v' } }))
}

function alternatingDeletes(): Delete[] {
  return hundred((row, good) => ({ row, columns: [good ? 'f:q' : 'bad:q'] }))
}

const writers = 20
const rounds = 50

async function incrementTogether({ table, same }: CaseContext): Promise<void> {
  let broken = 0
  const writer = async (n: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const columns = { 'f:one': n, 'f:two': 2 * n, 'g:three': 3 * n }
      const result = await table.increment({ row: 'r', columns })
      const one = result.value('f:one')!.readBigInt64BE()
      const two = result.value('f:two')!.readBigInt64BE()
      const three = result.value('g:three')!.readBigInt64BE()
      if (two !== 2n * one || three !== 3n * one) broken++
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, n) => writer(n)))
  same(broken, 0, 'every result keeps the ratio 1:2:3')
  const total = BigInt((rounds * writers * (writers - 1)) / 2)
  const result = await table.get({ row: 'r' })
  same(
    ['f:one', 'f:two', 'g:three'].map((name) => result.value(name)!.readBigInt64BE()),
    [total, 2n * total, 3n * total],
    'totals',
  )
}

async function appendTogether({ table, same }: CaseContext): Promise<void> {
  let broken = 0
  const lengths = async (): Promise<number[]> => {
    const result = await table.get({ row: 'r' })
    return ['f:one', 'f:two', 'g:three'].map((name) => result.value(name)?.length ?? 0)
  }
  const writer = async (): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const columns = { 'f:one': 'a', 'f:two': 'b', 'g:three': 'c' }
      await table.append({ row: 'r', columns, returnResults: false })
      const [one, two, three] = await lengths()
      if (one !== two || two !== three) broken++
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  same(broken, 0, 'every read sees equal lengths')
  same(await lengths(), Array(3).fill(writers * rounds), 'lengths')
}

const increments: readonly TableCase[] = [
  {
    number: 137,
    title: 'an increment after a delete starts again',
    source: 'TestIncrementsFromClientSide#testIncrementWithDeletes',
    states: everywhere,
    steps: [
      { increment: { row: 'r', columns: { 'f:q': 5 } }, cells: [`q=${counter(5)}`] },
      flush,
      { delete: { row: 'r' } },
      { increment: { row: 'r', columns: { 'f:q': 5 } }, cells: [`q=${counter(5)}`] },
      { get: { row: 'r' }, cells: [`q=${counter(5)}`] },
    ],
  },
  {
    number: 139,
    title: 'columns in any order give results in cell order',
    source: 'TestIncrementsFromClientSide#testIncrementOutOfOrder',
    states: everywhere,
    steps: [1, 2].flatMap((count): Step[] => {
      const cells = ['A', 'B', 'C'].map((qualifier) => `${qualifier}=${counter(count)}`)
      return [
        { increment: { row: 'r', columns: { 'f:B': 1, 'f:A': 1, 'f:C': 1 } }, cells },
        { get: { row: 'r' }, cells },
      ]
    }),
  },
  {
    number: 140,
    title: 'a column named twice is incremented once',
    source: 'TestIncrementsFromClientSide#testIncrementOnSameColumn',
    states: everywhere,
    steps: [1, 2].flatMap((count): Step[] => [
      {
        increment: {
          row: 'r',
          columns: [
            { column: 'f:q', amount: 1 },
            { column: 'f:q', amount: 1 },
          ],
        },
      },
      { get: { row: 'r' }, cells: [`q=${counter(count)}`] },
    ]),
  },
  {
    number: 142,
    title: 'an explicit timestamp holds for the first increment only',
    source: 'TestIncrementsFromClientSide#testIncrementWithCustomTimestamp',
    states: everywhere,
    steps: [
      {
        increment: { row: 'r', columns: { 'f:q': 1 }, timestamp: 999 },
        cells: [`q@999=${counter(1)}`],
      },
      {
        increment: { row: 'r', columns: { 'f:q': 1 }, timestamp: 999 },
        cells: [`q=${counter(2)}`],
      },
      { get: { row: 'r' }, cells: [`q=${counter(2)}`] },
      {
        run: async ({ calls, same }) => {
          const { timestamp } = (await calls.get({ row: 'r' })).cell('f:q')!
          same(timestamp >= 1_000_000, true, 'the second timestamp is that of the clock')
        },
      },
    ],
  },
  {
    number: 143,
    title: 'returnResults false gives an empty result',
    source: '#testBatchIncrementsWithReturnResultFalse, #testBatchAppendWithReturnResultFalse',
    states: inMemory,
    steps: [
      { increment: { row: 'r', columns: { 'f:c': 1 }, returnResults: false }, cells: [] },
      { append: { row: 'r', columns: { 'f:a': 'x' }, returnResults: false }, cells: [] },
      {
        batch: [
          { increment: { row: 'r', columns: { 'f:c': 1 }, returnResults: false } },
          { append: { row: 'r', columns: { 'f:a': 'x' }, returnResults: false } },
          { increment: { row: 'r', columns: { 'f:c': 1 } } },
        ],
        outcomes: [[], [], [`c=${counter(3)}`]],
      },
      { get: { row: 'r' }, cells: ['a=xx', `c=${counter(3)}`] },
    ],
  },
  {
    number: 145,
    title: 'an unknown family leaves every column as it was',
    source: 'TestAtomicOperation',
    states: inMemory,
    steps: [
      { put: { row: 'r', cells: { 'f:a': 'x', 'f:c': Buffer.from(counter(1), 'latin1') } } },
      {
        fails: { append: { row: 'r', columns: { 'f:a': 'y', 'g:a': 'y' } } },
        code: noFamily,
      },
      {
        fails: { increment: { row: 'r', columns: { 'f:c': 1, 'g:c': 1 } } },
        code: noFamily,
      },
      { get: { row: 'r' }, cells: ['a=x', `c=${counter(1)}`] },
    ],
  },
  {
    number: 145,
    title: 'a value that is no counter leaves every column as it was',
    source: 'HRegion#reckonDeltas',
    states: inMemory,
    steps: [
      { put: { row: 'r', cells: { 'f:a': 'text' } } },
      {
        fails: { increment: { row: 'r', columns: { 'f:a': 1, 'f:b': 1 } } },
        code: 'ERR_NOT_A_COUNTER',
        message: /32 bits/,
      },
      {
        fails: { increment: { row: 'r', columns: { 'f:0': 1, 'f:a': 1 } } },
        code: 'ERR_NOT_A_COUNTER',
      },
      { get: { row: 'r' }, cells: ['a=text'] },
    ],
  },
]

const concurrency: readonly TableCase[] = [
  {
    number: 146,
    title: 'concurrent increments are atomic over families (20 writers, 50 rounds)',
    source: 'TestAtomicOperation#testIncrementMultiThreads',
    states: ['memtable'],
    families: { f: {}, g: {} },
    steps: [{ run: incrementTogether }],
  },
  {
    number: 146,
    title: 'concurrent appends are atomic over families (20 writers, 50 rounds)',
    source: 'TestAtomicOperation#testAppendMultiThreads',
    states: ['memtable'],
    families: { f: {}, g: {} },
    steps: [{ run: appendTogether }],
  },
]

const rowMutations: readonly TableCase[] = [
  {
    number: 148,
    title: 'row mutations apply all or nothing',
    source: 'TestFromClientSide5#testRowMutations',
    states: everywhere,
    steps: [
      { mutateRow: { row: 'r', mutations: [{ put: { cells: { 'f:a': 'one' } } }] }, cells: [] },
      { get: { row: 'r' }, cells: ['a=one'] },
      {
        mutateRow: {
          row: 'r',
          mutations: [{ put: { cells: { 'f:b': 'two' } } }, { delete: { columns: ['f:a'] } }],
        },
        cells: [],
      },
      { get: { row: 'r' }, cells: ['b=two'] },
      {
        mutateRow: {
          row: 'r',
          mutations: [
            { put: { cells: { 'f:a': 'one' } } },
            { delete: { columns: ['f:b'] } },
            { increment: { columns: { 'f:c': 5 } } },
            { append: { columns: { 'f:d': 'abc' } } },
          ],
        },
        cells: [`c=${counter(5)}`, 'd=abc'],
      },
      { get: { row: 'r' }, cells: ['a=one', `c=${counter(5)}`, 'd=abc'] },
      {
        fails: {
          mutateRow: {
            row: 'r',
            mutations: [
              { put: { cells: { 'f:a': 'changed' } } },
              { put: { cells: { 'bad:a': 'v' } } },
            ],
          },
        },
        code: noFamily,
      },
      { get: { row: 'r' }, cells: ['a=one', `c=${counter(5)}`, 'd=abc'] },
    ],
  },
  {
    number: 148,
    title: 'the result of row mutations exists',
    source: 'TestFromClientSide5#testRowMutations',
    states: ['memtable'],
    steps: [
      {
        run: async ({ calls, same }) => {
          const mutations = [{ put: { cells: { 'f:a': 'one' } } }]
          const { exists, isEmpty } = await calls.mutateRow({ row: 'r', mutations })
          same([exists, isEmpty], [true, true], 'exists and is empty')
          const [each] = await calls.batch([{ mutateRow: { row: 'r', mutations } }])
          same(each.ok && each.result.exists, true, 'in a batch too')
        },
      },
    ],
  },
  {
    number: 148,
    title: 'an operation for another row is refused',
    source: 'RowMutations#add',
    states: ['memtable'],
    steps: [
      {
        fails: {
          mutateRow: {
            row: 'r',
            mutations: [
              { put: { cells: { 'f:a': 'v' } } },
              { put: { row: 's', cells: { 'f:a': 'v' } } },
            ],
          },
        },
        code: 'ERR_WRONG_ROW',
      },
      {
        fails: {
          check: { row: 'r', column: 'f:a', notExists: true },
          action: { put: { row: 's', cells: { 'f:a': 'v' } } },
          success: true,
        },
        code: 'ERR_WRONG_ROW',
      },
      { scan: { raw: true }, results: [] },
    ],
  },
  {
    number: 148,
    title: 'put and delete of one column in one row mutation: the delete wins',
    source: 'HRegion#mutateRow',
    states: everywhere,
    steps: [
      {
        mutateRow: {
          row: 'r',
          mutations: [
            { delete: { columns: ['f:a'], timestamp: 7 } },
            { put: { cells: { 'f:a': 'v', 'f:b': 'v' }, timestamp: 7 } },
          ],
        },
      },
      { get: { row: 'r' }, cells: ['b=v'] },
    ],
  },
]

const lists: readonly TableCase[] = [
  {
    number: 149,
    title: 'a list with puts without cells is refused as a whole',
    source: 'TestFromClientSide4#testBatchOperationsWithErrors',
    states: ['memtable'],
    steps: [
      {
        fails: { putList: hundred((row) => ({ row, cells: {} })) },
        code: 'ERR_INVALID_ARGUMENT',
      },
      {
        fails: { putList: hundred((row, good) => ({ row, cells: good ? { 'f:q': 'v' } : {} })) },
        code: 'ERR_INVALID_ARGUMENT',
      },
      { scan: { raw: true }, results: [] },
    ],
  },
  {
    number: 149,
    title: 'in a list, operations on an unknown family fail and the others apply',
    source: 'TestFromClientSide4#testBatchOperationsWithErrors',
    states: inMemory,
    steps: [
      { failsPartly: { putList: alternatingPuts() }, failures: alternatingFailures() },
      { scan: {}, rows: goodRows },
      {
        batch: hundred((row, good): BatchOperation => {
          return { get: { row, columns: [good ? 'f' : 'bad'] } }
        }),
        outcomes: hundred((row, good) => (good ? [`${row}|f:q=v`] : noFamily)),
      },
      { failsPartly: { deleteList: alternatingDeletes() }, failures: alternatingFailures() },
      { scan: {}, rows: [] },
    ],
  },
  {
    number: 149,
    title: 'a batch of mixed operations gives each its outcome',
    source: 'Table#batch',
    states: inMemory,
    steps: [
      putCell('q', undefined, 'old'),
      {
        batch: [
          { get: { row: 'r' } },
          { put: { row: 'r', cells: { 'f:q': 'new' } } },
          { put: { row: 'r', cells: { 'bad:q': 'v' } } },
          { get: { row: 'r' } },
          { delete: { row: 'r', columns: ['f:q'] } },
          { append: { row: 'r', columns: { 'f:q': 'x' } } },
          { mutateRow: { row: 'r', mutations: [{ increment: { columns: { 'f:c': 2 } } }] } },
        ],
        outcomes: [['q=old'], [], noFamily, ['q=new'], [], ['q=x'], [`c=${counter(2)}`]],
      },
      { get: { row: 'r' }, cells: [`c=${counter(2)}`, 'q=x'] },
    ],
  },
]

/** Cases about updates, lists and batches. */
export const updateCases: readonly TableCase[] = [
  ...increments,
  ...concurrency,
  ...rowMutations,
  ...lists,
]
