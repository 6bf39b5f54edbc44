/**
 * RowCollector by itself: what was added comes out whole, whatever happens to the memory that it
 * was added from after it was taken.
 *
 * CELLAR_SEED repeats a run.
 */
import assert from 'node:assert'
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import { InvariantError } from '../../../../src/base/assert.js'
import {
  cellByCell,
  cellCount,
  numbersPerCell,
} from '../../../../src/storage/scan/collected-row.js'
import { RowCollector } from '../../../../src/storage/scan/row-collector.js'
import { RowWalk } from '../../../../src/storage/sstable/rows/row-walk.js'
import { adjacentEntries, cellBytes, openedRow } from '../../../helpers/cells/row-cells.js'
import type { StoredCell } from '../../../model/reference/reading-rules.js'
import { cellOf, randomCells, storedForm, textOfCell, viewOf } from './random-cells.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)

/** Cells side by side in one buffer, with gaps, and where each lies. */
function block(
  cells: readonly StoredCell[],
  gapOf: () => number,
): { buffer: Buffer; places: { keyStart: number; keyEnd: number; valueEnd: number }[] } {
  const parts: Buffer[] = []
  let at = 0
  const places = cells.map((cell) => {
    const { bytes, keyEnd } = storedForm(cell)
    const gap = gapOf()
    parts.push(Buffer.alloc(gap, '.'), bytes)
    const keyStart = at + gap
    at = keyStart + bytes.length
    return { keyStart, keyEnd: keyStart + keyEnd, valueEnd: at }
  })
  return { buffer: Buffer.concat(parts), places }
}

/** The stored bytes of cells that were taken. */
function takenOf(page: Buffer, cells: readonly number[], from: number, end: number): string[] {
  return cellBytes(cellByCell(page, cells, from, end)).map((bytes) => bytes.toString('latin1'))
}

/** Cells as adjacent entries of a block. */
function entriesOf(cells: readonly StoredCell[]): Buffer {
  return adjacentEntries(cells.map((cell) => storedForm(cell)))
}

/** The row entry of a row. */
function firstOf(buffer: Buffer): RowWalk {
  const walk = new RowWalk()
  assert.ok(walk.begin(buffer, 0, buffer.length))
  return walk
}

/** Adds the entries of a row as a scan does, or one by one. */
function addEntriesOf(
  collector: RowCollector,
  familyIndex: number,
  buffer: Buffer,
  asWhole: boolean,
): void {
  if (asWhole) {
    const { keyStart, keyEnd, valueEnd } = firstOf(buffer)
    assert.ok(collector.addRow(familyIndex, buffer, keyStart, keyEnd, valueEnd, buffer.length))
    return
  }
  const { page, cells } = openedRow(buffer)
  for (let at = 0; at < cells.length; at += numbersPerCell) {
    collector.addRange(familyIndex, page, cells[at + 1], cells[at + 2], cells[at + 3])
  }
}

void t.test(`rows come out as they went in, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const collector = new RowCollector()
  for (let round = 0; round < 300; round++) {
    collector.configure(['f'], -1)
    const ahead = random.below(2) === 0
    if (ahead) collector.wantRows(64)
    const expected: string[][] = []
    const memory: Buffer[] = []
    const rows = 1 + random.below(12)
    for (let row = 0; row < rows; row++) {
      if (row > 0 && !collector.wantsRows) break
      const big = random.below(20) === 0
      const cells = randomCells(random, `r${row}`, 1 + random.below(12)).map((cell) => {
        return big ? { ...cell, value: 'x'.repeat(random.below(9000)) } : cell
      })
      const { buffer, places } = block(cells, () => random.below(20))
      memory.push(buffer)
      collector.startRow()
      for (const [i, { keyStart, keyEnd, valueEnd }] of places.entries()) {
        if (random.below(4) === 0) collector.add(viewOf(cells[i]), undefined)
        else collector.addRange(0, buffer, keyStart, keyEnd, valueEnd)
      }
      if (random.below(5) === 0) {
        collector.settle()
        buffer.fill(0xdb)
      }
      expected.push(cells.map((cell) => storedForm(cell).bytes.toString('latin1')))
      if (!ahead) break
      collector.endRow()
    }
    const found: string[][] = []
    if (ahead) {
      const { count, pages, cells, ends } = collector.takeRows()
      for (const bytes of memory) bytes.fill(0xdb)
      for (let i = 0; i < count; i++) {
        found.push(takenOf(pages[i], cells, i === 0 ? 0 : ends[i - 1], ends[i]))
      }
    } else {
      const { page, cells } = collector.take(false)
      for (const bytes of memory) bytes.fill(0xdb)
      found.push(takenOf(page, cells, 0, cells.length))
    }
    t.same(found, expected, `round ${round}`)
    collector.release()
  }
  t.end()
})

void t.test(`whole rows have the cells of rows added one by one, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const whole = new RowCollector()
  const single = new RowCollector()
  for (let round = 0; round < 300; round++) {
    for (const collector of [whole, single]) {
      collector.configure(['f', 'g'], -1)
      collector.wantRows(64)
    }
    const memory: Buffer[] = []
    for (let row = 0; row < 1 + random.below(12) && (row === 0 || whole.wantsRows); row++) {
      for (const collector of [whole, single]) collector.startRow()
      const families = random.below(3) === 0 ? [0, 1] : [random.below(2)]
      for (const family of families) {
        const cells = randomCells(random, `r${row}`, 1 + random.below(12))
        const buffer = entriesOf(cells)
        memory.push(buffer)
        addEntriesOf(whole, family, buffer, random.below(4) > 0)
        addEntriesOf(single, family, buffer, false)
      }
      t.equal(whole.count, single.count)
      t.equal(whole.bytes, single.bytes)
      const isFirst = whole.rowCount === 0
      if (isFirst && random.below(3) === 0) {
        const last = whole.rowCells.count - 1
        const texts = [whole, single].map(({ rowCells }) => rowCells.cell(last).copyQualifier())
        t.same(texts[0], texts[1])
      }
      if (isFirst && random.below(3) === 0)
        for (const collector of [whole, single]) collector.sortFamilies()
      for (const collector of [whole, single]) collector.endRow()
    }
    const taken = [whole, single].map((collector) => collector.takeRows())
    for (const bytes of memory) bytes.fill(0xdb)
    const [found, expected] = taken.map(({ count, pages, cells, ends }) => {
      return Array.from({ length: count }, (_, i) => {
        const from = i === 0 ? 0 : ends[i - 1]
        const size = cellCount(cells, from, ends[i])
        return { size, cells: takenOf(pages[i], cells, from, ends[i]) }
      })
    })
    t.same(found, expected, `round ${round}`)
    for (const collector of [whole, single]) collector.release()
  }
  t.end()
})

void t.test('a row whose lengths miss its end is not added as a whole', (t) => {
  const collector = new RowCollector()
  collector.configure(['f'], -1)
  const buffer = entriesOf([cellOf({ qualifier: 'a' }), cellOf({ qualifier: 'b' })])
  const { keyStart, keyEnd, valueEnd } = firstOf(buffer)
  for (const end of [buffer.length - 1, valueEnd + 1]) {
    t.equal(collector.addRow(0, buffer, keyStart, keyEnd, valueEnd, end), false)
  }
  t.equal(collector.count, 0)
  t.equal(collector.bytes, 0)
  // A get copies a row before the lengths are read, and no cell of such a row is returned.
  t.throws(() => collector.addFoundRow(0, buffer, 0, buffer.length - 1), InvariantError)
  t.end()
})

void t.test('a piece ends with so many cells, or so many bytes', (t) => {
  const collector = new RowCollector()
  const add = (value: string): void => collector.add(viewOf(cellOf({ value })), undefined)
  collector.configure(['f'], 2)
  add('a')
  t.equal(collector.full, false)
  add('b')
  t.equal(collector.full, true)
  t.equal(collector.take(true).cells.length, 2 * numbersPerCell)
  t.equal(collector.full, false)
  collector.configure(['f'], -1, 1000)
  add('x'.repeat(500))
  t.equal(collector.full, false)
  add('x'.repeat(500))
  t.equal(collector.full, true)
  t.end()
})

void t.test('a row that is begun anew forgets what was not taken', (t) => {
  const collector = new RowCollector()
  collector.configure(['f'], -1)
  collector.add(viewOf(cellOf({ value: 'gone' })), undefined)
  collector.startRow()
  t.equal(collector.count, 0)
  const stays = cellOf({ value: 'stays' })
  collector.add(viewOf(stays), undefined)
  const { page, cells } = collector.take(false)
  t.same(takenOf(page, cells, 0, cells.length), [storedForm(stays).bytes.toString('latin1')])
  t.end()
})

void t.test('cells are judged as a row: kept, dropped, put in the order of families', (t) => {
  const collector = new RowCollector()
  collector.configure(['f', 'g'], -1)
  const add = (familyIndex: number, qualifier: string): void => {
    const view = viewOf(cellOf({ qualifier }))
    view.familyIndex = familyIndex
    collector.add(view, undefined)
  }
  add(1, 'a')
  add(0, 'b')
  add(1, 'c')
  t.equal(collector.cell(1).family, 'f')
  t.equal(collector.cell(2).copyQualifier().toString(), 'c')
  collector.sortFamilies()
  t.equal(collector.cell(0).family, 'f')
  collector.retain([true, false, true])
  const left = [0, 1].map((i) => collector.cell(i).copyQualifier().toString())
  t.same(left, ['b', 'c'])
  t.end()
})

void t.test('a collector is not used after its release, and a row that is ended has cells', (t) => {
  const collector = new RowCollector()
  collector.configure(['f'], -1)
  t.throws(() => collector.endRow(), InvariantError)
  const cell = cellOf({})
  collector.add(viewOf(cell), undefined)
  collector.release()
  t.throws(() => collector.add(viewOf(cell), undefined), InvariantError)
  collector.configure(['f'], -1)
  collector.add(viewOf(cell), undefined)
  t.equal(collector.count, 1, textOfCell(cell))
  t.end()
})
