/** Cells made by hand, without an engine. */
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import { CellType } from '../../../../src/storage/cell/cell-type.js'
import { CellView } from '../../../../src/storage/cell/cell-view.js'

/** A view of a put with a value without TTL. */
export function makeCell(
  row: string,
  family: string,
  qualifier: string,
  timestamp = 1,
  value: string | Buffer = 'v',
): CellView {
  const rowBytes = Buffer.from(row, 'latin1')
  const qualifierBytes = Buffer.from(qualifier, 'latin1')
  const key = Buffer.alloc(keyBytesBound(rowBytes.length, qualifierBytes.length))
  const rowEnd = writeEscaped(key, 0, rowBytes)
  const qualifierEnd = writeEscaped(key, writeTerminator(key, rowEnd), qualifierBytes)
  const suffix = writeTerminator(key, qualifierEnd)
  const keyEnd = writeKeySuffix(key, suffix, 0, timestamp, CellType.put, 1, rowEnd)
  const buffer = Buffer.concat([key.subarray(0, keyEnd), Buffer.of(0), Buffer.from(value)])
  const view = new CellView()
  view.setCell(buffer, 0, keyEnd, buffer.length)
  view.family = family
  view.familyIndex = family.charCodeAt(0)
  return view
}
