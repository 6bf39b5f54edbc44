/** A read takes the same steps however it is spelled, and gives the same answer. */
import t from 'tap'
import type { EmbeddedTable, Get } from '../../../../src/entries/index.js'
import { countMoves } from '../../../helpers/cells/cursor-moves.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const latest = 2n ** 63n - 1n
const row = 'r'
const wholeRow: readonly Get[] = [
  { row },
  { row, versions: 1 },
  { row, cacheBlocks: true },
  { row, columns: [] },
  { row, isolation: 'READ_COMMITTED' },
  { row, loadFamiliesOnDemand: false },
  { row, cellsPerFamilyOffset: 0 },
  { row, timeRange: [0, latest] },
  { row, columns: ['f', 'g'] },
  // Neither family keeps more than one version.
  { row, versions: 3 },
  { row, versions: 'all' },
]
const oneColumn: readonly Get[] = [
  { row, columns: ['f:b'] },
  { row, columns: [{ family: 'f', qualifier: 'b' }] },
  { row, columns: ['f:b', 'f:b'] },
  { row, columns: ['f:b'], versions: 1, cacheBlocks: true },
  { row, columns: ['f:b'], timeRange: [0, latest] },
]

function show(table: EmbeddedTable, get: Get): string {
  return showResult(plainResult(table.getSync(get)))
}

void t.test('equal queries take equal steps', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 1024 * 1024 } })
  const table = await test.database.createTable('table', { families: { f: {}, g: {} } })
  const fill = (value: string): void => {
    const cells = { 'f:a': value, 'f:b': value, 'f:c': value, 'g:x': value }
    for (const each of ['q', row, 's']) table.putSync({ row: each, cells })
  }
  for (const place of ['memtable', 'one file', 'memtable and file', 'two files']) {
    if (place.endsWith('file') || place.endsWith('files')) await test.flush()
    if (place !== 'one file' && place !== 'two files') fill(place)
    for (const queries of [wholeRow, oneColumn]) {
      const [first] = queries
      // Where a row was found is remembered.
      for (const get of queries) table.getSync(get)
      const answer = show(table, first)
      const moves = countMoves(() => table.getSync(first))
      t.ok(moves > 0, `${place}: cursors move, or the row has an address`)
      for (const get of queries) {
        t.equal(show(table, get), answer, place)
        const taken = countMoves(() => table.getSync(get))
        t.equal(taken, moves, `${place}: ${Object.keys(get).join(' ')}`)
      }
    }
  }
  await test.close()
})
