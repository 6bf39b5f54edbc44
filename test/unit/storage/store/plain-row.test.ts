/**
 * Rows that are copied out of cached blocks without a cursor: found beside the cursor, which is the
 * measure in whole blocks. In damaged ones whose checksums are right, no read leaves the block.
 *
 * CELLAR_SEED repeats a run.
 */
import t from 'tap'
import type { Test } from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { CellarError, ErrorCode } from '../../../../src/base/errors.js'
import {
  rowEndOf,
  terminatorBytes,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { isVisiblePut } from '../../../../src/storage/cell/plain-put.js'
import { Block } from '../../../../src/storage/sstable/blocks/block.js'
import { RowCounter } from '../../../../src/storage/sstable/rows/row-entries.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { PlainRow } from '../../../../src/storage/store/plain-row.js'
import { cellTable, type Cells } from '../../../helpers/cells/cell-table.js'
import { cellBytes, openedRow } from '../../../helpers/cells/row-cells.js'
import { lengthOf } from '../../../helpers/length.js'
import { escaped } from '../scan/random-cells.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_127)

t.before(() => loadChecksums())

/** An open table whose blocks are all cached. */
function tableOf(cells: Cells, blockBytes: number): SsTableReader {
  const table = cellTable(cells, blockBytes)
  const cursor = table.cursor()
  cursor.seek(Buffer.alloc(0), 0)
  while (cursor.valid) cursor.next()
  cursor.endRead()
  return table
}

function startOf(row: string): Buffer {
  const start = Buffer.alloc(64)
  const length = writeTerminator(start, escaped(row).copy(start))
  return start.subarray(0, length)
}

/** The cells of a row that a cursor shows from `slot` of block `index` on, and in which block. */
function cursorCells(
  table: SsTableReader,
  plain: PlainRow,
  row: Buffer,
): { texts: string[]; arePlain: boolean } {
  const cursor = table.cursor()
  const texts: string[] = []
  let arePlain = true
  // As in reads of a row: blocks that cannot have more of the row are not entered.
  cursor.rowBytes = row.length
  cursor.seekLocated(plain.index, plain.slot, row, row.length)
  while (cursor.valid) {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    if (!buffer.subarray(keyStart, keyStart + row.length).equals(row)) break
    const rowEnd = rowEndOf(buffer, keyStart, keyEnd)
    arePlain &&= rowEnd === keyStart + row.length - terminatorBytes
    arePlain &&= isVisiblePut(buffer, keyEnd, valueStart, Infinity, 0)
    texts.push(buffer.toString('latin1', keyStart, valueEnd))
    cursor.next()
  }
  return { texts, arePlain }
}

/** The cells of the row that was found, as a get copies them. */
function plainCells({ buffer, start, end }: PlainRow): string[] {
  return cellBytes(openedRow(buffer, start, end)).map((bytes) => bytes.toString('latin1'))
}

const put = (row: string, qualifier: string, value = 'v'): Cells[number] => ({
  row,
  qualifier,
  value,
  type: 'Put',
})

void t.test('a row of plain puts is found, others are not', (t) => {
  const table = tableOf(
    [
      put('a', 'x', '1'),
      put('a', 'y', '2'),
      put('ab', 'x', '3'),
      put('versions', 'x', 'old'),
      { ...put('versions', 'x', 'new'), timestamp: 9_000n },
      put('marker', 'x'),
      { row: 'marker', qualifier: 'y', type: 'Delete', value: '' },
      put('lifetime', 'x'),
      { ...put('lifetime', 'y'), ttl: 1000 },
      { ...put('future', 'x'), timestamp: 2n ** 60n },
      put('z', '', 'empty column'),
      put('z', 'x'),
    ],
    4096,
  )
  const plain = new PlainRow()
  const find = (row: string): boolean => {
    const start = startOf(row)
    return plain.find(table, start, start.length)
  }
  for (const row of ['a', 'ab', 'z']) {
    t.ok(find(row), row)
    t.same(plainCells(plain), cursorCells(table, plain, startOf(row)).texts)
    const start = startOf(row)
    const { index, slot } = plain
    t.ok(new PlainRow().findAt(table, index, slot, start, start.length), 'by its location')
    t.notOk(new PlainRow().findAt(table, index, slot + 2, start, start.length))
    t.notOk(new PlainRow().findAt(table, index, 1000, start, start.length))
  }
  for (const row of ['', '0', 'aa', 'b', 'zz']) t.notOk(find(row), `'${row}' is absent`)
  for (const row of ['versions', 'marker', 'lifetime', 'future']) t.notOk(find(row), row)
  t.end()
})

void t.test('a row that goes on in the next block is not found, its neighbours are', (t) => {
  const cells: Cells = []
  for (let i = 0; i < 40; i++) cells.push(put('b', `q${String(i).padStart(3, '0')}`))
  cells.push(put('a', 'x'), put('c', 'x'))
  const table = tableOf(cells, 512)
  t.ok(table.index.blockCount > 2)
  const plain = new PlainRow()
  const isFound = ['a', 'b', 'c'].map((row) => {
    const start = startOf(row)
    return plain.find(table, start, start.length)
  })
  // The first key of block 1 is in the middle of row b, so the separators tell that b goes on.
  t.same(isFound, [true, false, true])
  t.end()
})

void t.test('a block that is not cached is not read', (t) => {
  const table = cellTable([put('a', 'x')], 512)
  const start = startOf('a')
  t.notOk(new PlainRow().find(table, start, start.length))
  t.equal(table.counters.cacheHits, 0)
  t.end()
})

function randomRows(random: Random): Cells {
  const cells: Cells = []
  for (let row = 0; row < 12; row++) {
    const isPlain = random.below(3) > 0
    for (let column = 0; column <= random.below(6); column++) {
      const cell = put(`r${row}`, `q${column}`, 'x'.repeat(random.below(random.below(200) + 1)))
      cells.push(cell)
      if (!isPlain && random.below(2) === 0) cells.push({ ...cell, timestamp: 5n })
      if (!isPlain && random.below(4) === 0) cells.push({ ...cell, ttl: 500, timestamp: 4n })
    }
  }
  return cells
}

/** Moves a cursor from a row on and back, and looks at each entry. */
function moveAbout(table: SsTableReader, row: Buffer, t: Test): void {
  const cursor = table.cursor()
  const check = (): void => {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    const isInside = keyStart >= 0 && keyStart <= keyEnd && valueEnd <= buffer.length
    if (!isInside || keyEnd !== valueStart || valueStart > valueEnd) t.fail('an entry outside')
  }
  for (let steps = 0; steps < 20; steps++) {
    if (steps === 0) cursor.seek(row, row.length)
    else cursor.next()
    if (!cursor.valid) break
    check()
    const end = cursor.plainRowEnd(Infinity, 0, row.length)
    if (end > cursor.buffer.length) t.fail(`row up to ${end}`)
  }
  for (let steps = 0; steps < 20; steps++) {
    if (steps === 0) cursor.seekBefore(row, row.length)
    else cursor.previous()
    if (!cursor.valid) break
    check()
    const end = cursor.plainRowBack(Infinity, 0, row.length)
    if (end > cursor.buffer.length) t.fail(`row up to ${end}`)
  }
}

void t.test(`no read beyond a damaged block, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const blocks = lengthOf('CELLAR_DAMAGED_BLOCKS', 20_000, 1_000_000)
  const plain = new PlainRow()
  let found = 0
  let refused = 0
  for (let made = 0; made < blocks;) {
    const table = tableOf(randomRows(random), 400 + random.below(2000))
    const cached = [...table.blocks]
    const whole = cached.map((block) => Buffer.from(block!.buffer))
    const lengths = cached.map((block) => block!.payloadBytes)
    for (let round = 0; round < 400; round++, made++) {
      for (let i = 0; i < cached.length; i++) table.blocks[i] = cached[i]
      const index = random.below(whole.length)
      const bytes = Buffer.from(whole[index])
      for (let flips = random.below(4); flips >= 0; flips--) {
        bytes[random.below(lengths[index])] ^= 1 << random.below(8)
      }
      const start = startOf(`r${random.below(12)}`)
      try {
        table.blocks[index] = new Block(table, index, bytes, lengths[index])
        moveAbout(table, start, t)
        if (!plain.find(table, start, start.length)) continue
      } catch (error) {
        if (!(error instanceof CellarError) || error.code !== ErrorCode.corruption) throw error
        refused++
        continue
      }
      found++
      // Checksums guard the marks and the keys, so here only the bounds count.
      const { entriesEnd } = table.blocks[plain.index]!
      const isRow = new RowCounter().read(plain.buffer, plain.start, plain.end)
      if (!isRow || plain.end > entriesEnd) t.fail(`row up to ${plain.end}`)
    }
    for (let i = 0; i < cached.length; i++) table.blocks[i] = cached[i]
    table.closeSync()
  }
  t.ok(found > blocks / 10 && refused > blocks / 100, `${found} found, ${refused} refused`)
  t.end()
})
