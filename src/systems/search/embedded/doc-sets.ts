/** Set operations on ascending lists of document numbers. */

/** The empty list. */
export const noDocs = new Int32Array(0)

let counting = noDocs

/** The list 0, 1, … `size` - 1. The list is shared and must not be changed. */
export function allDocs(size: number): Int32Array {
  if (counting.length < size) {
    counting = new Int32Array(Math.max(size, counting.length * 2))
    for (let i = 0; i < counting.length; i++) counting[i] = i
  }
  return counting.subarray(0, size)
}

/** A list gets a bitmap on its second use, if it has at least one number in each 32 on average. */
export const numbersPerBitmapEntry = 32

/** Bitmaps by list; undefined after the first use. The lists of a single search never get one. */
const bitmaps = new WeakMap<Int32Array, Uint32Array | undefined>()

function bitmapOf(docs: Int32Array): Uint32Array | undefined {
  const last = docs.length === 0 ? 0 : docs[docs.length - 1]
  if (docs.length * numbersPerBitmapEntry <= last) return undefined
  const known = bitmaps.get(docs)
  if (known !== undefined) return known
  if (!bitmaps.has(docs)) {
    bitmaps.set(docs, undefined)
    return undefined
  }
  const bits = new Uint32Array((last >>> 5) + 1)
  for (const doc of docs) bits[doc >>> 5] |= 1 << (doc & 31)
  bitmaps.set(docs, bits)
  return bits
}

/** Numbers that are in both lists. */
export function intersection(a: Int32Array, b: Int32Array): Int32Array {
  const [few, many] = a.length <= b.length ? [a, b] : [b, a]
  const found = new Int32Array(few.length + 1)
  let size = 0
  const bits = bitmapOf(many)
  if (bits !== undefined) {
    // Branch-free: each number is written, and overwritten by the next unless its bit is set.
    const end = bits.length * 32
    for (const doc of few) {
      if (doc >= end) break
      found[size] = doc
      size += (bits[doc >>> 5] >>> (doc & 31)) & 1
    }
    return found.subarray(0, size)
  }
  let at = 0
  const isSparse = few.length * 8 < many.length
  for (const doc of few) {
    if (isSparse) at = gallop(many, at, doc)
    else while (at < many.length && many[at] < doc) at++
    if (at >= many.length) break
    if (many[at] === doc) found[size++] = doc
  }
  return found.subarray(0, size)
}

/** Numbers that are in at least one list; all are less than `size`. */
export function union(lists: readonly Int32Array[], size: number): Int32Array {
  if (lists.length === 0) return noDocs
  const total = lists.reduce((sum, list) => sum + list.length, 0)
  if (lists.length <= 2 || total * 16 < size) {
    const sorted = [...lists].sort((a, b) => a.length - b.length)
    return sorted.reduce((all, list) => unionOfTwo(all, list))
  }
  const marks = new Uint8Array(size)
  for (const list of lists) for (const doc of list) marks[doc] = 1
  return marked(marks)
}

/** Indexes of the marks that are 1. */
export function marked(marks: Uint8Array): Int32Array {
  let count = 0
  for (let doc = 0; doc < marks.length; doc++) count += marks[doc]
  // Branch-free: each index is written, and overwritten by the next unless it is marked.
  const docs = new Int32Array(count + 1)
  let size = 0
  for (let doc = 0; doc < marks.length; doc++) {
    docs[size] = doc
    size += marks[doc]
  }
  return docs.subarray(0, size)
}

function unionOfTwo(a: Int32Array, b: Int32Array): Int32Array {
  const found = new Int32Array(a.length + b.length)
  let size = 0
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const left = a[i]
    const right = b[j]
    found[size++] = left < right ? left : right
    if (left <= right) i++
    if (right <= left) j++
  }
  while (i < a.length) found[size++] = a[i++]
  while (j < b.length) found[size++] = b[j++]
  return found.subarray(0, size)
}

/** Numbers of `a` that are not in `b`. */
export function difference(a: Int32Array, b: Int32Array): Int32Array {
  const found = new Int32Array(a.length)
  let size = 0
  let at = 0
  for (const doc of a) {
    at = gallop(b, at, doc)
    if (b[at] !== doc) found[size++] = doc
  }
  return found.subarray(0, size)
}

/** Index of the first number at or above `doc`, from `at` on, by an exponential search. */
export function gallop(docs: Int32Array, at: number, doc: number): number {
  let low = at
  let stride = 1
  while (low + stride < docs.length && docs[low + stride] < doc) {
    low += stride
    stride *= 2
  }
  let high = Math.min(docs.length, low + stride + 1)
  while (low < high) {
    const middle = (low + high) >>> 1
    if (docs[middle] < doc) low = middle + 1
    else high = middle
  }
  return low
}
