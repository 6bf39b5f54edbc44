/**
 * Marks of rows in data blocks: they say what the keys say, and a check of the file finds a mark
 * that says something else.
 *
 * CELLAR_SEED repeats a run.
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import { qualifierEndOf, rowEndOf } from '../../../../src/storage/cell/cell-key.js'
import { isPlainPut } from '../../../../src/storage/cell/plain-put.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { plainRowCells, rowMarks } from '../../../../src/storage/sstable/blocks/block.js'
import { EntryReader } from '../../../../src/storage/sstable/rows/entry-reader.js'
import { beginsRowMark, plainRowMark } from '../../../../src/storage/sstable/format.js'
import type { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { cellTableBytes, type Cells } from '../../../helpers/cells/cell-table.js'
import { fileSystemWith, open, resealSection, verifyAll } from './helpers.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_130)

t.before(() => loadChecksums())

interface Entry {
  readonly block: number
  readonly slot: number
  readonly marks: number
  /** Number of entries of the plain row that begins here, by the block. */
  readonly plainCells: number
  readonly row: string
  readonly column: string
  readonly isPlainPut: boolean
}

function entriesOf(reader: SsTableReader): Entry[] {
  const entries: Entry[] = []
  const place = new EntryReader()
  for (let index = 0; index < reader.index.blockCount; index++) {
    const block = reader.readBlockSync(index)
    for (let slot = 0; slot < block.count; slot++) {
      place.read(block, slot)
      const { buffer, keyStart, keyEnd, valueEnd } = place
      const rowEnd = rowEndOf(buffer, keyStart, keyEnd)
      entries.push({
        block: index,
        slot,
        marks: rowMarks(block, slot),
        plainCells: plainRowCells(block, slot),
        row: buffer.toString('latin1', keyStart, rowEnd),
        column: buffer.toString('latin1', rowEnd, qualifierEndOf(keyEnd)),
        isPlainPut: valueEnd > keyEnd && isPlainPut(buffer, keyEnd, keyEnd),
      })
    }
  }
  return entries
}

function rowsOf(entries: readonly Entry[]): Entry[][] {
  const rows: Entry[][] = []
  for (const entry of entries) {
    if (rows.at(-1)?.[0].row === entry.row) rows.at(-1)!.push(entry)
    else rows.push([entry])
  }
  return rows
}

function isPlain(row: readonly Entry[]): boolean {
  const columns = new Set(row.map(({ column }) => column))
  const isWhole = row.every(({ block }) => block === row[0].block)
  return isWhole && columns.size === row.length && row.every((entry) => entry.isPlainPut)
}

function randomCells(below: (bound: number) => number, longest: number): Cells {
  const cells: Cells = []
  for (let row = 0; row < 30; row++) {
    const isSimple = below(3) > 0
    for (let column = 0; column <= below(8); column++) {
      const value = 'x'.repeat(below(below(longest) + 1))
      const cell = { row: `r${row}`, qualifier: `q${column}`, value, type: 'Put' } as const
      cells.push(cell)
      if (isSimple || below(2) === 0) continue
      if (below(3) === 0) cells.push({ ...cell, timestamp: 5n })
      else if (below(3) === 0) cells.push({ ...cell, ttl: 500, timestamp: 4n })
      else if (below(3) === 0) cells.push({ ...cell, timestamp: 2n ** 60n })
      else cells.push({ ...cell, type: 'Delete', value: '' })
    }
  }
  return cells
}

for (const [what, blockBytes, longest] of [
  ['narrow slots', 600, 150],
  ['wide slots', 64 * 1024, 6000],
] as const) {
  void t.test(`the marks say what the keys say, ${what}, seed ${seed}`, (t) => {
    const random = seededRandom(seed)
    let plain = 0
    for (let round = 0; round < 20; round++) {
      const cells = randomCells((bound) => random.below(bound), longest)
      const reader = open(fileSystemWith(cellTableBytes(cells, blockBytes)))
      for (const row of rowsOf(entriesOf(reader))) {
        const expected = isPlain(row) ? beginsRowMark | plainRowMark : beginsRowMark
        if (isPlain(row)) plain++
        const marks = row.map((entry) => entry.marks)
        const cellCount = isPlain(row) ? row.length : 0
        if (marks[0] !== expected || marks.slice(1).some((mark) => mark !== 0)) t.fail(marks.join())
        if (row[0].plainCells !== cellCount) t.fail(`${row[0].plainCells} of ${cellCount}`)
      }
      verifyAll(reader)
    }
    t.ok(plain > 100, `${plain} plain rows`)
    t.end()
  })

  void t.test(`a wrong mark is found, or changes nothing, ${what}, seed ${seed}`, (t) => {
    const random = seededRandom(seed)
    let found = 0
    for (let round = 0; round < 3; round++) {
      const cells = randomCells((bound) => random.below(bound), longest)
      const bytes = cellTableBytes(cells, blockBytes)
      const reader = open(fileSystemWith(bytes))
      const { offsets } = reader.index
      const rows = rowsOf(entriesOf(reader))
      rows.forEach((row, number) => {
        for (const entry of row) {
          const { entriesEnd, slotBytes } = reader.readBlockSync(entry.block)
          for (const mark of [beginsRowMark, plainRowMark]) {
            const start = offsets[entry.block]
            const damaged = Buffer.from(bytes)
            damaged[start + entriesEnd + (entry.slot + 1) * slotBytes - 1] ^= mark << 6
            resealSection(damaged, start, offsets[entry.block + 1])
            const again = open(fileSystemWith(damaged))
            // Without P a plain row is read by cells; at the start of a block an entry without B is
            // a row entry nevertheless, of a row that is not plain.
            const isHarmless =
              entry === row[0] &&
              (mark === plainRowMark
                ? isPlain(row)
                : entry.slot === 0 && !isPlain(row) && (number === 0 || !isPlain(rows[number - 1])))
            if (isHarmless) continue
            found++
            t.throws(() => verifyAll(again), { code: 'ERR_CORRUPTION' })
          }
        }
      })
    }
    t.ok(found > 100, `${found} wrong marks`)
    t.end()
  })
}

void t.test('column entries out of order, or of one column twice, are found', (t) => {
  const put = (qualifier: string): Cells[number] => ({
    row: 'r',
    qualifier,
    value: 'v',
    type: 'Put',
  })
  const bytes = cellTableBytes([put('b'), put('d'), put('f')], 4096)
  const { offsets } = open(fileSystemWith(bytes)).index
  const payload = bytes.subarray(0, offsets[1])
  const at = payload.lastIndexOf('f')
  t.ok(at > payload.indexOf('d'))
  for (const column of ['a', 'b', 'c', 'd', 'e', 'g']) {
    const changed = Buffer.from(bytes)
    changed.write(column, at, 'latin1')
    resealSection(changed, 0, offsets[1])
    const again = open(fileSystemWith(changed))
    // The properties name the last key as well, and an index separator is above it.
    t.throws(() => verifyAll(again), { code: 'ERR_CORRUPTION' })
    const message = /ascending keys/
    if (column <= 'c') t.throws(() => verifyAll(again), message, column)
  }
  t.end()
})
