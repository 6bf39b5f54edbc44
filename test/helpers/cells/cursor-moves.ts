/**
 * Counts the moves of cursors over memtables and files, and the look-ups of rows by address, in
 * place of the time that reads take.
 */
import { MemtableCursor } from '../../../src/storage/memtable/memtable-cursor.js'
import { BlockAddresses } from '../../../src/storage/sstable/blocks/block-addresses.js'
import { SsTableCursor } from '../../../src/storage/sstable/cursor.js'
import { PlainRow } from '../../../src/storage/store/plain-row.js'

type Move = (...values: unknown[]) => unknown

const moves = ['find', 'seek', 'seekBefore', 'seekLocated', 'next', 'previous', 'findAt']

const counted = [MemtableCursor, SsTableCursor, BlockAddresses, PlainRow].map(
  ({ prototype }) => prototype,
)

/** Moves of all such cursors, and look-ups, while `action` runs. */
export function countMoves(action: () => unknown): number {
  let count = 0
  const undo: (() => void)[] = []
  for (const prototype of counted) {
    for (const name of moves) {
      const property = Object.getOwnPropertyDescriptor(prototype, name)
      if (property === undefined) continue
      const original = property.value as Move
      const counting = function (this: unknown, ...values: unknown[]): unknown {
        count++
        return Reflect.apply(original, this, values)
      }
      Object.defineProperty(prototype, name, { ...property, value: counting })
      undo.push(() => Object.defineProperty(prototype, name, property))
    }
  }
  try {
    action()
  } finally {
    for (const restore of undo) restore()
  }
  return count
}
