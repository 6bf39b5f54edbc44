/** Translates a parsed query into index lookups, by the kinds of the fields. */
import { CellarError } from '../../../api/index.js'
import { adjacentWords, foldedPrefix, wordsOf } from '../analysis.js'
import { termOf, textTerm, type FieldKind, type FieldKinds } from '../field-kinds.js'
import {
  factorMax,
  queryClausesMax,
  queryError,
  type QueryClause,
  type QueryNode,
} from '../query-syntax.js'

/** A node of the plan of a search. */
export type PlanNode =
  | { readonly type: 'none' }
  | { readonly type: 'all'; readonly boost: number }
  | TermNode
  | PhraseNode
  | RangeNode
  | BooleanNode

/** Documents with a term. */
export interface TermNode {
  readonly type: 'term'
  readonly field: string
  readonly kind: FieldKind
  readonly term: string
  readonly boost: number
}

/** Documents in which these words follow each other; at least two words. */
export interface PhraseNode {
  readonly type: 'phrase'
  readonly field: string
  readonly terms: readonly string[]
  readonly boost: number
}

/** Documents with any term of a range, all with the same score. */
export interface RangeNode {
  readonly type: 'range'
  readonly field: string
  readonly kind: FieldKind
  /** First term; undefined: the range has no lower bound. */
  readonly low: string | undefined
  /** The first term after the range; undefined: the range has no upper bound. */
  readonly high: string | undefined
  readonly boost: number
}

/** A boolean combination. Without `must`, at least one of `should` has to match. */
export interface BooleanNode {
  readonly type: 'boolean'
  readonly must: readonly PlanNode[]
  readonly should: readonly PlanNode[]
  readonly mustNot: readonly PlanNode[]
}

/** Plans one query. */
export class Planner {
  readonly #kinds: FieldKinds
  readonly #now: number
  #words = 0

  constructor(kinds: FieldKinds, now: number) {
    this.#kinds = kinds
    this.#now = now
  }

  /**
   * The plan of a node, whose score has this factor; undefined for a clause without words, which is
   * ignored. `ERR_INVALID_ARGUMENT` with the position.
   */
  plan(node: QueryNode, factor: number): PlanNode | undefined {
    const boost = node.boost * factor
    // Without a limit scores become infinite, and NaN with a factor of 0, which has no order.
    if (!(boost <= factorMax)) {
      const position = 'position' in node ? node.position : 0
      throw queryError(position, `the factors with ^ make more than ${factorMax}`)
    }
    if (!('field' in node)) {
      return node.type === 'all' ? { type: 'all', boost } : this.#boolean(node.clauses, boost)
    }
    const { field, position } = node
    const kind = this.#kinds.of(field)
    if (kind === undefined) throw queryError(position, `the index has no field ${field}`)
    if (node.type === 'exists') {
      return { type: 'range', field, kind, low: undefined, high: undefined, boost }
    }
    if (node.type === 'range') return this.#range(node, kind, boost)
    if (node.type === 'prefix') {
      if (kind !== 'text' && kind !== 'literal') {
        throw queryError(position, `${field} is of the kind ${kind}, which has no prefixes`)
      }
      const low = textTerm(kind === 'text' ? foldedPrefix(node.text) : node.text)
      return { type: 'range', field, kind, low, high: afterPrefix(low), boost }
    }
    if (kind !== 'text') {
      const term = this.#term(kind, node.text, position)
      return { type: 'term', field, kind, term, boost }
    }
    const found = node.type === 'phrase' ? [wordsOf(node.text)] : adjacentWords(node.text)
    for (const run of found) this.#words += run.length
    if (this.#words > queryClausesMax) {
      throw queryError(position, `more than ${queryClausesMax} words`)
    }
    if (node.type === 'phrase') return words(field, found[0], boost)
    const runs = found.map((run) => {
      // In a script without spaces each pair of neighbours must occur, at any position.
      const pairs = run.slice(1).map((word, at) => words(field, [run[at], word], boost)!)
      if (pairs.length < 2) return pairs[0] ?? words(field, run, boost)!
      return { type: 'boolean', must: pairs, should: [], mustNot: [] } as const
    })
    if (runs.length < 2) return runs[0]
    return { type: 'boolean', must: [], should: runs, mustNot: [] }
  }

  #boolean(clauses: readonly QueryClause[], boost: number): PlanNode | undefined {
    const parts: Record<'MUST' | 'SHOULD' | 'MUST_NOT', PlanNode[]> = {
      MUST: [],
      SHOULD: [],
      MUST_NOT: [],
    }
    for (const clause of clauses) {
      const planned = this.plan(clause.node, boost)
      if (planned !== undefined) parts[clause.occurrence].push(planned)
    }
    const { MUST: must, SHOULD: should, MUST_NOT: mustNot } = parts
    if (must.length + should.length + mustNot.length === 0) return undefined
    // A query with exclusions only matches all other documents.
    if (must.length + should.length === 0) must.push({ type: 'all', boost })
    return { type: 'boolean', must, should, mustNot }
  }

  #range(node: QueryNode & { type: 'range' }, kind: FieldKind, boost: number): PlanNode {
    const { field, position, includesLow, includesHigh } = node
    const end = (text: string | undefined): string | undefined => {
      return text === undefined ? undefined : this.#term(kind, text, position)
    }
    const low = end(node.low)
    const high = end(node.high)
    return {
      type: 'range',
      field,
      kind,
      low: low === undefined || includesLow ? low : following(low),
      high: high === undefined || !includesHigh ? high : following(high),
      boost,
    }
  }

  #term(kind: FieldKind, text: string, position: number): string {
    if (kind === 'text') return textTerm(foldedPrefix(text))
    try {
      return termOf(kind, text, this.#now)
    } catch (error) {
      if (error instanceof CellarError) throw queryError(position, error.message)
      throw error
    }
  }
}

/** A phrase or a term; undefined without words. */
function words(field: string, list: readonly string[], boost: number): PlanNode | undefined {
  const terms = list.map(textTerm)
  if (terms.length > 1) return { type: 'phrase', field, terms, boost }
  if (terms.length === 0) return undefined
  return { type: 'term', field, kind: 'text', term: terms[0], boost }
}

/** The least term greater than a term. */
function following(term: string): string {
  return `${term}\0`
}

/** The least term greater than all terms with a prefix; undefined if there is none. */
function afterPrefix(prefix: string): string | undefined {
  for (let length = prefix.length; length > 0; length--) {
    const last = prefix.charCodeAt(length - 1)
    if (last < 0xff) return prefix.slice(0, length - 1) + String.fromCharCode(last + 1)
  }
  return undefined
}
