/** J. Coprocessors. */
import { ValueFilter } from '../../../src/filter/compare-filters.js'
import type { Observer } from '../../../src/index.js'
import { steered, type CaseContext, type HBaseCase, type Step } from './case.js'

const hookModule = new URL('./filtering-hook.js', import.meta.url).href

function register(drops: 'odd' | 'all', job: 'flush' | 'compaction'): Step {
  return {
    run: async ({ test }) => {
      const cellHook = { module: hookModule, options: { drops, job } }
      await test.database.registerCoprocessor({ name: `${drops} ${job}`, cellHook })
    },
  }
}

function observe(name: string, observer: Observer): Step {
  return {
    run: async ({ test }) => {
      await test.database.registerCoprocessor({ name, observer })
    },
  }
}

const rows = Array.from({ length: 10 }, (_, i) => `${i + 1}`.padStart(2, '0'))
const puts: readonly Step[] = rows.map((row) => ({ put: { row, cells: { 'f:q': row } } }))
const even = rows.filter((row) => Number(row) % 2 === 0)

async function calledBy({ test, same }: CaseContext): Promise<void> {
  const calls: string[] = []
  const observer = new Proxy<Observer>(
    {},
    { get: (_target, name) => (): void => void calls.push(String(name)) },
  )
  await test.database.registerCoprocessor({ name: 'recorder', observer })
  calls.length = 0
  await test.database.table('table').put({ row: 'r', cells: { 'f:q': 'v' } })
  const operations = calls.filter((name) => name !== 'jobContext')
  const batch = ['preBatchMutate', 'postBatchMutate', 'postBatchMutateIndispensably']
  same(operations, ['prePut', ...batch, 'postPut'], 'methods that a put calls')
}

const addsRows: Observer = {
  preBatchMutate: (_context, batch) => {
    const [mutation] = batch.mutations
    if ('put' in mutation && mutation.put.row === 'row1') {
      for (const row of ['row2', 'row3']) batch.add({ put: { row, cells: { 'f:q': 'added' } } })
    }
    if ('delete' in mutation && mutation.delete.row === 'missing') {
      for (const row of ['row1', 'row2']) batch.add({ delete: { row } })
    }
  },
}

export const coprocessorCases: readonly HBaseCase[] = [
  {
    number: 152,
    title: 'a put calls the hooks of puts and no others',
    source: 'TestRegionObserverInterface#testRegionObserver',
    states: steered,
    steps: [{ run: calledBy }],
  },
  {
    number: 154,
    title: 'a hook of compactions keeps even rows only',
    source: 'TestRegionObserverInterface#testCompactionOverride',
    states: steered,
    steps: [
      register('odd', 'compaction'),
      ...puts,
      { flush: true },
      { scan: {}, rows },
      { compact: 'major' },
      { scan: {}, rows: even },
    ],
  },
  {
    number: 155,
    title: 'a scanner opened with a filter that drops everything',
    source: 'TestRegionObserverScannerOpenHook',
    states: steered,
    steps: [
      ...puts,
      observe('closed', {
        preScannerOpen: (_context, scan) => {
          return { ...scan, filter: new ValueFilter('EQUAL', 'never') }
        },
      }),
      { scan: {}, rows: [] },
    ],
  },
  {
    number: 155,
    title: 'a flush whose hook drops everything',
    source: 'TestRegionObserverScannerOpenHook',
    states: steered,
    steps: [
      register('all', 'flush'),
      ...puts,
      { scan: {}, rows },
      { flush: true },
      { scan: {}, rows: [] },
    ],
  },
  {
    number: 155,
    title: 'a compaction whose hook drops everything, beside another observer',
    source: 'TestRegionObserverScannerOpenHook',
    states: steered,
    steps: [
      observe('idle', {}),
      register('all', 'compaction'),
      ...puts,
      { flush: true },
      { scan: {}, rows },
      { compact: 'major' },
      { scan: {}, rows: [] },
    ],
  },
  {
    number: 157,
    title: 'mutations of other rows that a hook adds to a batch',
    source: 'TestRegionObserverForAddingMutationsFromCoprocessors',
    states: steered,
    steps: [
      observe('adds', addsRows),
      { put: { row: 'row1', cells: { 'f:q': 'v' } } },
      { scan: {}, rows: ['row1', 'row2', 'row3'] },
      { delete: { row: 'missing' } },
      { scan: {}, rows: ['row3'] },
    ],
  },
]
