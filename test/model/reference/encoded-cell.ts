/** Converts cells of the model into the forms of filters, results and the change feed. */
import type { ChangedCell } from '../../../src/api/changes.js'
import { PrintedCell } from '../../../src/api/results/display.js'
import type { Cell } from '../../../src/api/results/result.js'
import { escapeQualifier } from '../../../src/storage/cell/column-name.js'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
  writeTimestamp,
} from '../../../src/storage/cell/cell-key.js'
import { cellTypeCode } from '../../../src/storage/cell/cell-type.js'
import { valueHeaderBytes, writeValueHeader } from '../../../src/storage/cell/cell-value.js'
import { CellView } from '../../../src/storage/cell/cell-view.js'
import { timestampHigh, timestampLow } from '../../../src/storage/cell/timestamp.js'
import type { CellHint } from '../../../src/storage/filter/filter.js'
import { bytesOf, type PlainCell } from './plain-cells.js'
import type { StoredCell } from './reading-rules.js'

/** A cell whose members are its own. */
class ResultCell extends PrintedCell {
  declare readonly row: Buffer
  declare readonly family: string
  declare readonly qualifier: Buffer
  declare readonly timestamp: number
  declare readonly timestampExact: bigint
  declare readonly type: Cell['type']
  declare readonly value: Buffer
  declare readonly sequence: number

  constructor(cell: Cell) {
    super()
    Object.assign(this, cell)
  }
}

/** A cell in the form of results. */
export function asCell(cell: StoredCell): Cell {
  return new ResultCell({
    row: bytesOf(cell.row),
    family: cell.family,
    qualifier: bytesOf(cell.qualifier),
    timestamp: Number(cell.timestamp),
    timestampExact: cell.timestamp,
    type: cell.type,
    value: bytesOf(cell.value),
    sequence: cell.sequence,
  })
}

/** A cell in the form of the change feed. */
export function asChangedCell(table: string, cell: StoredCell): ChangedCell {
  return { ...asCell(cell), table, ttlMilliseconds: cell.ttl }
}

/** A cell in the form of filters; `familyIndex` is the index of its family. */
export function viewOf(cell: StoredCell, familyIndex: number): CellView {
  const key = keyOf(cell)
  const content = bytesOf(cell.value)
  const header = Buffer.alloc(valueHeaderBytes(cell.ttl))
  writeValueHeader(header, 0, cell.ttl)
  const buffer = Buffer.concat([key, header, content])
  const view = new CellView()
  view.set({
    buffer,
    keyStart: 0,
    keyEnd: key.length,
    valueStart: key.length,
    valueEnd: buffer.length,
  })
  view.familyIndex = familyIndex
  view.family = cell.family
  return view
}

/** The key of a cell. Keys sort like cells within a family. */
function keyOf({ row, qualifier, timestamp, type, sequence }: StoredCell): Buffer {
  const rowBytes = bytesOf(row)
  const qualifierBytes = bytesOf(qualifier)
  const key = Buffer.alloc(keyBytesBound(rowBytes.length, qualifierBytes.length))
  const rowEnd = writeEscaped(key, 0, rowBytes)
  const columnStart = writeTerminator(key, rowEnd)
  const columnEnd = writeTerminator(key, writeEscaped(key, columnStart, qualifierBytes))
  const high = timestampHigh(timestamp)
  const low = timestampLow(timestamp)
  const end = writeKeySuffix(key, columnEnd, high, low, cellTypeCode(type)!, sequence, rowEnd)
  return key.subarray(0, end)
}

/** The first key at or after a hint. Without `byTime` the hint's timestamp is ignored. */
export function keyOfHint(hint: CellHint, byTime: boolean): Buffer {
  const { row, qualifier, timestampHigh: high, timestampLow: low } = hint
  const rowPart = Buffer.concat([escapeQualifier(row), terminator])
  if (qualifier === undefined) return rowPart
  const column = Buffer.concat([rowPart, escapeQualifier(qualifier), terminator])
  if (!byTime || high === undefined || low === undefined) return column
  const time = Buffer.alloc(8)
  writeTimestamp(time, 0, high, low)
  return Buffer.concat([column, time])
}

const terminator = Buffer.from([0, 1])

/** Number of bytes that a cell takes in the engine. */
export function encodedBytes({ row, qualifier, value }: PlainCell): number {
  return keyBytesBound(0, 0) + row.length + qualifier.length + 1 + value.length
}
