/**
 * The loop over plain puts beside a plain list of newest versions, over a cursor that counts its
 * moves and refuses to go back.
 *
 * CELLAR_SEED repeats a run.
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import { emptyBytes } from '../../../../src/base/bytes.js'
import {
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { CellType } from '../../../../src/storage/cell/cell-type.js'
import { noPlainRow, type Cursor } from '../../../../src/storage/cursor/cursor.js'
import type { RowTarget } from '../../../../src/storage/scan/cell-collector.js'
import { readPlain, ReadStep } from '../../../../src/storage/scan/plain/plain-loop.js'
import { PlainRows } from '../../../../src/storage/scan/plain/plain-rows.js'
import { ReadPosition } from '../../../../src/storage/scan/read-position.js'
import type { RowBounds } from '../../../../src/storage/scan/row-scanner.js'
import type { StoreRead } from '../../../../src/storage/scan/store-read.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)

const allRows: RowBounds = {
  start: undefined,
  startInclusive: true,
  stop: undefined,
  stopInclusive: false,
  reversed: false,
}

function readOf(hasFamilyMarkers: boolean): StoreRead {
  const read = {
    query: { columns: undefined },
    readPoint: 1000,
    oldest: 0,
    isNewest: true,
    hasFamilyMarkers,
    mayStep: true,
  }
  return read as unknown as StoreRead
}

function keyOf(row: string, qualifier: string, timestamp: number, type: number): Buffer {
  const key = Buffer.alloc(64)
  const rowEnd = writeEscaped(key, 0, Buffer.from(row))
  let at = writeEscaped(key, writeTerminator(key, rowEnd), Buffer.from(qualifier))
  at = writeTerminator(key, at)
  return key.subarray(0, writeKeySuffix(key, at, 0, timestamp, type, timestamp, rowEnd))
}

/** Shows each entry in memory of its own, checks that it only goes forward, counts its moves. */
class CheckedCursor implements Cursor {
  valid = false
  buffer: Buffer = emptyBytes
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  moves = 0
  private readonly keys: readonly Buffer[]
  private index = -1

  constructor(keys: readonly Buffer[]) {
    this.keys = keys
  }

  seek(key: Buffer, length: number): void {
    const wanted = Buffer.from(key.subarray(0, length))
    this.show(this.keys.findIndex((each) => Buffer.compare(each, wanted) >= 0))
  }

  seekBefore(): void {
    throw new Error('the loop does not go back')
  }

  plainRowEnd(): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  next(): void {
    if (!this.valid) throw new Error('next needs a valid cursor')
    this.show(this.index + 1 === this.keys.length ? -1 : this.index + 1)
  }

  private show(index: number): void {
    this.moves++
    if (index >= 0 && index <= this.index) throw new Error('the loop only goes forward')
    this.index = index
    this.valid = index >= 0
    this.buffer = emptyBytes
    if (!this.valid) return
    const key = this.keys[index]
    this.buffer = Buffer.concat([Buffer.from('..'), key, Buffer.of(0), Buffer.from('v')])
    this.keyStart = 2
    this.keyEnd = 2 + key.length
    this.valueStart = this.keyEnd
    this.valueEnd = this.buffer.length
  }
}

/** Collects keys as text; wants every row. */
function collector(rows: string[][]): RowTarget {
  let open: string[] = []
  const target = {
    full: false,
    wantsRows: true,
    addRange: (_: number, buffer: Buffer, keyStart: number, keyEnd: number) => {
      open.push(buffer.toString('latin1', keyStart, keyEnd))
    },
    endRow: () => {
      rows.push(open)
      open = []
    },
  }
  return target as unknown as RowTarget
}

void t.test(`the newest put of each column, in bounded steps, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  for (let round = 0; round < 100; round++) {
    const expected: string[][] = []
    const keys: Buffer[] = []
    let columns = 0
    for (let row = 0; row < 1 + random.below(4); row++) {
      const newest: string[] = []
      for (let column = 0; column < 1 + random.below(4); column++) {
        columns++
        const versions = 1 + random.below(random.below(2) === 0 ? 3 : 200)
        for (let version = versions; version > 0; version--) {
          const key = keyOf(`r${row}`, column === 0 ? '' : `q${column}`, version, CellType.put)
          if (version === versions) newest.push(key.toString('latin1'))
          keys.push(key)
        }
      }
      expected.push(newest)
    }
    const cursor = new CheckedCursor(keys)
    const position = new ReadPosition()
    const rows: string[][] = []
    cursor.seek(emptyBytes, 0)
    const step = readPlain(
      cursor,
      position,
      readOf(false),
      new PlainRows(0, 'f'),
      allRows,
      collector(rows),
    )
    t.equal(step, ReadStep.bound)
    t.same(rows, expected)
    t.equal(position.rows, expected.length)
    t.equal(position.inRow, false)
    t.ok(cursor.moves <= 1 + 6 * columns, `${cursor.moves} moves for ${columns} columns`)
  }
  t.end()
})

void t.test('the loop stops at a marker and tells which column came before', (t) => {
  const keys = [
    keyOf('r', 'a', 5, CellType.put),
    keyOf('r', 'b', 7, CellType.deleteColumn),
    keyOf('r', 'b', 6, CellType.put),
  ]
  const cursor = new CheckedCursor(keys)
  const position = new ReadPosition()
  cursor.seek(emptyBytes, 0)
  position.startRow(Buffer.from('r'), 0, 1)
  const step = readPlain(
    cursor,
    position,
    readOf(true),
    new PlainRows(0, 'f'),
    undefined,
    collector([]),
  )
  t.equal(step, ReadStep.rulesNeeded)
  t.equal(position.inRow, true)
  t.equal(position.buffer.toString('latin1', position.rowEnd + 2, position.qualifierEnd), 'a')
  t.equal(cursor.keyEnd - cursor.keyStart, keys[1].length, 'the marker is under the cursor')
  t.end()
})

void t.test('many versions of the empty column are left to the rules beside markers', (t) => {
  const keys = Array.from({ length: 50 }, (_, i) => keyOf('r', '', 100 - i, CellType.put))
  const cursor = new CheckedCursor(keys)
  const position = new ReadPosition()
  cursor.seek(emptyBytes, 0)
  position.startRow(Buffer.from('r'), 0, 1)
  const step = readPlain(
    cursor,
    position,
    readOf(true),
    new PlainRows(0, 'f'),
    undefined,
    collector([]),
  )
  t.equal(step, ReadStep.rulesNeeded)
  t.equal(position.inRow, true)
  t.ok(cursor.valid)
  t.end()
})
