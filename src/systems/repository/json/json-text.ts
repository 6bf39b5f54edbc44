/**
 * Parses JSON text. Numbers keep their digits, so 64-bit numbers and decimals stay exact.
 *
 * Besides standard JSON, comments, unquoted names and single quotes are accepted. Nesting and the
 * length of numbers are bounded, and a name must not repeat in an object.
 */
import { isUtf8 } from 'node:buffer'
import { checkBytes, isText, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'

const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** A number as written in the text. */
export class JsonNumber {
  /** Sign, digits, point and exponent as written. */
  readonly text: string

  readonly #isNumber = true

  /** `text` is a number in JSON's grammar, else `ERR_INVALID_ARGUMENT`. */
  constructor(text: string) {
    if (typeof text !== 'string' || !numberPattern.test(text)) {
      throw invalidArgument(`${shown(text)} is no number of JSON`)
    }
    this.text = text
  }

  /** Whether a value is an instance of this class. */
  static is(value: unknown): value is JsonNumber {
    return typeof value === 'object' && value !== null && #isNumber in value
  }

  /** The number, or its text if a double would be printed in another way. */
  plain(): number | string {
    const value = Number(this.text)
    return String(value) === this.text ? value : this.text
  }

  /** As {@link plain}. */
  toJSON(): number | string {
    return this.plain()
  }
}

/** An object of a JSON text. */
export interface JsonObject {
  readonly [name: string]: Json
}

/** A value of a JSON text. Plain numbers occur in values made by programs. */
export type Json = null | boolean | string | number | JsonNumber | readonly Json[] | JsonObject

const depthMax = 100
const numberLengthMax = 1100
/**
 * A run of space or one comment, and a token: a sign, a number or a name. A token in quotes is read
 * piece by piece, because a pattern that repeats a group overflows the stack on long input.
 */
const spacePattern = /[ \t\r\n]+|\/\/.*|\/\*[^]*?\*\//y
const endOfPiece = /["'\\\u0000-\u001f]/g
const tokenPattern = new RegExp(
  [/[{}[\]:,]/, /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/, /[A-Za-z_$][\w$.-]*/]
    .map(({ source }) => source)
    .join('|'),
  'y',
)
const spaces = ' \t\r\n/'
const quotes = `"'`
const words: Readonly<Record<string, Json>> = { true: true, false: false, null: null }
const escapes: Readonly<Record<string, string>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
  ...{ '"': '"', "'": "'", '\\': '\\', '/': '/' },
}

/** Parses text or UTF-8 bytes. `ERR_INVALID_ARGUMENT` with the position of the error. */
export function parseJson(text: string | Uint8Array): Json {
  if (typeof text === 'string') return new Parser(text).parse()
  if (!isUtf8(checkBytes(text, 'a JSON text'))) throw invalidArgument('the text is no UTF-8')
  return new Parser(new TextDecoder().decode(text)).parse()
}

/** The end of the match of a pattern at a place; the place without a match. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** The end of a token in quotes; its beginning if the token does not end. */
function endOfQuoted(text: string, start: number): number {
  const quote = text[start]
  for (let at = start + 1; ;) {
    endOfPiece.lastIndex = at
    const piece = endOfPiece.exec(text)
    if (piece === null) return start
    const [found] = piece
    at = piece.index + 1
    if (found === quote) return at
    if (found === '\\') at++
    else if (!quotes.includes(found)) return start
  }
}

class Parser {
  readonly #text: string
  /** The next token, empty at the end of the text, and its place. */
  #token = ''
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#next()
  }

  parse(): Json {
    const value = this.#value(0)
    if (this.#token !== '') throw this.#failure('there is more behind its end')
    return value
  }

  #value(depth: number): Json {
    const token = this.#token
    if (token === '{' || token === '[') {
      if (depth >= depthMax) throw this.#failure(`it nests more than ${depthMax} deep`)
      this.#next()
      return token === '{' ? this.#object(depth + 1) : this.#array(depth + 1)
    }
    let value: Json
    if (quotes.includes(token[0])) value = this.#string()
    else if (/^[-0-9]/.test(token)) {
      if (token.length > numberLengthMax) throw this.#failure('a number is too long')
      value = new JsonNumber(token)
    } else if (Object.hasOwn(words, token)) value = words[token]
    else throw this.#failure('a value is missing')
    this.#next()
    return value
  }

  #object(depth: number): JsonObject {
    const object = Object.create(null) as Record<string, Json>
    for (let isFirst = true; !this.#ends('}', isFirst); isFirst = false) {
      const isQuoted = quotes.includes(this.#token[0])
      if (!isQuoted && !/^[A-Za-z_$]/.test(this.#token)) throw this.#failure('a name is missing')
      const name = isQuoted ? this.#string() : this.#token
      if (name in object) throw this.#failure(`the name ${JSON.stringify(name)} occurs twice`)
      this.#next()
      if (this.#token !== ':') throw this.#failure('a colon is missing')
      this.#next()
      object[name] = this.#value(depth)
    }
    return object
  }

  #array(depth: number): Json[] {
    const array: Json[] = []
    for (let isFirst = true; !this.#ends(']', isFirst); isFirst = false) {
      array.push(this.#value(depth))
    }
    return array
  }

  /** Whether the object or array ends here; otherwise skips the comma. */
  #ends(close: string, isFirst: boolean): boolean {
    const isEnd = this.#token === close
    if (!isEnd && isFirst) return false
    if (!isEnd && this.#token !== ',') throw this.#failure(`a comma or ${close} is missing`)
    this.#next()
    return isEnd
  }

  #string(): string {
    let value = this.#token.slice(1, -1)
    if (value.includes('\\')) {
      value = value.replace(/\\(u[0-9a-fA-F]{4}|[^])/g, (_, escape: string) => {
        if (escape.length > 1) return String.fromCharCode(parseInt(escape.slice(1), 16))
        if (Object.hasOwn(escapes, escape)) return escapes[escape]
        throw this.#failure('there is no such escape')
      })
    }
    if (!isText(value)) throw this.#failure('a text holds a lone surrogate')
    return value
  }

  #next(): void {
    const text = this.#text
    this.#at += this.#token.length
    let end = this.#at
    do {
      this.#at = end
      if (spaces.includes(text[end])) end = endOf(spacePattern, text, end)
    } while (end > this.#at)
    const isQuoted = quotes.includes(text[end])
    end = isQuoted ? endOfQuoted(text, end) : endOf(tokenPattern, text, end)
    this.#token = text.slice(this.#at, end)
    if (end > this.#at || end === text.length) return
    throw this.#failure(
      isQuoted ? 'a text does not end, or holds a control character' : 'no token begins here',
    )
  }

  #failure(problem: string): Error {
    const isEnd = this.#at >= this.#text.length
    return invalidArgument(`malformed JSON at ${isEnd ? 'its end' : this.#at}: ${problem}`)
  }
}
