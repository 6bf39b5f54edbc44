/** A stand-in for a cursor that is set by hand to one entry, to point a `CellView` at it. */
import { emptyBytes } from '../../base/bytes.js'
import { InvariantError } from '../../base/assert.js'
import type { Cursor } from '../cursor/cursor.js'

/** A cursor whose entry is assigned; moving it is an assertion failure. */
export interface EntryCursor extends Cursor {
  buffer: Buffer
  keyStart: number
  keyEnd: number
  valueStart: number
  valueEnd: number
}

function immovable(): never {
  throw new InvariantError('an entry cursor does not move')
}

/** Makes an {@link EntryCursor} at an empty entry. */
export function emptyCursor(): EntryCursor {
  return {
    valid: true,
    buffer: emptyBytes,
    keyStart: 0,
    keyEnd: 0,
    valueStart: 0,
    valueEnd: 0,
    seek: immovable,
    seekBefore: immovable,
    next: immovable,
  }
}
