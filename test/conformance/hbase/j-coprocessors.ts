/** J. Coprocessors. */
import { RowFilter, ValueFilter } from '../../../src/entries/index.js'
import type { Delete, Observer } from '../../../src/entries/index.js'
import { embedded } from './embedded-space.js'
import { steered, type CaseContext, type TableCase, type Step } from '../../suites/table/case.js'

const hookModule = new URL('./filtering-hook.js', import.meta.url).href

function register(drops: 'odd' | 'all', job: 'flush' | 'compaction'): Step {
  return {
    run: async (context) => {
      const test = embedded(context)
      const cellHook = { module: hookModule, options: { drops, job } }
      await test.database.registerCoprocessor({ name: `${drops} ${job}`, cellHook })
    },
  }
}

function observe(name: string, observer: Observer): Step {
  return {
    run: async (context) => {
      const test = embedded(context)
      await test.database.registerCoprocessor({ name, observer })
    },
  }
}

const rows = Array.from({ length: 10 }, (_, i) => `${i + 1}`.padStart(2, '0'))
const puts: readonly Step[] = rows.map((row) => ({ put: { row, cells: { 'f:q': row } } }))
const even = rows.filter((row) => Number(row) % 2 === 0)

async function calledBy(context: CaseContext): Promise<void> {
  const { same } = context
  const test = embedded(context)
  const calls: string[] = []
  const observer = new Proxy<Observer>(
    {},
    { get: (_target, name) => (): void => void calls.push(String(name)) },
  )
  await test.database.registerCoprocessor({ name: 'recorder', observer })
  same(calls, ['preOpen', 'postOpen'], 'methods that an opening calls')
  const operations = async (run: () => Promise<unknown>): Promise<string[]> => {
    calls.length = 0
    await run()
    // HBase has no preWrite.
    return calls.filter((name) => name !== 'jobContext' && name !== 'preWrite')
  }
  const table = test.database.table('table')
  const batch = ['preBatchMutate', 'postBatchMutate', 'postBatchMutateIndispensably']
  const put = await operations(() => table.put({ row: 'r', cells: { 'f:q': 'v' } }))
  same(put, ['prePut', ...batch, 'postPut'], 'methods that a put calls')
  const prepare = 'prePrepareTimeStampForDeleteVersion'
  const version = await operations(() => table.delete({ row: 'r', columnVersions: ['f:q'] }))
  const [pre, ...rest] = batch
  same(version, ['preDelete', pre, prepare, ...rest, 'postDelete'], 'those of a version delete')
  const whole = await operations(() => table.delete({ row: 'r' }))
  same(whole, ['preDelete', ...batch, 'postDelete'], 'those of a row delete')
  const dropped = await operations(() => test.database.dropTable('table'))
  same(dropped, ['preClose', 'postClose'], 'those of a drop')
}

async function filteredRows(context: CaseContext): Promise<void> {
  const { same } = context
  const test = embedded(context)
  const table = test.database.table('table')
  for (const row of ['a', 'b', 'c']) table.putSync({ row, cells: { 'f:q': 'v' } })
  const seen: string[] = []
  let stopAt = 'none'
  const observer: Observer = {
    postScannerFilterRow: (_context, _scan, row) => {
      seen.push(row.toString())
      return row.toString() !== stopAt
    },
  }
  await test.database.registerCoprocessor({ name: 'filtered', observer })
  for (const filter of [new ValueFilter('EQUAL', 'never'), new RowFilter('EQUAL', 'never')]) {
    for (const reversed of [false, true]) {
      seen.length = 0
      const results = [...table.scanSync({ filter, reversed })]
      const rows = reversed ? ['c', 'b', 'a'] : ['a', 'b', 'c']
      same([results.length, seen], [0, rows], 'every row is told of')
    }
  }
  seen.length = 0
  stopAt = 'b'
  const filter = new RowFilter('NOT_EQUAL', 'b')
  const results = await table.scan({ filter }).nextBatch(9)
  const found = results.map(({ row }) => row?.toString())
  same([found, seen], [['a'], ['b']], 'and the hook may end the scan')
  seen.length = 0
  same([...table.scanSync()].length, 3, 'a scan that filters nothing')
  same(seen, [], 'tells of nothing')
}

/** A put of row1 also puts row2 and row3; a delete of a missing row also deletes row1 and row2. */
const addsRows: Observer = {
  preBatchMutate: (_context, batch) => {
    const [mutation] = batch.mutations
    if (mutation.put !== undefined && mutation.put.row === 'row1') {
      const { ttlMilliseconds } = mutation.put
      for (const row of ['row2', 'row3']) {
        batch.add({ put: { row, ttlMilliseconds, cells: { 'f:q': 'added' } } })
      }
    }
    if (mutation.delete !== undefined && mutation.delete.row === 'missing') {
      for (const row of ['row1', 'row2']) batch.add({ delete: { ...mutation.delete, row } })
    }
  },
}

/** Everything that shares the sequence of the put is one entry of the log. */
async function entryOfPut(context: CaseContext): Promise<void> {
  const { same } = context
  const test = embedded(context)
  const { database } = test
  const { lastSequence } = database.statistics()
  await database.table('table').put({ row: 'row1', cells: { 'f:p': 'v', 'f:q': 'v' } })
  for await (const { cells } of database.changes({ fromSequence: lastSequence + 1 })) {
    same(cells.length, 4, 'cells of the entry')
    break
  }
}

function addedDeletes(what: string, deletion: Omit<Delete, 'row'>): TableCase {
  return {
    number: 157,
    title: `mutations of other rows that a hook adds to a batch: deletes of ${what}`,
    source: 'TestRegionObserverForAddingMutationsFromCoprocessors',
    states: steered,
    steps: [
      observe('adds', addsRows),
      { put: { row: 'row1', cells: { 'f:q': 'v' } } },
      { scan: {}, rows: ['row1', 'row2', 'row3'] },
      { delete: { row: 'missing', ...deletion } },
      { scan: {}, rows: ['row3'] },
    ],
  }
}

export const coprocessorCases: readonly TableCase[] = [
  {
    number: 152,
    title: 'puts and deletes call their hooks and no others, also those of open and close',
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
    title: 'mutations of other rows that a hook adds to a batch share its entry in the log',
    source: 'TestRegionObserverForAddingMutationsFromCoprocessors',
    states: steered,
    steps: [
      observe('adds', addsRows),
      { run: entryOfPut },
      { scan: {}, rows: ['row1', 'row2', 'row3'] },
    ],
  },
  {
    number: 157,
    title: 'mutations of other rows that a hook adds to a batch with its TTL',
    source: 'TestRegionObserverForAddingMutationsFromCoprocessors',
    states: steered,
    steps: [
      observe('adds', addsRows),
      { put: { row: 'row1', cells: { 'f:q': 'v' }, ttlMilliseconds: 3000 } },
      { scan: {}, rows: ['row1', 'row2', 'row3'] },
      { advance: 3001 },
      { scan: {}, rows: [] },
    ],
  },
  addedDeletes('rows', {}),
  addedDeletes('a family', { families: ['f'] }),
  addedDeletes('a column', { columns: ['f:q'] }),
  {
    number: 158,
    title: 'an observer is told of the rows that a filter drops',
    source: 'TestRegionObserverInterface#testHBASE14489',
    states: steered,
    steps: [{ run: filteredRows }],
  },
]
