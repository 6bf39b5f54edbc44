/**
 * Micro-benchmarks of the cell encoding: building the mutation of a put, reading cells back.
 *
 * A call handles `cellsPerCall` cells, so multiply Benchmark.js's rate by it: the names say so.
 */
import { Store } from '../../src/storage/store/store.js'
import { parseFamilyOptions } from '../../src/table/admin/schema.js'
import type Benchmark from 'benchmark'
import { writeEscaped } from '../../src/storage/cell/cell-key.js'
import { CellType } from '../../src/storage/cell/cell-type.js'
import { CellView } from '../../src/storage/cell/cell-view.js'
import { noPlainRow, type Cursor } from '../../src/storage/cursor/cursor.js'
import { MutationBuffer, textBytes } from '../../src/storage/engine/write/mutation-buffer.js'

/** Cells that one call of a benchmark handles. */
export const cellsPerCall = 1000

const valueBytes = 100
const timestampHigh = 0x196
const qualifier = Buffer.from('population')
/** Longest escaped row: half of `makeRows`' rows hold a zero byte. */
const rowBytesMax = 32

/** Rows of 16 bytes; every other one has to be escaped if `binary`. */
function makeRows(binary: boolean): Buffer[] {
  return Array.from({ length: cellsPerCall }, (_, i) => {
    const row = Buffer.from(`city:${String(i * 7919).padStart(11, '0')}`)
    if (binary && i % 2 === 0) row[8] = 0
    return row
  })
}

const store = new Store(1, 'f', parseFamilyOptions('f', {}), [])

function encodeAll(
  target: MutationBuffer,
  rows: readonly Buffer[],
  scratch: Buffer,
  value: Uint8Array | string,
): void {
  target.begin()
  target.open()
  const bytes = typeof value === 'string' ? textBytes(value) : value.length
  for (let i = 0; i < cellsPerCall; i++) {
    const length = writeEscaped(scratch, 0, rows[i])
    const type = CellType.put
    target.row = { buffer: scratch, length }
    target.sequence = i + 1
    target.timestampHigh = timestampHigh
    target.timestampLow = i
    target.add(store, qualifier, type, 0, value, bytes)
  }
}

/** Steps over encoded entries as a cursor would. */
class EntryWalk implements Cursor {
  valid = true
  readonly buffer: Buffer
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  private readonly offsets: readonly number[]
  private index = -1

  /** `offsets` holds start of the key, end of the key and end of the value of each entry. */
  constructor(buffer: Buffer, offsets: readonly number[]) {
    this.buffer = buffer
    this.offsets = offsets
  }

  seek(): void {
    this.index = -1
    this.next()
  }

  seekBefore(): void {
    throw new Error('entries are walked forward only')
  }

  plainRowEnd(): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  next(): void {
    const at = 3 * ++this.index
    this.valid = at < this.offsets.length
    if (!this.valid) return
    this.keyStart = this.offsets[at]
    this.keyEnd = this.offsets[at + 1]
    this.valueStart = this.keyEnd
    this.valueEnd = this.offsets[at + 2]
  }
}

function makeWalk(rows: readonly Buffer[]): EntryWalk {
  const encoded = new MutationBuffer()
  encodeAll(encoded, rows, Buffer.alloc(rowBytesMax), Buffer.alloc(valueBytes, 'v'))
  const { buffer, entryCount, keyStarts, keyEnds, valueEnds } = encoded
  const offsets: number[] = []
  for (let i = 0; i < entryCount; i++) offsets.push(keyStarts[i], keyEnds[i], valueEnds[i])
  return new EntryWalk(buffer, offsets)
}

function addEncoding(suite: Benchmark.Suite): void {
  const target = new MutationBuffer()
  const scratch = Buffer.alloc(rowBytesMax)
  const plain = makeRows(false)
  const binary = makeRows(true)
  const bytes = Buffer.alloc(valueBytes, 'v')
  const text = 'v'.repeat(valueBytes)
  suite.add(`encode a cell, bytes (x ${cellsPerCall})`, () => {
    encodeAll(target, plain, scratch, bytes)
  })
  suite.add(`encode a cell, row with escapes (x ${cellsPerCall})`, () => {
    encodeAll(target, binary, scratch, bytes)
  })
  suite.add(`encode a cell, text (x ${cellsPerCall})`, () => {
    encodeAll(target, plain, scratch, text)
  })
}

function addDecoding(suite: Benchmark.Suite): void {
  const walk = makeWalk(makeRows(true))
  const view = new CellView()
  suite.add(`decode a cell view (x ${cellsPerCall})`, () => {
    let sum = 0
    for (walk.seek(); walk.valid; walk.next()) {
      view.set(walk)
      sum += view.sequence + view.timestampLow + view.qualifierEnd - view.qualifierStart
    }
    const expected = cellsPerCall * (cellsPerCall + qualifier.length)
    if (sum !== expected) throw new Error(`wrong cells: ${sum}, expected ${expected}`)
  })
  suite.add(`decode a cell view, copy row, qualifier and value (x ${cellsPerCall})`, () => {
    let bytes = 0
    for (walk.seek(); walk.valid; walk.next()) {
      view.set(walk)
      bytes += view.copyRow().length + view.copyQualifier().length + view.copyValue().length
    }
    const expected = cellsPerCall * (16 + qualifier.length + valueBytes)
    if (bytes !== expected) throw new Error(`wrong cells: ${bytes} bytes, expected ${expected}`)
  })
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  addEncoding(suite)
  addDecoding(suite)
}
