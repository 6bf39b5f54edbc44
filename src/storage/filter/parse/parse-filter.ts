/**
 * The filter language of HBase (shell, Thrift `filterString`, REST `filter=`; HBase: ParseFilter).
 *
 *   or     = and { OR and }
 *   and    = unary { AND unary }
 *   unary  = { SKIP | WHILE } primary
 *   primary = '(' or ')' | Name '(' [ argument { ',' argument } ] ')'
 *
 * SKIP and WHILE bind strongest, then AND, then OR. Example:
 *
 *   PrefixFilter ('row') AND
 *     (QualifierFilter (>=, 'binary:x') OR SKIP ValueFilter (!=, 'substring:it''s'))
 */
import { checkBytesLike } from '../../../base/arguments.js'
import { CellarError, invalidArgument } from '../../../base/errors.js'
import { FilterArguments, type TextEncoding } from './filter-arguments.js'
import { FilterList, type FilterListOperator } from '../filter-list.js'
import type { Filter } from '../filter.js'
import { filterMakers } from './filter-makers.js'
import { showToken, syntaxError, tokenize, type Token } from './filter-tokens.js'
import { SkipFilter, WhileMatchFilter } from '../wrapping-filters.js'

/**
 * Deepest nesting of parentheses, SKIP and WHILE, so that hostile text cannot exhaust the stack.
 */
const depthMax = 200

const keywords: ReadonlySet<string> = new Set(['AND', 'OR', 'SKIP', 'WHILE'])

/**
 * Makes a filter from text. If `text` is bytes, string arguments may hold any bytes; if it is a
 * string, they are encoded as UTF-8. Malformed text is an `ERR_INVALID_ARGUMENT`. Its message names
 * the position (in characters of a string, or in bytes) and the expected text.
 */
export function parseFilter(text: string | Uint8Array): Filter {
  checkBytesLike(text, 'filter text')
  const source = typeof text === 'string' ? text : Buffer.from(text).toString('latin1')
  const parser = new FilterParser(tokenize(source), typeof text === 'string' ? 'utf8' : 'latin1')
  const filter = parser.parse()
  texts.set(filter, Buffer.from(text))
  return filter
}

const texts = new WeakMap<Filter, Buffer>()

/** The text of a filter that {@link parseFilter} made; undefined for another filter. */
export function textOfFilter(filter: Filter): Buffer | undefined {
  return texts.get(filter)
}

class FilterParser {
  private readonly tokens: readonly Token[]
  private readonly encoding: TextEncoding
  private index = 0
  private depth = 0

  constructor(tokens: readonly Token[], encoding: TextEncoding) {
    this.tokens = tokens
    this.encoding = encoding
  }

  parse(): Filter {
    const filter = this.parseOr()
    if (this.peek().kind !== 'end') throw this.unexpected('AND, OR or the end of the text')
    return filter
  }

  private peek(): Token {
    return this.tokens[this.index]
  }

  private parseOr(): Filter {
    return this.parseSequence('OR', 'MUST_PASS_ONE', () => this.parseAnd())
  }

  private parseAnd(): Filter {
    return this.parseSequence('AND', 'MUST_PASS_ALL', () => this.parseUnary())
  }

  private parseSequence(
    keyword: string,
    operator: FilterListOperator,
    parsePart: () => Filter,
  ): Filter {
    const parts = [parsePart()]
    while (this.isKeyword(keyword)) {
      this.index++
      parts.push(parsePart())
    }
    return parts.length === 1 ? parts[0] : new FilterList(operator, parts)
  }

  private parseUnary(): Filter {
    if (++this.depth > depthMax) {
      throw syntaxError(
        this.peek().position,
        `at most ${depthMax} levels of nesting`,
        showToken(this.peek()),
      )
    }
    const filter = this.parseNested()
    this.depth--
    return filter
  }

  private parseNested(): Filter {
    if (this.isKeyword('SKIP')) {
      this.index++
      return new SkipFilter(this.parseUnary())
    }
    if (this.isKeyword('WHILE')) {
      this.index++
      return new WhileMatchFilter(this.parseUnary())
    }
    if (this.peek().kind !== '(') return this.parseFilterCall()
    this.index++
    const filter = this.parseOr()
    if (this.peek().kind !== ')') throw this.unexpected("AND, OR or ')'")
    this.index++
    return filter
  }

  private parseFilterCall(): Filter {
    const name = this.peek()
    if (name.kind !== 'name' || keywords.has(name.text)) {
      throw this.unexpected("a filter, SKIP, WHILE or '('")
    }
    const make = filterMakers.get(name.text)
    if (make === undefined) {
      const known = [...filterMakers.keys()].join(', ')
      throw syntaxError(name.position, `the name of a filter (${known})`, showToken(name))
    }
    this.index++
    const given = this.parseArguments()
    try {
      const filter = make(given)
      given.finish()
      return filter
    } catch (error) {
      throw withPosition(error, name)
    }
  }

  private parseArguments(): FilterArguments {
    if (this.peek().kind !== '(') throw this.unexpected("'('")
    this.index++
    const found: Token[] = []
    while (this.peek().kind !== ')') {
      if (found.length > 0) {
        if (this.peek().kind !== ',') throw this.unexpected("',' or ')'")
        this.index++
      }
      const token = this.peek()
      if (token.kind === '(' || token.kind === ')' || token.kind === ',' || token.kind === 'end') {
        throw this.unexpected(found.length > 0 ? 'an argument' : "an argument or ')'")
      }
      found.push(token)
      this.index++
    }
    const close = this.peek()
    this.index++
    return new FilterArguments(found, close, this.encoding)
  }

  private isKeyword(keyword: string): boolean {
    return this.peek().kind === 'name' && this.peek().text === keyword
  }

  private unexpected(expected: string): Error {
    return syntaxError(this.peek().position, expected, showToken(this.peek()))
  }
}

/** Adds the position of a filter to an error of its constructor. */
function withPosition(error: unknown, name: Token): unknown {
  if (!(error instanceof CellarError) || error.message.startsWith('filter text:')) return error
  const message = `filter text: ${name.text} at position ${name.position}: ${error.message}`
  return invalidArgument(message)
}
