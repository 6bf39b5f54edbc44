/**
 * Parses the query language, a subset of Lucene's classic query syntax, into a tree.
 *
 *     term  "a phrase"  pre*  field:term  field:(a b)  field:*  [a TO b]  {a TO *}  *:*
 *     +must  -not  a AND b  a OR b  NOT a  (a b)  term^2  escapes with \
 *
 * Clauses without an operator are optional, as in Lucene; AND makes both its neighbours required.
 * Queries are untrusted input, so length, depth and number of clauses are limited.
 */
import { invalidArgument, isText } from '../../api/index.js'

/** Whether a clause must, may or must not match. */
export type Occurrence = 'MUST' | 'SHOULD' | 'MUST_NOT'

/** A clause of a boolean query. */
export interface QueryClause {
  /** Whether the clause must, may or must not match. */
  occurrence: Occurrence
  /** The query of the clause. */
  readonly node: QueryNode
}

/** A part of a query that names a field. */
interface Leaf {
  /** Name of the field. */
  readonly field: string
  /** Position in the query, from 0. */
  readonly position: number
  /** Factor of the score. */
  boost: number
}

/** A parsed query. */
export type QueryNode =
  | {
      /** Every document, or a combination of clauses. */
      readonly type: 'all' | 'boolean'
      /** The clauses of a combination, in the order of the text; empty for `all`. */
      readonly clauses: readonly QueryClause[]
      /** Factor of the score. */
      boost: number
    }
  | (Leaf & {
      /** A text to be found, or any value. */
      readonly type: 'term' | 'phrase' | 'prefix' | 'exists'
      /** The text without escapes, before it is split into terms; '' for `exists`. */
      readonly text: string
    })
  | (Leaf & {
      /** Values between two ends. */
      readonly type: 'range'
      /** The lower end; undefined: open. */
      readonly low: string | undefined
      /** The upper end; undefined: open. */
      readonly high: string | undefined
      /** Whether the lower end belongs to the range. */
      readonly includesLow: boolean
      /** Whether the upper end belongs to the range. */
      readonly includesHigh: boolean
    })

/** Maximum length of a query in characters. */
export const queryLengthMax = 65_536
/** Maximum depth of nested parentheses. */
export const queryDepthMax = 64
/** Maximum number of clauses of a query over all levels, and of its words, as in Lucene. */
export const queryClausesMax = 1024
/** Greatest factor of a score over all levels: the greatest number of 32 bits, as in Lucene. */
export const factorMax = 3.4028234663852886e38

/** Parses a query. `ERR_INVALID_ARGUMENT` with the position. */
export function parseQuery(text: string, defaultField: string | undefined): QueryNode {
  if (!isText(text)) throw invalidArgument('a query is a text')
  if (defaultField !== undefined && !isText(defaultField)) {
    throw invalidArgument('the default field of a query is a text')
  }
  if (text.length > queryLengthMax) {
    throw invalidArgument(`a query has at most ${queryLengthMax} characters, not ${text.length}`)
  }
  return new QueryParser(text, defaultField).parse()
}

/** Names of the fields that a query refers to. `ERR_INVALID_ARGUMENT` as {@link parseQuery}. */
export function queryFields(text: string, defaultField: string | undefined): Set<string> {
  return new Set(fieldsOf(parseQuery(text, defaultField)))
}

/** Names of the fields of a query, each as often as it occurs. */
export function fieldsOf(node: QueryNode): string[] {
  return 'field' in node ? [node.field] : node.clauses.flatMap((clause) => fieldsOf(clause.node))
}

/** Makes an `ERR_INVALID_ARGUMENT` for a position in a query, counted from 0. */
export function queryError(position: number, problem: string): Error {
  return invalidArgument(`the query has an error at position ${position}: ${problem}`)
}

/** The end of a word: white space, an operator, or the end of the query. */
const end = '(?=[\\s\\u3000(){}[\\]^"~:!]|$)'
const space = /[\s\u3000]*/y
const and = new RegExp(`&&|AND${end}`, 'y')
const or = new RegExp(`\\|\\||OR${end}`, 'y')
const must = /\+/y
const mustNot = new RegExp(`[-!]|NOT${end}`, 'y')
const all = /\*:\*/y
/** Characters of a word, with escapes. */
const wordText = /(?:\\[^]|[^\s\u3000(){}[\]^"~:!\\*?])*/y
const star = new RegExp(`\\*${end}`, 'y')
const quotation = /"(?:\\[^]|[^"\\])*"/y
const rangeEnd = /(?:\\[^]|[^\s\u3000\]}\\])+/y
const to = new RegExp(`TO${end}`, 'y')
const boost = /\^(?:\d+(?:\.\d+)?|\.\d+)/y

class QueryParser {
  readonly #text: string
  readonly #defaultField: string | undefined
  #at = 0
  #depth = 0
  #clauses = 0

  constructor(text: string, defaultField: string | undefined) {
    this.#text = text
    this.#defaultField = defaultField
  }

  parse(): QueryNode {
    const node = this.#clausesUntilEnd(this.#defaultField)
    if (this.#at < this.#text.length) throw this.#error('a parenthesis was not opened')
    return node
  }

  /** Parses clauses up to a closing parenthesis or the end. */
  #clausesUntilEnd(field: string | undefined): QueryNode {
    const clauses: QueryClause[] = []
    while (!this.#isAtEnd()) {
      const before = this.#at
      const operator = this.#has(and) ? 'AND' : this.#has(or) ? 'OR' : undefined
      if (operator !== undefined) {
        if (clauses.length === 0) throw queryError(before, `${operator} needs a clause before it`)
        this.#take(space)
      }
      const occurrence = this.#has(must) ? 'MUST' : this.#has(mustNot) ? 'MUST_NOT' : 'SHOULD'
      if (this.#isAtEnd()) throw this.#error('a clause is missing')
      if (++this.#clauses > queryClausesMax) {
        throw this.#error(`more than ${queryClausesMax} clauses`)
      }
      addClause(clauses, operator, occurrence, this.#clause(field))
    }
    if (clauses.length === 0) throw this.#error('a clause is missing')
    if (clauses.length === 1 && clauses[0].occurrence !== 'MUST_NOT') return clauses[0].node
    return { type: 'boolean', clauses, boost: 1 }
  }

  #clause(field: string | undefined): QueryNode {
    const start = this.#at
    if (this.#has(all)) return this.#boosted({ type: 'all', clauses: [], boost: 1 })
    if (/["[{(]/.test(this.#peek())) return this.#value(field)
    const word = this.#word()
    if (this.#peek() !== ':') return this.#ofWord(this.#named(field, start), start, word)
    if (word.isPrefix || word.text === '') throw queryError(start, 'a field has a plain name')
    this.#at++
    this.#take(space)
    return this.#value(word.text)
  }

  #value(field: string | undefined): QueryNode {
    const position = this.#at
    const first = this.#peek()
    if (first === '(') return this.#group(field)
    const name = this.#named(field, position)
    if (first === '"') {
      const text = this.#quoted()
      return this.#boosted({ type: 'phrase', field: name, text, position, boost: 1 })
    }
    if (first === '[' || first === '{') return this.#range(name)
    return this.#ofWord(name, position, this.#word())
  }

  #ofWord(
    field: string,
    position: number,
    { text, isPrefix }: { readonly text: string; readonly isPrefix: boolean },
  ): QueryNode {
    const next = this.#peek()
    if (next === ':') throw this.#error("':' in a term is written '\\:'")
    if (next === '~') throw this.#error('fuzzy terms are not supported')
    const type = !isPrefix ? 'term' : text === '' ? 'exists' : 'prefix'
    return this.#boosted({ type, field, text, position, boost: 1 })
  }

  #group(field: string | undefined): QueryNode {
    if (++this.#depth > queryDepthMax) throw this.#error(`more than ${queryDepthMax} levels`)
    const start = this.#at++
    const node = this.#clausesUntilEnd(field)
    if (this.#peek() !== ')') throw queryError(start, 'the parenthesis is not closed')
    this.#at++
    this.#depth--
    return this.#boosted(node)
  }

  #range(field: string): QueryNode {
    const position = this.#at
    const includesLow = this.#text[this.#at++] === '['
    const low = this.#rangeEnd()
    if (!this.#has(to)) throw this.#error('a range is written [a TO b]')
    const high = this.#rangeEnd()
    const last = this.#peek()
    if (last !== ']' && last !== '}') throw queryError(position, 'the range is not closed')
    this.#at++
    const ends = { low, high, includesLow, includesHigh: last === ']' }
    return this.#boosted({ type: 'range', field, position, boost: 1, ...ends })
  }

  /** Parses one end of a range, with the space around it; undefined for a star. */
  #rangeEnd(): string | undefined {
    this.#take(space)
    const start = this.#at
    const isQuoted = this.#peek() === '"'
    const raw = isQuoted ? '' : this.#take(rangeEnd)
    if (!isQuoted && raw === '') throw this.#error('a range is written [a TO b]')
    const text = isQuoted ? this.#quoted() : this.#unescaped(raw, start)
    this.#take(space)
    return raw === '*' ? undefined : text
  }

  #quoted(): string {
    const start = this.#at
    const quoted = this.#take(quotation)
    if (quoted === '') throw queryError(start, 'the quotation mark is not closed')
    if (this.#peek() === '~') throw this.#error('phrases with gaps are not supported')
    return this.#unescaped(quoted.slice(1, -1), start + 1)
  }

  /** Parses a run of characters; one that ends in a star is a prefix. */
  #word(): { readonly text: string; readonly isPrefix: boolean } {
    const start = this.#at
    if (this.#peek() === '/') throw this.#error('regular expressions are not supported')
    const raw = this.#take(wordText)
    const text = this.#unescaped(raw, start)
    if (this.#has(star)) return { text, isPrefix: true }
    switch (this.#peek()) {
      case '\\':
        throw this.#error('nothing follows the backslash')
      case '?':
        throw this.#error("the wildcard '?' is not supported; a question mark is written '\\?'")
      case '*':
        throw this.#error("a star stands at the end of a term, or is written '\\*'")
    }
    if (raw === '') throw this.#error(`${JSON.stringify(this.#peek())} is not expected`)
    if (/^(AND|OR|NOT)$/.test(raw)) throw queryError(start, `${raw} needs a clause`)
    return { text, isPrefix: false }
  }

  /** Replaces escapes by their characters; `\u0041` is A. `start` is the position of the text. */
  #unescaped(raw: string, start: number): string {
    return raw.replace(/\\(u[0-9a-fA-F]{4}|[^])/g, (_, escaped: string, at: number) => {
      if (escaped === 'u') throw queryError(start + at, '\\u needs four digits')
      return escaped.length === 1 ? escaped : String.fromCharCode(parseInt(escaped.slice(1), 16))
    })
  }

  #boosted<N extends QueryNode>(node: N): N {
    const factor = this.#take(boost)
    if (factor !== '') node.boost *= Number(factor.slice(1))
    else if (this.#peek() === '^') throw this.#error('^ needs a number')
    return node
  }

  #named(field: string | undefined, position: number): string {
    if (field !== undefined) return field
    throw queryError(position, 'a term names no field, and there is no defaultField')
  }

  /** Skips the text that matches a sticky pattern, and returns it. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const text = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += text.length
    return text
  }

  #has(pattern: RegExp): boolean {
    return this.#take(pattern) !== ''
  }

  /** Skips white space; whether the query or its parentheses end there. */
  #isAtEnd(): boolean {
    this.#take(space)
    return this.#at >= this.#text.length || this.#peek() === ')'
  }

  /** The next character, or an empty string at the end. */
  #peek(): string {
    return this.#text[this.#at] ?? ''
  }

  #error(problem: string): Error {
    return queryError(this.#at, problem)
  }
}

/** Adds a clause by the rules of Lucene's classic query parser. */
function addClause(
  clauses: QueryClause[],
  operator: 'AND' | 'OR' | undefined,
  occurrence: Occurrence,
  node: QueryNode,
): void {
  const last = clauses.at(-1)
  if (operator === 'AND' && last?.occurrence === 'SHOULD') last.occurrence = 'MUST'
  const isRequired = operator === 'AND' && occurrence === 'SHOULD'
  clauses.push({ occurrence: isRequired ? 'MUST' : occurrence, node })
}
