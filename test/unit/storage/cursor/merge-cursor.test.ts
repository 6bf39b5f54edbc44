import t from 'tap'
import {
  noPlainRow,
  type BackwardCursor,
  type Cursor,
} from '../../../../src/storage/cursor/cursor.js'
import { MergeCursor } from '../../../../src/storage/cursor/merge-cursor.js'
import { generatorOf } from '../../../crash/recovery.js'

/** A cursor over keys in an array; values are empty. */
class ListCursor implements BackwardCursor {
  valid = false
  buffer: Buffer = Buffer.alloc(0)
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  readonly isInMemory = true
  private readonly keys: readonly Buffer[]
  private at = 0

  constructor(keys: readonly Buffer[]) {
    this.keys = keys
  }

  seek(key: Uint8Array, length: number): void {
    const wanted = Buffer.from(key.subarray(0, length))
    const found = this.keys.findIndex((known) => Buffer.compare(known, wanted) >= 0)
    this.show(found < 0 ? this.keys.length : found)
  }

  seekBefore(key: Uint8Array, length: number): void {
    const wanted = Buffer.from(key.subarray(0, length))
    this.show(this.keys.findLastIndex((known) => Buffer.compare(known, wanted) < 0))
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
    this.show(this.at + 1)
  }

  previous(): void {
    this.show(this.at - 1)
  }

  private show(at: number): void {
    this.at = at
    this.valid = at >= 0 && at < this.keys.length
    if (!this.valid) return
    this.buffer = this.keys[at]
    this.keyEnd = this.buffer.length
    this.valueStart = this.keyEnd
    this.valueEnd = this.keyEnd
  }
}

function keyOf(cursor: Cursor): string {
  return cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd)
}

const seed = Number(process.env.CELLAR_SEED ?? 20261121)

void t.test(`a merge of random lists is their sorted union (seed ${seed})`, async (t) => {
  const random = generatorOf(seed)
  const letters = ['a', 'b', 'c']
  // Long beginnings that many keys share, and that the keys behind leave.
  const beginnings = ['', '', 'aaaaaaaa', 'aaaabbbb', 'aaaabbbbcccc']
  const oneOf = (texts: readonly string[]): string => texts[Math.floor(random() * texts.length)]
  const randomKey = (): string =>
    oneOf(beginnings) +
    Array.from({ length: 1 + Math.floor(random() * 5) }, () => oneOf(letters)).join('')
  for (let round = 0; round < 300; round++) {
    const lists = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
      Array.from(new Set(Array.from({ length: Math.floor(random() * 16) }, randomKey))).sort(),
    )
    const merge = new MergeCursor()
    const all = lists.flat().sort()
    for (let step = 0; step < 4; step++) {
      const cursors = lists.map((keys) => new ListCursor(keys.map((key) => Buffer.from(key))))
      merge.setChildren(cursors)
      const sought = randomKey()
      const within = random() < 0.5
      const key = Buffer.from(sought)
      if (within) startWithin(merge, cursors, key)
      else merge.seek(key, key.length)
      const expected = all.filter((known) => (within ? known.startsWith(sought) : known >= sought))
      const found: string[] = []
      while (merge.valid && found.length < expected.length) {
        found.push(keyOf(merge))
        merge.next()
      }
      const before: string[] = []
      for (merge.seekBefore(key, key.length); merge.valid; merge.previous()) {
        before.unshift(keyOf(merge))
      }
      t.same(
        before,
        all.filter((known) => known < sought),
        `before ${sought}`,
      )
      t.same(found, expected, `${within ? 'within' : 'from'} ${sought} of ${JSON.stringify(lists)}`)
    }
  }
})

void t.test('children without an entry that starts with the key take no part', async (t) => {
  const merge = new MergeCursor()
  const lists = [['b'], ['ab', 'c']].map((keys) => keys.map((key) => Buffer.from(key)))
  const cursors = lists.map((keys) => new ListCursor(keys))
  merge.setChildren(cursors)
  startWithin(merge, cursors, Buffer.from('a'))
  t.equal(keyOf(merge), 'ab')
  merge.next()
  t.equal(merge.valid, false, 'the entry behind is not asked for')
  merge.setChildren(cursors)
  startWithin(merge, cursors, Buffer.from('d'))
  t.equal(merge.valid, false)
})

/** Positions the children of a merge, and begins with those whose entries start with the key. */
function startWithin(merge: MergeCursor, children: readonly ListCursor[], key: Buffer): void {
  for (const child of children) child.seek(key, key.length)
  merge.startWithin(key, key.length)
}
