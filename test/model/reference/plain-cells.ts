/**
 * Cells as plain strings. Bytes are "binary strings" with one UTF-16 unit per byte, so that `<`
 * compares bytes unsigned.
 */
import type { CellTypeName } from '../../../src/storage/cell/cell-type.js'
import type { BytesLike } from '../../../src/storage/cell/column-name.js'

/** A cell without its sequence. */
export interface PlainCell {
  readonly row: string
  readonly family: string
  readonly qualifier: string
  readonly timestamp: bigint
  readonly type: CellTypeName
  readonly value: string
}

/** A result of a read. */
export interface PlainResult {
  readonly cells: readonly PlainCell[]
  readonly partial: boolean
}

/** Converts bytes into a binary string. */
export function binary(bytes: BytesLike): string {
  const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : Buffer.from(bytes)
  return buffer.toString('latin1')
}

/** Converts a binary string into bytes. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Compares binary strings by their bytes: negative, zero or positive. */
export function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
