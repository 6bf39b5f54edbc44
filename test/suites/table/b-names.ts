/** B. Names, empties, sizes. */
import type { PutCell } from '../../../src/api/index.js'
import { everywhere, putCell, type TableCase, type Step } from './case.js'

const longQualifierBytes = 32_769

function longQualifiers(): Buffer[] {
  return Array.from({ length: 10 }, (_, index) => {
    const qualifier = Buffer.alloc(longQualifierBytes, 'q')
    qualifier[longQualifierBytes - 1] = index
    return qualifier
  })
}

const wideRows = Array.from({ length: 10 }, (_, index) => `row${index}`)
const wideColumns = Array.from({ length: 2000 }, (_, index) => String(index).padStart(4, '0'))

function wideRow(row: string): Step {
  const cells: PutCell[] = wideColumns.map((qualifier) => {
    return { column: { family: 'f', qualifier }, value: `${row}/${qualifier}` }
  })
  return { put: { row, cells } }
}

function wideCells(row: string): string[] {
  return wideColumns.map((qualifier) => `${row}|f:${qualifier}=${row}/${qualifier}`)
}

/** Cases about names, empty parts and sizes. */
export const nameCases: readonly TableCase[] = [
  {
    number: 16,
    title: 'the empty qualifier is a column of its own',
    source: 'TestFromClientSide5#testScan_NullQualifier',
    states: everywhere,
    steps: [
      putCell('q', undefined, 'VALUE'),
      putCell('', undefined, 'VALUE'),
      { scan: { columns: ['f:'] }, results: [['=VALUE']] },
      { scan: { columns: ['f'] }, results: [['=VALUE', 'q=VALUE']] },
    ],
  },
  {
    number: 17,
    title: 'an absent value is an empty value',
    source: 'TestFromClientSide#testNullValue',
    states: everywhere,
    steps: [
      { put: { row: 'r', cells: [{ column: 'f:q' }] } },
      { get: { row: 'r', columns: ['f:q'] }, cells: ['q='] },
      { delete: { row: 'r', columns: ['f:q'] } },
      { get: { row: 'r' }, cells: [] },
    ],
  },
  {
    number: 19,
    title: 'qualifiers may be longer than rows',
    source: 'TestHRegion#testLongQualifier',
    states: everywhere,
    steps: [
      ...longQualifiers().map((qualifier): Step => {
        return { put: { row: 'r', cells: [{ column: { family: 'f', qualifier }, value: 'v' }] } }
      }),
      { flush: true },
      {
        get: { row: 'r' },
        cells: longQualifiers().map((qualifier) => `f:${qualifier.toString('latin1')}=v`),
      },
    ],
  },
  {
    number: 20,
    title: 'a family with a colon and an unknown family are refused',
    source: 'TestHRegion#testFamilyWithAndWithoutColon, #testGet_FamilyChecker',
    states: everywhere,
    steps: [
      { fails: putCell('q', undefined, 'v', 'r', 'f:'), code: 'ERR_NO_SUCH_COLUMN_FAMILY' },
      { fails: { get: { row: 'r', columns: ['g'] } }, code: 'ERR_NO_SUCH_COLUMN_FAMILY' },
      { fails: { get: { row: 'r', columns: ['g:q'] } }, code: 'ERR_NO_SUCH_COLUMN_FAMILY' },
      { fails: { scan: { columns: ['g'] } }, code: 'ERR_NO_SUCH_COLUMN_FAMILY' },
      { scan: { raw: true }, results: [] },
    ],
  },
  {
    number: 22,
    title: 'wide rows come whole and in the order of their qualifiers',
    source: 'TestFromClientSide4#testJiraTest867',
    states: ['memtable', 'flushed', 'reopened'],
    steps: [
      ...wideRows.map(wideRow),
      { get: { row: 'row3' }, cells: wideCells('row3') },
      { scan: {}, results: wideRows.map(wideCells) },
    ],
  },
]
