/** The checks that stand around cursors find what breaks the contract, on both sides. */
import t from 'tap'
import { InvariantError } from '../../../../src/base/assert.js'
import {
  CheckedCursor,
  CursorLease,
  uncheckedCursor,
} from '../../../../src/storage/cursor/checked-cursor.js'
import {
  blockMissing,
  throwBlockMissing,
  noPlainRow,
  type BackwardCursor,
} from '../../../../src/storage/cursor/cursor.js'

/** Shows keys in whatever order they are given, one for each move. */
class ScriptedCursor implements BackwardCursor {
  valid = false
  buffer: Buffer = Buffer.from('')
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  missing = false
  private readonly keys: string[]

  constructor(...keys: string[]) {
    this.keys = keys
  }

  seek(): void {
    this.show()
  }

  seekBefore(): void {
    this.show()
  }

  plainRowEnd(): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  plainRowBack(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  next(): void {
    this.show()
  }

  previous(): void {
    this.show()
  }

  private show(): void {
    if (this.missing) {
      throwBlockMissing({ loadBlock: () => Promise.resolve(), releaseBlock: () => undefined }, 0)
    }
    const key = this.keys.shift()
    this.valid = key !== undefined
    if (key === undefined) return
    this.buffer = Buffer.from(`${key}=`)
    this.keyEnd = key.length
    this.valueStart = key.length
    this.valueEnd = this.buffer.length
  }
}

const bytes = (text: string): [Buffer, number] => [Buffer.from(text), text.length]
const keyOf = ({ buffer, keyStart, keyEnd }: CheckedCursor): string =>
  buffer.toString('latin1', keyStart, keyEnd)

void t.test('a cursor whose keys are out of order is found out', (t) => {
  const forward = new CheckedCursor(new ScriptedCursor('b', 'c', 'c'))
  forward.seek(...bytes('a'))
  forward.next()
  t.equal(keyOf(forward), 'c')
  t.throws(() => forward.next(), InvariantError, 'the same key twice')
  const early = new CheckedCursor(new ScriptedCursor('b'))
  t.throws(() => early.seek(...bytes('c')), InvariantError, 'a seek that ends before its key')
  const late = new CheckedCursor(new ScriptedCursor('b'))
  t.throws(() => late.seekBefore(...bytes('b')), InvariantError)
  const backward = new CheckedCursor(new ScriptedCursor('b', 'a', 'b'))
  backward.seekBefore(...bytes('c'))
  backward.previous()
  t.throws(() => backward.previous(), InvariantError)
  t.end()
})

void t.test('a caller that moves a cursor as it may not is found out', (t) => {
  const cursor = new CheckedCursor(new ScriptedCursor('a', 'b', 'c'))
  t.throws(() => cursor.next(), InvariantError, 'invalid')
  cursor.seek(...bytes('a'))
  t.throws(() => cursor.previous(), InvariantError, 'backwards after a seek forwards')
  cursor.seekBefore(...bytes('c'))
  t.throws(() => cursor.next(), InvariantError)
  t.throws(() => cursor.settle(), InvariantError, 'not deferred')
  t.end()
})

void t.test('what is shown goes with the close, which comes once', (t) => {
  const cursor = new CheckedCursor(new ScriptedCursor('a', 'b'))
  cursor.seek(...bytes('a'))
  const { buffer, keyStart, keyEnd } = cursor
  cursor.next()
  t.equal(buffer.toString('latin1', keyStart, keyEnd), 'a', 'still borrowed')
  cursor.close()
  t.equal(buffer[keyStart], 0xdb)
  t.throws(() => cursor.next(), InvariantError)
  t.throws(() => cursor.seek(...bytes('a')), InvariantError)
  t.throws(() => cursor.close(), InvariantError)
  t.end()
})

void t.test('a missing block passes through, and the same call is made again', (t) => {
  const inner = new ScriptedCursor('a', 'b')
  const cursor = new CheckedCursor(inner)
  cursor.seek(...bytes('a'))
  inner.missing = true
  t.throws(() => cursor.next(), blockMissing)
  t.ok(cursor.valid)
  t.equal(blockMissing.index, 0)
  inner.missing = false
  cursor.next()
  t.equal(keyOf(cursor), 'b')
  t.end()
})

void t.test('a lease checks each cursor once and gives all back', (t) => {
  const inner = new ScriptedCursor('a')
  const cursors: BackwardCursor[] = [inner, new ScriptedCursor('b')]
  const lease = new CursorLease()
  lease.checkAll(cursors)
  const [first, second] = [...cursors]
  lease.checkAll(cursors)
  t.equal(cursors[0], first)
  t.equal(uncheckedCursor(first), inner)
  t.equal(uncheckedCursor(inner), inner)
  lease.close(first)
  t.throws(() => lease.close(first), InvariantError)
  lease.closeAll()
  t.throws(() => second.seek(...bytes('a')), InvariantError)
  t.end()
})
