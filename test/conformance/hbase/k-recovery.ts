/** K. The log, recovery and bulk load; and what flushes count (151). */
import { BulkWriter } from '../../../src/entries/index.js'
import type { TestDatabase } from '../../helpers/test-database.js'
import { embedded } from './embedded-space.js'
import {
  putCell,
  steered,
  type CaseContext,
  type TableCase,
  type Step,
} from '../../suites/table/case.js'

const threeFamilies = { c0: {}, c1: {}, c2: {} }

function edits(from: number, count: number): Step[] {
  const steps: Step[] = []
  for (let i = from; i < from + count; i++) {
    for (const family of Object.keys(threeFamilies)) {
      steps.push(putCell(`q${i}`, undefined, `${i}`, 'r', family))
    }
  }
  return steps
}

async function fileCount(test: TestDatabase): Promise<number> {
  return test.database.statistics().tableFiles
}

async function flushes(context: CaseContext): Promise<void> {
  const { same } = context
  const test = embedded(context)
  const put = async (): Promise<void> => {
    await test.database.table('table').put({ row: 'r', cells: { 'f:q': 'v' } })
    await test.flush()
  }
  await test.flush()
  same(test.database.statistics().flushes, 0, 'an empty store is not flushed')
  await put()
  await put()
  await test.compact(false)
  same(await fileCount(test), 2, 'two files need no compaction')
  await put()
  await put()
  await test.compact(false)
  same(await fileCount(test), 1, 'four do')
}

async function bulkLoad(
  test: TestDatabase,
  prefix: string,
  cells: readonly (readonly [row: string, value: string])[],
  timestamp: number,
): Promise<void> {
  const directory = `/bulk-${prefix}`
  const { fileSystem } = test
  const writer = await BulkWriter.create(directory, { families: { f: {} }, fileSystem, timestamp })
  for (const [row, value] of cells) writer.add({ row, cells: { 'f:q': value } })
  writer.finish()
  await test.database.admin.bulkLoad('table', directory)
}

async function openScanner(context: CaseContext): Promise<void> {
  const { same } = context
  const test = embedded(context)
  const table = test.database.table('table')
  const value = (): string | undefined => table.getSync({ row: 'row1' }).value('f:q')?.toString()
  const timestamp = 500_000
  await table.put({ row: 'row1', cells: { 'f:q': 'version0' }, timestamp })
  await test.flush()
  await table.put({ row: 'row1', cells: { 'f:q': 'version1' }, timestamp })
  const scanner = table.scanSync()
  await bulkLoad(test, 'b', [['row1', 'version2']], timestamp)
  same(value(), 'version2', 'the loaded cell is the newest')
  const seen = [...scanner].map((result) => result.value('f:q')?.toString())
  same(seen, ['version1'], 'a scanner of before goes on')
  await table.put({ row: 'row1', cells: { 'f:q': 'version3' }, timestamp })
  await test.flush()
  same(value(), 'version3', 'a later put is newer')
}

export const recoveryCases: readonly TableCase[] = [
  {
    number: 151,
    title: 'flushes of nothing, and when a compaction is needed',
    source: 'TestHRegion#testFlushResult',
    states: steered,
    steps: [{ run: flushes }],
  },
  {
    number: 160,
    title: 'a reopen replays what was not flushed (crashes: test/crash)',
    source: 'TestWALReplay#testReplayEditsWrittenViaHRegion',
    states: steered,
    families: threeFamilies,
    steps: [
      ...edits(0, 10),
      {
        run: async (context) => {
          const test = embedded(context)
          await test.database.admin.flush('table', 'c1')
        },
      },
      { reopen: true },
      { get: { row: 'r' }, cells: [...names('c0', 10), ...names('c1', 10), ...names('c2', 10)] },
      {
        run: async (context) => {
          const { same } = context
          const test = embedded(context)
          const { lastSequence, tableFiles } = test.database.statistics()
          same([lastSequence >= 30, tableFiles], [true, 1], 'sequence and files')
        },
      },
      ...edits(10, 10),
      { reopen: true },
      { scan: {}, cellCount: 60 },
    ],
  },
  {
    number: 163,
    title: 'replay passes over families that are gone and applies markers',
    source: 'TestWALReplay#testReplayEditsWrittenIntoWAL',
    states: steered,
    families: { ...threeFamilies, gone: {} },
    steps: [
      ...edits(0, 1000),
      putCell('q', undefined, 'v', 'r', 'gone'),
      { delete: { row: 'r', families: ['c2'] } },
      {
        run: async (context) => {
          const test = embedded(context)
          await test.database.alterTable('table', { dropFamilies: ['gone'] })
        },
      },
      {
        run: async (context) => {
          const { same } = context
          const test = embedded(context)
          const { lastSequence } = test.database.statistics()
          await test.reopen()
          same(test.database.statistics().lastSequence, lastSequence, 'numbers go on behind')
        },
      },
      { scan: {}, cellCount: 2000 },
    ],
  },
  {
    number: 164,
    title: 'bulk loads, a major compaction and a reopen',
    source: 'TestWALReplay#testCompactedBulkLoadedFiles',
    states: steered,
    steps: [
      { put: { row: '0', cells: { 'f:q': 'v' } } },
      {
        run: async (context) => {
          const test = embedded(context)
          for (const prefix of ['a', 'b', 'c']) {
            const cells = Array.from({ length: 10 }, (_, i) => [`${prefix}${i}`, 'v'] as const)
            await bulkLoad(test, prefix, cells, 1000)
          }
        },
      },
      { scan: {}, cellCount: 31 },
      { compact: 'major' },
      { reopen: true },
      { scan: {}, cellCount: 31 },
    ],
  },
  {
    number: 166,
    title: 'a bulk load between puts of the same timestamp',
    source: 'TestScannerWithBulkload',
    states: steered,
    steps: [{ run: openScanner }],
  },
]

function names(family: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${family}:q${i}=${i}`)
}
