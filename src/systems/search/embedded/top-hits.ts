/** Finds the first documents of a search in its order, over all segments. */
import { invalidArgument } from '../../../api/index.js'
import type { SearchHit, SearchSort } from '../search-backend.js'
import type { FieldColumn } from './segments/segment-reader.js'
import type { SearchRun, SegmentView } from './search-run.js'

/** A document that may be among the first. */
interface Candidate {
  readonly segment: number
  readonly doc: number
  readonly score: number
  /** One per sort order: a term, a score, or undefined for a document without a value. */
  readonly values: readonly (string | number | undefined)[]
}

/** One sort order within one segment. */
interface SegmentOrder {
  readonly isDescending: boolean
  /** The values to sort by; undefined: sorts by score. */
  readonly column: FieldColumn | undefined
}

/** The requested part of the result. */
export interface Window {
  readonly sort: readonly SearchSort[]
  readonly offset: number
  readonly limit: number
}

/** The result of a search; `ERR_INVALID_ARGUMENT` if a sort field has several values. */
export async function topHits(
  run: SearchRun,
  views: readonly SegmentView[],
  window: Window,
): Promise<{ total: number; hits: SearchHit[] }> {
  const sort = window.sort.length > 0 ? window.sort : [{ field: 'score', descending: true }]
  const wanted = window.offset + window.limit
  let total = 0
  const candidates: Candidate[] = []
  for (const [segment, view] of views.entries()) {
    const docs = run.match(segment)
    total += docs.length
    if (docs.length === 0 || window.limit === 0) continue
    const orders = await segmentOrders(view, sort, docs)
    for (const first of firstOf(run, segment, docs, orders, wanted)) candidates.push(first)
  }
  candidates.sort((a, b) => compare(a, b, sort))
  await orderTies(candidates, views, window, sort)
  const hits: SearchHit[] = []
  for (const { segment, doc, score } of candidates.slice(window.offset, wanted)) {
    const { key, fields } = await views[segment].reader.stored(doc)
    hits.push({ key, fields, score })
  }
  return { total, hits }
}

async function segmentOrders(
  { reader }: SegmentView,
  sort: readonly SearchSort[],
  docs: Int32Array,
): Promise<SegmentOrder[]> {
  const orders: SegmentOrder[] = []
  for (const { field, descending } of sort) {
    const isDescending = descending === true
    if (field === 'score') orders.push({ isDescending, column: undefined })
    else {
      const column = await reader.column(field)
      if (column.hasSeveral && (await hasSeveral(reader, field, docs))) {
        throw invalidArgument(`a document has several values in ${field}, which cannot sort it`)
      }
      orders.push({ isDescending, column })
    }
  }
  return orders
}

/** Whether one of these documents has several values in the field. */
async function hasSeveral(
  reader: SegmentView['reader'],
  field: string,
  docs: Int32Array,
): Promise<boolean> {
  const seen = new Uint8Array(reader.docs)
  for (const doc of docs) seen[doc] = 1
  let found = false
  await reader.eachTerm(field, {}, (_, withTerm) => {
    for (const doc of withTerm) {
      if (seen[doc] === 2) found = true
      else if (seen[doc] === 1) seen[doc] = 2
    }
  })
  return found
}

/** The first `wanted` documents of a segment. Ties are in the order of their keys. */
function firstOf(
  run: SearchRun,
  segment: number,
  docs: Int32Array,
  orders: readonly SegmentOrder[],
  wanted: number,
): Candidate[] {
  const byScore = orders.some(({ column }) => column === undefined)
  const scores = byScore ? run.score(segment, docs) : undefined
  const [only] = orders
  const isDefault = orders.length === 1 && only.column === undefined && only.isDescending
  const chosen = isDefault ? bestPlaces(scores!, wanted) : firstPlaces(docs.length, wanted, inOrder)
  const scoreOf = scores === undefined ? scoresOf(run, segment, docs, chosen) : undefined
  return chosen.map((place) => {
    const doc = docs[place]
    const score = scores?.[place] ?? scoreOf!.get(doc)!
    const values = orders.map(({ column }) => {
      if (column === undefined) return score
      const ordinal = column.ordinals[doc]
      return ordinal < 0 ? undefined : column.terms[ordinal]
    })
    return { segment, doc, score, values }
  })

  function inOrder(a: number, b: number): number {
    for (const { column, isDescending } of orders) {
      const left = column === undefined ? scores![a] : column.ordinals[docs[a]]
      const right = column === undefined ? scores![b] : column.ordinals[docs[b]]
      if (left === right) continue
      // Documents without a value sort last in both directions.
      if (column !== undefined && (left < 0 || right < 0)) return left < 0 ? 1 : -1
      return left < right === isDescending ? 1 : -1
    }
    return a - b
  }
}

/** Scores by document number. */
function scoresOf(
  run: SearchRun,
  segment: number,
  docs: Int32Array,
  places: readonly number[],
): Map<number, number> {
  const chosen = Int32Array.from(places, (place) => docs[place]).sort()
  const scores = run.score(segment, chosen)
  return new Map(Array.from(chosen, (doc, i) => [doc, scores[i]]))
}

function byFallingScore(scores: Float64Array, a: number, b: number): number {
  return scores[b] - scores[a] || a - b
}

/** Indexes of the `wanted` greatest scores, in descending order; ties keep their order. */
function bestPlaces(scores: Float64Array, wanted: number): number[] {
  const order = (a: number, b: number): number => byFallingScore(scores, a, b)
  if (scores.length <= wanted || wanted > 500) return firstPlaces(scores.length, wanted, order)
  // Most documents lose against the worst of the heap, which takes one comparison.
  const kept = firstPlaces(wanted, wanted, order)
  let worst = scores[kept[wanted - 1]]
  for (let place = wanted; place < scores.length; place++) {
    if (scores[place] <= worst) continue
    let low = 0
    let high = wanted - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (scores[kept[middle]] >= scores[place]) low = middle + 1
      else high = middle
    }
    kept.copyWithin(low + 1, low, wanted - 1)
    kept[low] = place
    worst = scores[kept[wanted - 1]]
  }
  return kept
}

/** The first `wanted` of the numbers below `size`, in order. */
function firstPlaces(
  size: number,
  wanted: number,
  order: (a: number, b: number) => number,
): number[] {
  // A heap whose root is the worst of the numbers kept.
  const heap: number[] = []
  for (let place = 0; place < size; place++) {
    if (heap.length < wanted) {
      heap.push(place)
      let at = heap.length - 1
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (order(heap[parent], heap[at]) >= 0) break
        ;[heap[parent], heap[at]] = [heap[at], heap[parent]]
        at = parent
      }
    } else if (order(place, heap[0]) < 0) {
      heap[0] = place
      let at = 0
      for (;;) {
        let child = 2 * at + 1
        if (child >= heap.length) break
        if (child + 1 < heap.length && order(heap[child + 1], heap[child]) > 0) child++
        if (order(heap[at], heap[child]) >= 0) break
        ;[heap[at], heap[child]] = [heap[child], heap[at]]
        at = child
      }
    }
  }
  return heap.sort(order)
}

/** Compares documents of different segments, without their keys. */
function compare(a: Candidate, b: Candidate, sort: readonly SearchSort[]): number {
  for (const [i, { descending }] of sort.entries()) {
    const left = a.values[i]
    const right = b.values[i]
    if (left === right) continue
    if (left === undefined || right === undefined) return left === undefined ? 1 : -1
    return left < right === (descending === true) ? 1 : -1
  }
  return 0
}

/** Sorts tied documents of different segments by key, as far as they are in the window. */
async function orderTies(
  candidates: Candidate[],
  views: readonly SegmentView[],
  { offset, limit }: Window,
  sort: readonly SearchSort[],
): Promise<void> {
  let start = 0
  while (start < candidates.length && start < offset + limit) {
    let end = start + 1
    while (end < candidates.length && compare(candidates[start], candidates[end], sort) === 0) end++
    const tied = candidates.slice(start, end)
    const isMixed = tied.some(({ segment }) => segment !== tied[0].segment)
    if (isMixed && end > offset) {
      const keyed: { candidate: Candidate; key: string }[] = []
      for (const candidate of tied) {
        const key = await views[candidate.segment].reader.key(candidate.doc)
        keyed.push({ candidate, key: Buffer.from(key).toString('latin1') })
      }
      keyed.sort((a, b) => (a.key < b.key ? -1 : 1))
      for (const [i, { candidate }] of keyed.entries()) candidates[start + i] = candidate
    }
    start = end
  }
}
