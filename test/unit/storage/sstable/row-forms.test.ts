/**
 * Adjacent entries of a row: what was written is read again, cells laid over a row and picked
 * columns are those of a plain list of cells, and no damage leads a walk out of its range.
 *
 * CELLAR_SEED repeats a run.
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { RowCounter, RowEntries } from '../../../../src/storage/sstable/rows/row-entries.js'
import { ColumnPick, RowOverlay } from '../../../../src/storage/sstable/rows/row-overlay.js'
import { RowWalk } from '../../../../src/storage/sstable/rows/row-walk.js'
import type { StoredCell } from '../../../model/reference/reading-rules.js'
import { adjacentEntries, cellBytes, openedRow } from '../../../helpers/cells/row-cells.js'
import { lengthOf } from '../../../helpers/length.js'
import { cellOf, escaped, storedForm } from '../scan/random-cells.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_129)

t.before(() => loadChecksums())

const columns = ['', '\0', 'a', 'a\0', 'a\0b', 'b', 'c'.repeat(70), 'd'.repeat(200)]

/** Puts of some columns in order, one of each; few timestamps, so that suffixes are shared. */
function randomRow(random: Random, row: string, source = 0, newest = 3): StoredCell[] {
  const wanted = columns.filter(() => random.below(2) === 0)
  return wanted.map((qualifier) => {
    const timestamp = BigInt(1 + random.below(newest))
    // Cells of one source share sequences, those of others have their own.
    const sequence = Number(timestamp) * 1000 + 2 * source + random.below(2)
    const value = 'v'.repeat(random.below(random.below(2) === 0 ? 5 : 300))
    return cellOf({ row, qualifier, timestamp, sequence, value })
  })
}

function entriesOf(cells: readonly StoredCell[]): Buffer {
  return adjacentEntries(cells.map((cell) => storedForm(cell)))
}

function textsOf(cells: readonly StoredCell[]): string[] {
  return cells.map((cell) => storedForm(cell).bytes.toString('latin1'))
}

function readAgain(buffer: Buffer, start: number, end: number): string[] {
  return cellBytes(openedRow(buffer, start, end)).map((bytes) => bytes.toString('latin1'))
}

void t.test(`a row is read as it was written, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 400; round++) {
    const row = 'r'.repeat(1 + random.below(random.below(2) === 0 ? 3 : 150))
    const cells = randomRow(random, row)
    if (cells.length === 0) continue
    const entries = entriesOf(cells)
    const before = random.below(20)
    const buffer = Buffer.concat([Buffer.alloc(before, 1), entries, Buffer.alloc(9, 2)])
    const end = before + entries.length
    const expected = textsOf(cells)
    if (!t.same(readAgain(buffer, before, end), expected, `round ${round}`)) break
    const counter = new RowCounter()
    t.ok(counter.read(buffer, before, end))
    t.equal(counter.cells, cells.length)
    t.equal(counter.bytes, expected.join('').length)
    const list = new RowEntries()
    t.ok(list.read(buffer, before, end, cells.length))
    t.equal(list.keyBytes + list.valueBytes, counter.bytes)
    t.notOk(list.read(buffer, before, end, cells.length + 1))
    t.notOk(list.read(buffer, before, end, cells.length - 1))
    t.notOk(counter.read(buffer, before, end - 1))
    // Words are copied up to the end of the memory, and other bytes near it.
    const walk = new RowWalk()
    const source = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
    const target = Buffer.alloc(1000)
    const words = new DataView(target.buffer, target.byteOffset, target.length)
    walk.begin(buffer, before, end)
    for (let i = 1; walk.next(); i++) {
      if (!walk.writeWords(source, words, 3)) continue
      t.equal(target.toString('latin1', 3, 3 + expected[i].length), expected[i])
    }
  }
  t.end()
})

void t.test(`cells laid over a row leave the newest of each column, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const overlay = new RowOverlay()
  for (let round = 0; round < 600; round++) {
    const found = randomRow(random, 'row')
    if (found.length === 0) continue
    const newest = new Map(found.map((cell) => [cell.qualifier, cell]))
    const entries = entriesOf(found)
    overlay.begin(entries, 0, entries.length)
    for (let source = 1 + random.below(3); source > 0; source--) {
      overlay.beginSource()
      const isNewer = (a: StoredCell, b: StoredCell): boolean =>
        a.timestamp > b.timestamp || (a.timestamp === b.timestamp && a.sequence > b.sequence)
      const cells = randomRow(random, 'row', source, 6)
      const isRow = random.below(2) === 0 && cells.length > 0
      if (isRow) {
        const row = entriesOf(cells)
        const walk = new RowWalk()
        walk.begin(row, 0, row.length)
        do overlay.addEntry(walk)
        while (walk.next())
      }
      for (const cell of cells) {
        const versions = [cell]
        if (!isRow && random.below(4) === 0) {
          versions.push({ ...cell, timestamp: 0n, value: 'old' })
        }
        for (const version of versions) {
          const { bytes, keyEnd } = storedForm(version)
          if (!isRow) overlay.add(bytes, 0, keyEnd, bytes.length)
          const known = newest.get(version.qualifier)
          if (known === undefined || isNewer(version, known)) newest.set(version.qualifier, version)
        }
      }
      t.ok(overlay.endSource())
    }
    const expected = columns.flatMap((column) => newest.get(column) ?? [])
    const laid = readAgain(overlay.buffer, overlay.start, overlay.end)
    if (!t.same(laid, textsOf(expected), `round ${round}`)) break
    const pick = new ColumnPick()
    const wanted = columns.filter(() => random.below(3) === 0)
    const isAny = pick.pick(
      overlay.buffer,
      overlay.start,
      overlay.end,
      wanted.map((column) => escaped(column)),
    )
    const picked = expected.filter(({ qualifier }) => wanted.includes(qualifier))
    t.equal(isAny, picked.length > 0)
    if (isAny) t.same(readAgain(pick.writer.buffer, 0, pick.writer.length), textsOf(picked))
  }
  t.end()
})

void t.test('a cell with the key of one that is there decides nothing', (t) => {
  const random = seededRandom(seed)
  const overlay = new RowOverlay()
  let row = randomRow(random, 'row')
  while (row.length < 2) row = randomRow(random, 'row')
  const entries = entriesOf(row)
  for (const [index, cell] of row.entries()) {
    const { bytes, keyEnd } = storedForm({ ...cell, value: 'other' })
    overlay.begin(entries, 0, entries.length)
    overlay.beginSource()
    overlay.add(bytes, 0, keyEnd, bytes.length)
    t.equal(overlay.endSource(), false, `cell ${index}`)
  }
  t.end()
})

void t.test(`no walk leaves a damaged row, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const rounds = lengthOf('CELLAR_DAMAGED_ROWS', 100_000, 10_000_000)
  const walk = new RowWalk()
  const counter = new RowCounter()
  let refused = 0
  for (let round = 0; round < rounds;) {
    const cells = randomRow(random, 'row')
    if (cells.length === 0) continue
    const whole = entriesOf(cells)
    for (let i = 0; i < 50; i++, round++) {
      const bytes = Buffer.from(whole)
      for (let flips = random.below(3); flips >= 0; flips--) {
        bytes[random.below(bytes.length)] ^= 1 << random.below(8)
      }
      let isAtEntry = walk.begin(bytes, 0, bytes.length)
      while (isAtEntry) {
        const { columnStart, columnEnd, suffixEnd, valueStart, valueEnd, rowBytes } = walk
        const isInside =
          (rowBytes < 0 || (columnStart <= columnEnd && columnEnd <= valueStart)) &&
          suffixEnd <= valueStart &&
          valueStart <= valueEnd &&
          valueEnd <= bytes.length
        if (!isInside) t.fail(`an entry outside, round ${round}`)
        isAtEntry = walk.next()
      }
      if (!walk.isComplete) refused++
      const isRow = walk.isComplete
      if (counter.read(bytes, 0, bytes.length) !== isRow) t.fail(`round ${round}`)
    }
  }
  t.ok(refused > rounds / 100, `${refused} refused`)
  t.end()
})
