/** A cursor stub that is set to one entry, so that a `CellView` can be pointed at the entry. */
import { emptyBytes } from '../../base/bytes.js'
import { InvariantError } from '../../base/assert.js'
import type { Cursor } from '../cursor/cursor.js'

/** A cursor whose entry is assigned; moving the cursor is an assertion failure. */
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

/** Makes an {@link EntryCursor} positioned at an empty entry. */
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
