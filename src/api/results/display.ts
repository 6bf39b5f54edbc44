/**
 * The forms of cells and results for printing and for JSON.
 *
 * Bytes are shown as text if they are UTF-8 without control characters, and without a part that
 * looks like the `\xNN` of a byte. Otherwise they are shown as in HBase's shell: printable ASCII
 * unchanged, other bytes and backslashes as `\xNN`. So no two values look alike.
 * These forms are for people; no code reads them.
 */
import { isUtf8 } from 'node:buffer'
import type { CellTypeName } from '../../storage/cell/cell-type.js'
import type { Cell, Result } from './result.js'

/** The name of the method that Node's `console.log` calls. */
export const inspectSymbol: unique symbol = Symbol.for(
  'nodejs.util.inspect.custom',
) as unknown as typeof inspectSymbol

/** The function `util.inspect`, which Node passes to that method. */
export type Inspect = (value: unknown, options: object) => string

/**
 * Control characters, those that change the direction of the text around them, and what stands for
 * a byte.
 */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\\x[0-9a-fA-F]{2}/
const backslash = 0x5c

/** Bytes as text, for people. */
export function shownBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) {
    const text = bytes.toString('utf8')
    if (!unprintable.test(text)) return text
  }
  let text = ''
  for (const byte of bytes) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== backslash
    text += isPlain ? String.fromCharCode(byte) : `\\x${hex(byte)}`
  }
  return text
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}

/** The form of a cell in JSON. */
export interface CellDisplay {
  /** `family:qualifier`. */
  readonly column: string
  /** Milliseconds; a string if it is no safe integer. */
  readonly timestamp: number | string
  /** Absent for puts. */
  readonly type?: string | undefined
  /** The value as text. */
  readonly value: string
}

/** The form of a result in JSON. */
export interface ResultDisplay {
  /** Absent if the result has no cells. */
  readonly row?: string | undefined
  /** In HBase's order. */
  readonly cells: readonly CellDisplay[]
  /** Present if more cells of the row follow. */
  readonly partial?: true | undefined
  /** As `Result.exists`. */
  readonly exists?: boolean | undefined
  /** The present row of a scan that reports cursors. */
  readonly cursor?: string | undefined
}

/** Makes the form of a cell for people. */
export function shownCell(cell: Cell): CellDisplay {
  const { family, qualifier, timestamp, timestampExact, type, value } = cell
  return {
    column: `${family}:${shownBytes(qualifier)}`,
    timestamp: Number.isSafeInteger(timestamp) ? timestamp : String(timestampExact),
    ...(type === 'Put' ? {} : { type }),
    value: shownBytes(value),
  }
}

/** Makes the form of a result for people. */
export function shownResult(result: Result): ResultDisplay {
  const { row, partial, exists, cursor } = result
  return {
    ...(row === undefined ? {} : { row: shownBytes(row) }),
    cells: result.cells().map(shownCell),
    ...(partial ? { partial } : {}),
    ...(exists === undefined ? {} : { exists }),
    ...(cursor === undefined ? {} : { cursor: shownBytes(cursor) }),
  }
}

/** The forms of a cell for people, whatever holds its members. */
export abstract class PrintedCell implements Cell {
  abstract readonly row: Buffer
  abstract readonly family: string
  abstract readonly qualifier: Buffer
  abstract readonly timestamp: number
  abstract readonly timestampExact: bigint
  abstract readonly type: CellTypeName
  abstract readonly value: Buffer
  abstract readonly sequence: number

  /** The cell in a form for people, for `JSON.stringify`. Nothing reads that form back. */
  toJSON(): CellDisplay {
    return shownCell(this)
  }

  /** The same with the row, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    return `Cell ${inspect({ row: shownBytes(this.row), ...this.toJSON() }, options)}`
  }
}
