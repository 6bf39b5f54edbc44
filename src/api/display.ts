/**
 * How stored things look when they are printed or made JSON.
 *
 * Bytes are shown as text if they are UTF-8 without control characters, else as HBase's shell shows
 * them: printable ASCII as it is, other bytes as `\xNN`. The forms are for people; nothing reads
 * them back.
 */
import { isUtf8 } from 'node:buffer'
import type { Cell, Result } from './result.js'

/** The name of the method that Node's `console.log` calls. */
export const inspectSymbol: unique symbol = Symbol.for(
  'nodejs.util.inspect.custom',
) as unknown as typeof inspectSymbol

/** Node's `util.inspect`, as it is handed to that method. */
export type Inspect = (value: unknown, options: object) => string

const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
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

/** A cell as JSON shows it. */
export interface CellDisplay {
  /** `family:qualifier`. */
  readonly column: string
  /** Milliseconds; text if it is no safe integer. */
  readonly timestamp: number | string
  /** Absent for puts. */
  readonly type?: string | undefined
  readonly value: string
}

/** A result as JSON shows it. */
export interface ResultDisplay {
  /** Absent if the result has no cells. */
  readonly row?: string | undefined
  readonly cells: readonly CellDisplay[]
  readonly partial?: true | undefined
  readonly exists?: boolean | undefined
  readonly cursor?: string | undefined
}

/** The form of a cell for people. */
export function shownCell(cell: Cell): CellDisplay {
  const { family, qualifier, timestamp, timestampExact, type, value } = cell
  return {
    column: `${family}:${shownBytes(qualifier)}`,
    timestamp: Number.isSafeInteger(timestamp) ? timestamp : String(timestampExact),
    ...(type === 'Put' ? {} : { type }),
    value: shownBytes(value),
  }
}

/** The form of a result for people. */
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
