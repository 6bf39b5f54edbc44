/**
 * One search over the committed segments. Loads all parts that the plan refers to; then documents
 * are scored. Both leave turns of the event loop to other work.
 *
 * Scores are BM25 with Lucene's constants. Removed documents count in the document frequency of a
 * term until their segment is merged, as in Lucene.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { allDocs, difference, gallop, intersection, noDocs, union } from './doc-sets.js'
import { docsInRange, phraseCounts, sharesOf } from './leaves.js'
import type { BooleanNode, PhraseNode, PlanNode, TermNode } from './plan.js'
import type { Postings } from './segments/segment-format.js'
import type { SegmentView } from './segments/segment-reader.js'

/**
 * Adds scores to those of ascending documents; a document without a match gets 0. A combination
 * takes several turns of the event loop.
 */
type AddScores = (docs: Int32Array, scores: Float64Array) => Promise<void> | void

/** The matches of a node of the plan in one segment, including removed documents. */
interface NodeMatches {
  readonly docs: Int32Array
  readonly addScores: AddScores
}

/** The matches of a search in one segment. */
export interface SegmentMatches {
  /** Documents that match and are not removed, ascending. */
  readonly docs: Int32Array
  /** Scores of some of the documents, ascending. {@link endScores} ends their use. */
  readonly score: (docs: Int32Array) => Promise<Float64Array>
}

const noScores: AddScores = () => undefined

/** Memory for scores that no search uses at present. */
let spare: Float64Array = new Float64Array(1024)

/** Gives back the memory of scores. */
export function endScores({ buffer }: Float64Array): void {
  const memory = new Float64Array(buffer)
  if (memory.length > spare.length) spare = memory
}

function emptyScores(size: number): Float64Array {
  if (spare.length < size) return new Float64Array(2 * size).subarray(0, size)
  const scores = spare.subarray(0, size).fill(0)
  spare = new Float64Array(0)
  return scores
}

/** Time between the turns of one search, in milliseconds. */
const turnMilliseconds = 10

/** Gives turns of the event loop to other work, between the parts of one search. */
class Turns {
  #endsAt = performance.now() + turnMilliseconds

  /** Undefined while the turn is not over. */
  rest(): Promise<void> | undefined {
    if (performance.now() < this.#endsAt) return undefined
    return nextTurn().then(() => {
      this.#endsAt = performance.now() + turnMilliseconds
    })
  }
}

/** Finds the matches by segment. Loads the parts for scores only if `isScored`. */
export async function searchSegments(
  views: readonly SegmentView[],
  [plan, ...filters]: readonly PlanNode[],
  isScored: boolean,
): Promise<readonly SegmentMatches[]> {
  const turns = new Turns()
  const found = await matchesOf(plan, views, isScored, turns)
  const limits: (readonly NodeMatches[])[] = []
  for (const filter of filters) limits.push(await matchesOf(filter, views, false, turns))
  return views.map(({ removed }, segment) => {
    const { docs: own, addScores } = found[segment]
    const limited = limits.reduce((docs, limit) => intersection(docs, limit[segment].docs), own)
    const score = async (docs: Int32Array): Promise<Float64Array> => {
      const scores = emptyScores(docs.length)
      await addScores(docs, scores)
      return scores
    }
    return { docs: removed.length === 0 ? limited : difference(limited, removed), score }
  })
}

async function matchesOf(
  node: PlanNode,
  views: readonly SegmentView[],
  isScored: boolean,
  turns: Turns,
): Promise<readonly NodeMatches[]> {
  switch (node.type) {
    case 'none':
      return views.map(() => ({ docs: noDocs, addScores: noScores }))
    case 'all': {
      const addScores: AddScores = (docs, scores) => {
        for (let i = 0; i < docs.length; i++) scores[i] += node.boost
      }
      return views.map(({ reader }) => ({ docs: allDocs(reader.docs), addScores }))
    }
    case 'boolean':
      return matchesOfBoolean(node, views, isScored, turns)
    case 'range': {
      const matches: NodeMatches[] = []
      for (const { reader } of views) {
        const found = await docsInRange(reader, node)
        const addScores: AddScores = (docs, scores) => {
          eachCommon(docs, found, (i) => {
            scores[i] += node.boost
          })
        }
        matches.push({ docs: found, addScores })
      }
      return matches
    }
    case 'term':
    case 'phrase':
      return matchesOfTerms(node, views, isScored)
  }
}

async function matchesOfBoolean(
  node: BooleanNode,
  views: readonly SegmentView[],
  isScored: boolean,
  turns: Turns,
): Promise<readonly NodeMatches[]> {
  const all = async (
    nodes: readonly PlanNode[],
    isPartScored: boolean,
  ): Promise<(readonly NodeMatches[])[]> => {
    const found: (readonly NodeMatches[])[] = []
    for (const each of nodes) {
      found.push(await matchesOf(each, views, isPartScored, turns))
      const rest = turns.rest()
      if (rest !== undefined) await rest
    }
    return found
  }
  const must = await all(node.must, isScored)
  const should = await all(node.should, isScored)
  const mustNot = await all(node.mustNot, false)
  const isNested = [...node.must, ...node.should].map(({ type }) => type === 'boolean')
  return views.map(({ reader }, segment) => {
    const docsOf = (parts: readonly (readonly NodeMatches[])[]): Int32Array[] => {
      return parts.map((part) => part[segment].docs)
    }
    const required = docsOf(must).sort((left, right) => left.length - right.length)
    const some =
      required.length === 0 ? union(docsOf(should), reader.docs) : required.reduce(intersection)
    const scored = [...must, ...should].map((part, i) => {
      return isNested[i] ? scoresWithin(part[segment]) : part[segment].addScores
    })
    const addScores: AddScores = async (docs, scores) => {
      for (const add of scored) {
        const added = add(docs, scores)
        if (added !== undefined) await added
        const rest = turns.rest()
        if (rest !== undefined) await rest
      }
    }
    return { docs: docsOf(mustNot).reduce(difference, some), addScores }
  })
}

/** The parts of a nested combination score only where the whole combination matches. */
function scoresWithin({ docs: found, addScores }: NodeMatches): AddScores {
  return async (docs, scores) => {
    const matching = intersection(docs, found)
    const some = new Float64Array(matching.length)
    await addScores(matching, some)
    eachCommon(docs, matching, (i, at) => {
      scores[i] += some[at]
    })
  }
}

async function matchesOfTerms(
  node: TermNode | PhraseNode,
  views: readonly SegmentView[],
  isScored: boolean,
): Promise<readonly NodeMatches[]> {
  const { field } = node
  const terms = node.type === 'term' ? [node.term] : node.terms
  const frequencies = new Map<string, number>()
  const found: Postings<Int32Array>[] = []
  let fieldDocs = 0
  let fieldWords = 0
  for (const { reader } of views) {
    const described = reader.field(field)
    fieldDocs += described?.docs ?? 0
    fieldWords += described?.words ?? 0
    let isWhole = true
    for (const term of new Set(terms)) {
      const postings = await reader.postings(field, term)
      isWhole &&= postings !== undefined
      frequencies.set(term, (frequencies.get(term) ?? 0) + (postings?.docs.length ?? 0))
    }
    if (!isWhole) found.push({ docs: noDocs, counts: undefined })
    else if (node.type === 'phrase') found.push(await phraseCounts(reader, node))
    else found.push((await reader.postings(field, node.term))!)
  }
  const averageLength = fieldDocs === 0 ? 1 : fieldWords / fieldDocs
  let factor = 0
  for (const term of terms) {
    const frequency = frequencies.get(term)!
    factor += Math.log(1 + (fieldDocs - frequency + 0.5) / (frequency + 0.5))
  }
  const matches: NodeMatches[] = []
  for (const [segment, counted] of found.entries()) {
    const { docs } = counted
    const isNeeded = isScored && docs.length > 0
    const shares =
      isNeeded && (await sharesOf(counted, views[segment].reader, field, averageLength))
    const addScores = shares ? termScores(docs, shares, factor * node.boost) : noScores
    matches.push({ docs, addScores })
  }
  return matches
}

/** The scores of a term in the documents found, with the share of each in the score. */
function termScores(found: Int32Array, shares: Float64Array, factor: number): AddScores {
  return (docs, scores) => {
    // The hot loops over all documents found; kept free of calls.
    if (docs === found) {
      for (let i = 0; i < docs.length; i++) scores[i] += factor * shares[i]
      return
    }
    const isSparse = docs.length * 8 < found.length
    for (let i = 0, at = 0; i < docs.length && at < found.length; i++) {
      const doc = docs[i]
      if (isSparse) at = gallop(found, at, doc)
      else while (at < found.length && found[at] < doc) at++
      if (found[at] === doc) scores[i] += factor * shares[at]
    }
  }
}

/** Calls `each` with the indexes of every number that is in both lists. */
function eachCommon(
  docs: Int32Array,
  found: Int32Array,
  each: (place: number, foundPlace: number) => void,
): void {
  for (let i = 0, at = 0; i < docs.length && at < found.length; i++) {
    at = gallop(found, at, docs[i])
    if (found[at] === docs[i]) each(i, at)
  }
}
