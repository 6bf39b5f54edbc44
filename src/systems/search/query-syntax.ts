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

/** Common to all nodes except the boolean one: a field and the position in the query, from 0. */
interface Leaf {
  readonly field: string
  readonly position: number
  /** Factor of the score. */
  boost: number
}

/** A parsed query. */
export type QueryNode =
  | {
      /** Kind of the query. */
      readonly type: 'all'
      /** Factor of the score. */
      boost: number
    }
  | {
      /** Kind of the query. */
      readonly type: 'boolean'
      /** The clauses, in the order of the text. */
      readonly clauses: readonly QueryClause[]
      /** Factor of the score. */
      boost: number
    }
  | (Leaf & {
      /** Kind of the query. */
      readonly type: 'term' | 'phrase' | 'prefix'
      /** The text without escapes, before it is split into terms. */
      readonly text: string
    })
  | (Leaf & {
      /** Kind of the query. */
      readonly type: 'exists'
    })
  | (Leaf & {
      /** Kind of the query. */
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
/** Maximum number of clauses of a query over all levels, as in Lucene. */
export const queryClausesMax = 1024

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
  const fields = new Set<string>()
  const visit = (node: QueryNode): void => {
    if (node.type === 'boolean') for (const clause of node.clauses) visit(clause.node)
    else if (node.type !== 'all') fields.add(node.field)
  }
  visit(parseQuery(text, defaultField))
  return fields
}

/** Makes an `ERR_INVALID_ARGUMENT` for a position in a query, counted from 0. */
export function queryError(position: number, problem: string): Error {
  return invalidArgument(`the query has an error at position ${position}: ${problem}`)
}

/** A run of characters without white space or operators. */
interface Word {
  readonly text: string
  readonly position: number
  /** Whether the word has no escapes. Only such a word can be an operator: AND, OR, NOT. */
  readonly isPlain: boolean
  /** Whether the word ends with an unescaped star, which `text` does not include. */
  readonly isPrefix: boolean
}

type Operator = 'AND' | 'OR' | undefined

const whiteSpace = /[\s\u3000]/
const wordEnd = /[\s\u3000(){}[\]^"~:!]/

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
    for (;;) {
      this.#skipWhiteSpace()
      if (this.#at >= this.#text.length || this.#peek() === ')') break
      const before = this.#at
      const operator = this.#operator()
      if (operator !== undefined) {
        if (clauses.length === 0) throw queryError(before, `${operator} needs a clause before it`)
        this.#skipWhiteSpace()
      }
      const occurrence = this.#occurrence()
      this.#skipWhiteSpace()
      if (this.#at >= this.#text.length || this.#peek() === ')') {
        throw this.#error('a clause is missing')
      }
      if (++this.#clauses > queryClausesMax) {
        throw this.#error(`more than ${queryClausesMax} clauses`)
      }
      const node = this.#clause(field)
      addClause(clauses, operator, occurrence, node)
    }
    if (clauses.length === 0) throw this.#error('a clause is missing')
    if (clauses.length === 1 && clauses[0].occurrence !== 'MUST_NOT') return clauses[0].node
    return { type: 'boolean', clauses, boost: 1 }
  }

  #operator(): Operator {
    for (const [sign, operator] of [
      ['&&', 'AND'],
      ['||', 'OR'],
    ] as const) {
      if (!this.#text.startsWith(sign, this.#at)) continue
      this.#at += sign.length
      return operator
    }
    return this.#keyword('AND') ? 'AND' : this.#keyword('OR') ? 'OR' : undefined
  }

  #occurrence(): Occurrence {
    const sign = this.#peek()
    if (sign === '+' || sign === '-' || sign === '!') {
      this.#at++
      return sign === '+' ? 'MUST' : 'MUST_NOT'
    }
    return this.#keyword('NOT') ? 'MUST_NOT' : 'SHOULD'
  }

  #keyword(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    const next = this.#text[this.#at + word.length]
    if (next !== undefined && !wordEnd.test(next)) return false
    this.#at += word.length
    return true
  }

  #clause(field: string | undefined): QueryNode {
    const start = this.#at
    if (this.#peek() === '*' && this.#text.startsWith('*:*', this.#at)) {
      this.#at += 3
      return this.#boosted({ type: 'all', boost: 1 })
    }
    if (!/["[{(]/.test(this.#peek())) {
      const word = this.#word()
      if (this.#peek() === ':') {
        if (word.isPrefix || word.text === '') throw queryError(start, 'a field has a plain name')
        this.#at++
        this.#skipWhiteSpace()
        return this.#value(word.text)
      }
      return this.#ofWord(this.#named(field, start), word)
    }
    return this.#value(field)
  }

  #value(field: string | undefined): QueryNode {
    const start = this.#at
    const first = this.#peek()
    if (first === '(') return this.#group(field)
    const name = this.#named(field, start)
    if (first === '"') {
      const text = this.#quoted()
      return this.#boosted({ type: 'phrase', field: name, text, position: start, boost: 1 })
    }
    if (first === '[' || first === '{') return this.#range(name)
    return this.#ofWord(name, this.#word())
  }

  #ofWord(field: string, word: Word): QueryNode {
    const { text, position, isPrefix } = word
    const next = this.#peek()
    if (next === ':') throw queryError(this.#at, "':' in a term is written '\\:'")
    if (next === '~') throw queryError(this.#at, 'fuzzy terms are not supported')
    if (isPrefix && text === '') return this.#boosted({ type: 'exists', field, position, boost: 1 })
    const type = isPrefix ? 'prefix' : 'term'
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
    this.#skipWhiteSpace()
    const low = this.#rangeEnd()
    this.#skipWhiteSpace()
    if (!this.#keyword('TO')) throw this.#error('a range is written [a TO b]')
    this.#skipWhiteSpace()
    const high = this.#rangeEnd()
    this.#skipWhiteSpace()
    const last = this.#peek()
    if (last !== ']' && last !== '}') throw queryError(position, 'the range is not closed')
    this.#at++
    const includesHigh = last === ']'
    const ends = { low, high, includesLow, includesHigh }
    return this.#boosted({ type: 'range', field, position, boost: 1, ...ends })
  }

  /** Parses one end of a range; undefined for a star. */
  #rangeEnd(): string | undefined {
    if (this.#peek() === '"') return this.#quoted()
    const start = this.#at
    let text = ''
    while (this.#at < this.#text.length) {
      const next = this.#peek()
      if (whiteSpace.test(next) || next === ']' || next === '}') break
      text += next === '\\' ? this.#escape() : this.#text[this.#at++]
    }
    if (this.#at === start) throw this.#error('a range is written [a TO b]')
    return this.#text.slice(start, this.#at) === '*' ? undefined : text
  }

  #quoted(): string {
    const start = this.#at++
    let text = ''
    for (;;) {
      const next = this.#peek()
      if (next === '') throw queryError(start, 'the quotation mark is not closed')
      if (next === '"') break
      text += next === '\\' ? this.#escape() : this.#text[this.#at++]
    }
    this.#at++
    if (this.#peek() === '~') throw this.#error('phrases with gaps are not supported')
    return text
  }

  #word(): Word {
    const position = this.#at
    if (this.#peek() === '/') throw this.#error('regular expressions are not supported')
    let text = ''
    let isPlain = true
    while (this.#at < this.#text.length) {
      const next = this.#peek()
      if (wordEnd.test(next)) break
      if (next === '\\') {
        isPlain = false
        text += this.#escape()
      } else if (next === '?') {
        throw this.#error("the wildcard '?' is not supported; a question mark is written '\\?'")
      } else if (next === '*') {
        this.#at++
        if (this.#peek() === '' || wordEnd.test(this.#peek())) {
          return { text, position, isPlain, isPrefix: true }
        }
        throw queryError(this.#at - 1, "a star stands at the end of a term, or is written '\\*'")
      } else {
        text += next
        this.#at++
      }
    }
    if (this.#at === position) throw this.#error(`${JSON.stringify(this.#peek())} is not expected`)
    if (isPlain && (text === 'AND' || text === 'OR' || text === 'NOT')) {
      throw queryError(position, `${text} needs a clause`)
    }
    return { text, position, isPlain, isPrefix: false }
  }

  /** Parses the character after a backslash; `\u0041` is A. */
  #escape(): string {
    const start = this.#at++
    if (this.#peek() === '') throw queryError(start, 'nothing follows the backslash')
    if (this.#peek() === 'u') {
      const digits = this.#text.slice(this.#at + 1, this.#at + 5)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw queryError(start, '\\u needs four digits')
      this.#at += 5
      return String.fromCharCode(parseInt(digits, 16))
    }
    return this.#text[this.#at++]
  }

  #boosted<N extends QueryNode>(node: N): N {
    if (this.#peek() !== '^') return node
    const start = this.#at++
    const number = /^\d+(\.\d+)?|^\.\d+/.exec(this.#text.slice(this.#at, this.#at + 20))
    if (number === null) throw queryError(start, '^ needs a number')
    this.#at += number[0].length
    node.boost *= Number(number[0])
    return node
  }

  #named(field: string | undefined, position: number): string {
    if (field !== undefined) return field
    throw queryError(position, 'a term names no field, and there is no defaultField')
  }

  /** The next character, or an empty string at the end. */
  #peek(): string {
    return this.#text[this.#at] ?? ''
  }

  #skipWhiteSpace(): void {
    while (this.#at < this.#text.length && whiteSpace.test(this.#text[this.#at])) this.#at++
  }

  #error(problem: string): Error {
    return queryError(this.#at, problem)
  }
}

/** Adds a clause by the rules of Lucene's classic query parser. */
function addClause(
  clauses: QueryClause[],
  operator: Operator,
  occurrence: Occurrence,
  node: QueryNode,
): void {
  const last = clauses.at(-1)
  if (operator === 'AND' && last?.occurrence === 'SHOULD') last.occurrence = 'MUST'
  const isRequired = operator === 'AND' && occurrence === 'SHOULD'
  clauses.push({ occurrence: isRequired ? 'MUST' : occurrence, node })
}
