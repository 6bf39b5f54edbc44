/** Typed access to the arguments of one filter of the filter language. */
import type { FilterOperator } from '../compare.js'
import type { ComparatorOption } from '../comparators.js'
import { showToken, syntaxError, type Token } from './filter-tokens.js'

/** How the characters of a string argument become bytes. */
export type TextEncoding = 'utf8' | 'latin1'

const operators: Readonly<Record<string, FilterOperator>> = {
  '<': 'LESS',
  '<=': 'LESS_OR_EQUAL',
  '=': 'EQUAL',
  '!=': 'NOT_EQUAL',
  '>': 'GREATER',
  '>=': 'GREATER_OR_EQUAL',
}

/** More digits than any timestamp has, and few enough to be read at once. */
const timestampTextMax = 64

/** The arguments of one filter, taken one after the other. */
export class FilterArguments {
  private readonly tokens: readonly Token[]
  /** The closing parenthesis, which errors about missing arguments name. */
  private readonly close: Token
  private readonly encoding: TextEncoding
  private index = 0

  constructor(tokens: readonly Token[], close: Token, encoding: TextEncoding) {
    this.tokens = tokens
    this.close = close
    this.encoding = encoding
  }

  /** Number of arguments that were not taken yet. */
  get left(): number {
    return this.tokens.length - this.index
  }

  /** Takes a string argument as bytes. */
  bytes(what: string): Buffer {
    return Buffer.from(this.take('string', `${what} in single quotes`).text, this.encoding)
  }

  /** Takes two string arguments: a family and a qualifier. */
  column(): { family: Buffer; qualifier: Buffer } {
    return { family: this.bytes('a column family'), qualifier: this.bytes('a qualifier') }
  }

  /** Takes an argument that is a safe integer. */
  integer(what: string): number {
    const token = this.take('integer', `${what} (an integer)`)
    const value = Number(token.text)
    if (Number.isSafeInteger(value)) return value
    throw syntaxError(token.position, `${what} (a safe integer)`, showToken(token))
  }

  /** Takes a timestamp: an integer of up to {@link timestampTextMax} characters. */
  timestamp(): bigint {
    const token = this.take('integer', 'a timestamp (an integer)')
    if (token.text.length <= timestampTextMax) return BigInt(token.text)
    throw syntaxError(token.position, 'a timestamp up to 2^63-1', showToken(token))
  }

  /** Takes `true` or `false`, in upper or lower case. */
  boolean(what: string): boolean {
    const token = this.take('name', `${what} (true or false)`)
    const text = token.text.toLowerCase()
    if (text === 'true' || text === 'false') return text === 'true'
    throw syntaxError(token.position, `${what} (true or false)`, showToken(token))
  }

  /** Takes a comparison operator. */
  operator(): FilterOperator {
    const token = this.take('operator', 'a comparison operator (< <= = != > >=)')
    return operators[token.text]
  }

  /**
   * Takes a comparator: `'binary:...'`, `'binaryprefix:...'`, `'regexstring:...'`,
   * `'regexstringnocase:...'` or `'substring:...'`.
   */
  comparator(): ComparatorOption {
    const expected =
      "a comparator ('binary:', 'binaryprefix:', 'regexstring:', 'regexstringnocase:' or 'substring:')"
    const token = this.take('string', expected)
    const colon = token.text.indexOf(':')
    const rest = token.text.slice(colon + 1)
    switch (colon < 0 ? '' : token.text.slice(0, colon)) {
      case 'binary':
        return { binary: Buffer.from(rest, this.encoding) }
      case 'binaryprefix':
        return { binaryPrefix: Buffer.from(rest, this.encoding) }
      case 'regexstring':
        return { regexString: this.asText(rest) }
      case 'regexstringnocase':
        return { regexString: this.asText(rest), ignoreCase: true }
      case 'substring':
        return { substring: this.asText(rest) }
      default:
        throw syntaxError(token.position, expected, showToken(token))
    }
  }

  /** Throws unless all arguments were taken. */
  finish(): void {
    if (this.left === 0) return
    const token = this.tokens[this.index]
    throw syntaxError(token.position, `')' after ${this.index} arguments`, showToken(token))
  }

  private take(kind: Token['kind'], expected: string): Token {
    const token = this.left > 0 ? this.tokens[this.index] : this.close
    if (token.kind !== kind) throw syntaxError(token.position, expected, showToken(token))
    this.index++
    return token
  }

  private asText(text: string): string {
    return this.encoding === 'utf8' ? text : Buffer.from(text, 'latin1').toString('utf8')
  }
}
