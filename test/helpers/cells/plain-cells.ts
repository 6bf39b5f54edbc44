/** Results as plain strings, in which the reference model and the engine are compared. */
import type { Result } from '../../../src/api/index.js'
import { binary, type PlainCell, type PlainResult } from '../../model/reference/plain-cells.js'

export { binary, type PlainCell, type PlainResult }

/** Decodes a result of the engine. */
export function plainResult(result: Result): PlainResult {
  const cells = result.cells().map((cell) => ({
    row: binary(cell.row),
    family: cell.family,
    qualifier: binary(cell.qualifier),
    timestamp: cell.timestampExact,
    type: cell.type,
    value: binary(cell.value),
  }))
  return { cells, partial: result.partial }
}

/** A short text for messages: `row|family:qualifier@timestamp=value`. */
export function showCell(cell: PlainCell): string {
  const name = `${quote(cell.row)}|${cell.family}:${quote(cell.qualifier)}@${cell.timestamp}`
  return cell.type === 'Put' ? `${name}=${quote(cell.value)}` : `${name}!${cell.type}`
}

/** A short text of a result; equal texts mean equal results. */
export function showResult(result: PlainResult): string {
  return `${result.partial ? 'piece' : 'row'} [${result.cells.map(showCell).join(', ')}]`
}

function quote(bytes: string): string {
  return bytes.replace(/[^\x21-\x7e]/g, (unit) => {
    return `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}
