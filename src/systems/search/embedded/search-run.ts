/**
 * One search over the committed segments. Loads all parts that the plan refers to, then matches and
 * scores documents synchronously.
 *
 * Scores are BM25 with Lucene's constants. Removed documents count in the document frequency of a
 * term until their segment is merged, as in Lucene.
 */
import { allDocs, difference, gallop, intersection, union } from './doc-sets.js'
import { docsInRange, phraseCounts, sharesOf, type CountedDocs } from './leaves.js'
import type { BooleanNode, PhraseNode, PlanNode, TermNode } from './plan.js'
import type { SegmentView } from './segments/segment-reader.js'

/** The matches of a leaf of the plan in one segment. */
interface Leaf {
  readonly docs: Int32Array
  /** The share of each document in the score; undefined: the leaf is not scored. */
  readonly shares?: Float64Array | undefined
}

const none = new Int32Array(0)

/** Memory for scores, reused by every call. */
let scratch = new Float64Array(1024)

/** A search whose segment parts are loaded. */
export class SearchRun {
  readonly #views: readonly SegmentView[]
  readonly #plan: PlanNode
  readonly #filters: readonly PlanNode[]
  /** Matches of each leaf, by segment. */
  readonly #leaves = new Map<PlanNode, readonly Leaf[]>()
  /** The weight of each leaf over all segments. */
  readonly #factors = new Map<PlanNode, number>()
  readonly #matches: readonly Map<PlanNode, Int32Array>[]

  private constructor(views: readonly SegmentView[], plan: PlanNode, filters: readonly PlanNode[]) {
    this.#views = views
    this.#plan = plan
    this.#filters = filters
    this.#matches = views.map(() => new Map<PlanNode, Int32Array>())
  }

  /** Loads the parts that the plan and the filters need; those for scores only if `isScored`. */
  static async load(
    views: readonly SegmentView[],
    [plan, ...filters]: readonly PlanNode[],
    isScored: boolean,
  ): Promise<SearchRun> {
    const run = new SearchRun(views, plan, filters)
    await run.#load(plan, isScored)
    for (const filter of filters) await run.#load(filter, false)
    return run
  }

  /** Documents of a segment that match and are not removed. */
  match(segment: number): Int32Array {
    let docs = this.#match(this.#plan, segment)
    for (const filter of this.#filters) docs = intersection(docs, this.#match(filter, segment))
    const { removed } = this.#views[segment]
    return removed === undefined ? docs : docs.filter((doc) => !removed.has(doc))
  }

  /** Scores of ascending matching documents; valid until the next call on any run. */
  score(segment: number, docs: Int32Array): Float64Array {
    if (scratch.length < docs.length) scratch = new Float64Array(2 * docs.length)
    const scores = scratch.subarray(0, docs.length).fill(0)
    this.#addScores(this.#plan, segment, docs, scores)
    return scores
  }

  async #load(node: PlanNode, isScored: boolean): Promise<void> {
    switch (node.type) {
      case 'none':
      case 'all':
        return
      case 'boolean':
        for (const child of [...node.must, ...node.should]) await this.#load(child, isScored)
        for (const child of node.mustNot) await this.#load(child, false)
        return
      case 'range': {
        const leaves: Leaf[] = []
        for (const { reader } of this.#views) leaves.push({ docs: await docsInRange(reader, node) })
        this.#leaves.set(node, leaves)
        return
      }
      case 'term':
      case 'phrase':
        await this.#loadTerms(node, isScored)
    }
  }

  async #loadTerms(node: TermNode | PhraseNode, isScored: boolean): Promise<void> {
    const { field } = node
    const terms = node.type === 'term' ? [node.term] : node.terms
    const frequencies = new Map<string, number>()
    const found: CountedDocs[] = []
    let fieldDocs = 0
    let fieldWords = 0
    for (const { reader } of this.#views) {
      const described = reader.field(field)
      fieldDocs += described?.docs ?? 0
      fieldWords += described?.words ?? 0
      let isWhole = true
      for (const term of new Set(terms)) {
        const postings = await reader.postings(field, term)
        isWhole &&= postings !== undefined
        frequencies.set(term, (frequencies.get(term) ?? 0) + (postings?.docs.length ?? 0))
      }
      if (!isWhole) found.push({ docs: none, counts: undefined })
      else if (node.type === 'phrase') found.push(await phraseCounts(reader, node))
      else found.push((await reader.postings(field, node.term))!)
    }
    const averageLength = fieldDocs === 0 ? 1 : fieldWords / fieldDocs
    const leaves: Leaf[] = []
    for (const [segment, counted] of found.entries()) {
      const { reader } = this.#views[segment]
      const isNeeded = isScored && counted.docs.length > 0
      const shares = isNeeded ? await sharesOf(counted, reader, field, averageLength) : undefined
      leaves.push({ docs: counted.docs, shares })
    }
    this.#leaves.set(node, leaves)
    let factor = 0
    for (const term of terms) {
      const frequency = frequencies.get(term)!
      factor += Math.log(1 + (fieldDocs - frequency + 0.5) / (frequency + 0.5))
    }
    this.#factors.set(node, factor * node.boost)
  }

  /** Documents that match a node, including removed ones. */
  #match(node: PlanNode, segment: number): Int32Array {
    switch (node.type) {
      case 'none':
        return none
      case 'all':
        return allDocs(this.#views[segment].reader.docs)
      case 'boolean': {
        const known = this.#matches[segment].get(node)
        if (known !== undefined) return known
        const docs = this.#matchBoolean(node, segment)
        this.#matches[segment].set(node, docs)
        return docs
      }
      case 'term':
      case 'phrase':
      case 'range':
        return this.#leaves.get(node)![segment].docs
    }
  }

  #matchBoolean({ must, should, mustNot }: BooleanNode, segment: number): Int32Array {
    const of = (nodes: readonly PlanNode[]): Int32Array[] => {
      return nodes.map((node) => this.#match(node, segment))
    }
    const required = of(must).sort((left, right) => left.length - right.length)
    const docs =
      required.length === 0
        ? union(of(should), this.#views[segment].reader.docs)
        : required.reduce(intersection)
    return of(mustNot).reduce(difference, docs)
  }

  /** Adds the score of a node to each document; documents without a match get 0. */
  #addScores(node: PlanNode, segment: number, docs: Int32Array, scores: Float64Array): void {
    switch (node.type) {
      case 'none':
        return
      case 'all':
        for (let i = 0; i < docs.length; i++) scores[i] += node.boost
        return
      case 'boolean':
        for (const child of [...node.must, ...node.should]) {
          this.#addChildScores(child, segment, docs, scores)
        }
        return
      case 'range':
        eachCommon(docs, this.#match(node, segment), (i) => {
          scores[i] += node.boost
        })
        return
      case 'term':
      case 'phrase':
        this.#addTermScores(node, segment, docs, scores)
    }
  }

  #addTermScores(
    node: TermNode | PhraseNode,
    segment: number,
    docs: Int32Array,
    scores: Float64Array,
  ): void {
    const { docs: found, shares } = this.#leaves.get(node)![segment]
    if (shares === undefined) return
    const factor = this.#factors.get(node)!
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

  /** The parts of a nested combination score only where the whole combination matches. */
  #addChildScores(child: PlanNode, segment: number, docs: Int32Array, scores: Float64Array): void {
    if (child.type !== 'boolean') {
      this.#addScores(child, segment, docs, scores)
      return
    }
    const matching = intersection(docs, this.#match(child, segment))
    const some = new Float64Array(matching.length)
    this.#addScores(child, segment, matching, some)
    eachCommon(docs, matching, (i, at) => {
      scores[i] += some[at]
    })
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
