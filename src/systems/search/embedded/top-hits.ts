/** Finds the first documents of a search in its order, over all segments. */
import { invalidArgument, lowerBound } from '../../../api/index.js'
import type { SearchHit, SearchSort } from '../search-backend.js'
import { allDocs, gallop } from './doc-sets.js'
import { endScores, type SegmentMatches } from './search-run.js'
import type { FieldColumn, SegmentReader, SegmentView } from './segments/segment-reader.js'

/** A document that may be among the first. */
interface Candidate {
  readonly segment: number
  readonly doc: number
  readonly score: number
  /** One per sort order: a term, a score, or undefined for a document without a value. */
  readonly values: readonly (string | number | undefined)[]
}

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
  found: readonly SegmentMatches[],
  views: readonly SegmentView[],
  { sort: given, offset, limit }: Window,
): Promise<{ total: number; hits: SearchHit[] }> {
  const sort = given.length > 0 ? given : [{ field: 'score', descending: true }]
  const wanted = offset + limit
  let total = 0
  const candidates: Candidate[] = []
  for (const [segment, { reader }] of views.entries()) {
    const { docs } = found[segment]
    total += docs.length
    if (docs.length === 0 || limit === 0) continue
    const orders = await segmentOrders(reader, sort, docs)
    for (const first of await firstOf(found[segment], orders, wanted)) {
      candidates.push({ segment, ...first })
    }
  }
  candidates.sort((a, b) => compare(a, b, sort))
  await orderTies(candidates, views, { sort, offset, limit })
  const hits: SearchHit[] = []
  for (const { segment, doc, score } of candidates.slice(offset, wanted)) {
    const { key, fields } = await views[segment].reader.stored(doc)
    hits.push({ key, fields, score })
  }
  return { total, hits }
}

async function segmentOrders(
  reader: SegmentReader,
  sort: readonly SearchSort[],
  docs: Int32Array,
): Promise<SegmentOrder[]> {
  const orders: SegmentOrder[] = []
  for (const { field, descending: isDescending = false } of sort) {
    const column = field === 'score' ? undefined : await reader.column(field)
    if (column?.hasSeveral === true && (await hasSeveral(reader, field, docs))) {
      throw invalidArgument(`a document has several values in ${field}, which cannot sort it`)
    }
    orders.push({ isDescending, column })
  }
  return orders
}

/** Whether one of these documents has several values in the field. */
async function hasSeveral(
  reader: SegmentReader,
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
async function firstOf(
  { docs, score: scoresOf }: SegmentMatches,
  orders: readonly SegmentOrder[],
  wanted: number,
): Promise<Omit<Candidate, 'segment'>[]> {
  const byScore = orders.some(({ column }) => column === undefined)
  const scores = byScore ? await scoresOf(docs) : undefined
  const [{ column, isDescending }] = orders
  const isDefault = orders.length === 1 && column === undefined && isDescending
  const chosen = firstPlaces(docs.length, wanted, isDefault ? byFallingScore : inOrder)
  // Without a sort by score only the chosen documents have to be scored, in ascending order.
  const scored = byScore ? docs : Int32Array.from(chosen, (place) => docs[place]).sort()
  const own = scores ?? (await scoresOf(scored))
  const first = chosen.map((place) => {
    const doc = docs[place]
    const score = own[gallop(scored, 0, doc)]
    const values = orders.map(({ column }) => {
      if (column === undefined) return score
      const ordinal = column.ordinals[doc]
      return ordinal < 0 ? undefined : column.terms[ordinal]
    })
    return { doc, score, values }
  })
  endScores(own)
  return first

  function byFallingScore(a: number, b: number): number {
    return scores![b] - scores![a] || a - b
  }

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

/** Above this number all candidates are sorted. */
const insertedMax = 1000

/** The first `wanted` of the numbers below `size`, in order. */
function firstPlaces(
  size: number,
  wanted: number,
  order: (a: number, b: number) => number,
): number[] {
  const some = wanted > insertedMax ? size : Math.min(size, wanted)
  const kept = allDocs(some).slice().sort(order)
  for (let place = some; place < size; place++) {
    // Most numbers lose against the last one kept, which takes one comparison.
    if (order(place, kept[some - 1]) >= 0) continue
    const at = lowerBound(0, some - 1, (index) => order(kept[index], place) < 0)
    kept.copyWithin(at + 1, at, some - 1)
    kept[at] = place
  }
  return [...kept.subarray(0, wanted)]
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
  { offset, limit, sort }: Window,
): Promise<void> {
  let start = 0
  while (start < candidates.length && start < offset + limit) {
    let end = start + 1
    while (end < candidates.length && compare(candidates[start], candidates[end], sort) === 0) end++
    const tied = candidates.slice(start, end)
    if (end > offset && tied.some(({ segment }) => segment !== tied[0].segment)) {
      const keys = new Map<Candidate, string>()
      for (const candidate of tied) {
        const key = await views[candidate.segment].reader.key(candidate.doc)
        keys.set(candidate, Buffer.from(key).toString('latin1'))
      }
      tied.sort((a, b) => (keys.get(a)! < keys.get(b)! ? -1 : 1))
      for (const [i, candidate] of tied.entries()) candidates[start + i] = candidate
    }
    start = end
  }
}
