/**
 * Parses JSON text. Numbers keep their digits, so 64-bit numbers and decimals stay exact.
 *
 * Besides standard JSON, comments, unquoted names and single quotes are accepted. Nesting and the
 * length of numbers are bounded, and a name must not repeat in an object.
 */
import {
  checkBytes,
  declareOptions,
  integer,
  isText,
  shown,
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'

const wholeNumberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** A number as written in the text. */
export class JsonNumber {
  /** Sign, digits, point and exponent as written. */
  readonly text: string

  readonly #isNumber = true

  /** `text` is a number in JSON's grammar, else `ERR_INVALID_ARGUMENT`. */
  constructor(text: string) {
    if (typeof text !== 'string' || !wholeNumberPattern.test(text)) {
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

const numberLengthMax = 1100
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const namePattern = /[A-Za-z_$][\w$.-]*/y
const spacePattern = /[ \t\r\n]*/y
const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
}

const textOptions = declareOptions('a JSON text', {
  /** Limit of nested arrays and objects, 1 to 1,000. Default 100. */
  depthMax: integer({ min: 1, max: 1000, default: 100 }),
})

/** Options of {@link parseJson}. */
export interface JsonTextOptions extends OptionsOf<typeof textOptions> {}

/** Parses text or UTF-8 bytes. `ERR_INVALID_ARGUMENT` with the position of the error. */
export function parseJson(text: string | Uint8Array, options: JsonTextOptions = {}): Json {
  const { depthMax } = textOptions.read(options)
  const source = typeof text === 'string' ? text : decoded(checkBytes(text, 'a JSON text'))
  return new Parser(source, depthMax).parse()
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidArgument('the text is no UTF-8')
  }
}

class Parser {
  readonly #text: string
  readonly #depthMax: number
  #at = 0
  #depth = 0

  constructor(text: string, depthMax: number) {
    this.#text = text
    this.#depthMax = depthMax
  }

  parse(): Json {
    const value = this.#value()
    this.#skip()
    if (this.#at < this.#text.length) throw this.#failure('there is more behind its end')
    return value
  }

  #value(): Json {
    this.#skip()
    const character = this.#text[this.#at]
    if (character === '{') return this.#nested(() => this.#object())
    if (character === '[') return this.#nested(() => this.#array())
    if (character === '"' || character === "'") return this.#string(character)
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    return this.#number()
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > this.#depthMax) {
      throw this.#failure(`it nests more than ${this.#depthMax} deep`)
    }
    this.#at++
    const value = read()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const object = Object.create(null) as Record<string, Json>
    for (let isFirst = true; !this.#ends('}', isFirst); isFirst = false) {
      const name = this.#name()
      if (name in object) throw this.#failure(`the name ${JSON.stringify(name)} occurs twice`)
      this.#skip()
      if (this.#text[this.#at] !== ':') throw this.#failure('a colon is missing')
      this.#at++
      object[name] = this.#value()
    }
    return object
  }

  #array(): Json[] {
    const array: Json[] = []
    for (let isFirst = true; !this.#ends(']', isFirst); isFirst = false) array.push(this.#value())
    return array
  }

  /** Whether the object or array ends here; otherwise skips the comma. */
  #ends(close: string, isFirst: boolean): boolean {
    this.#skip()
    const character = this.#text[this.#at]
    if (character === close) {
      this.#at++
      return true
    }
    if (isFirst) return false
    if (character !== ',') throw this.#failure(`a comma or ${close} is missing`)
    this.#at++
    this.#skip()
    return false
  }

  #name(): string {
    this.#skip()
    const character = this.#text[this.#at]
    if (character === '"' || character === "'") return this.#string(character)
    return this.#match(namePattern) ?? this.#fail('a name is missing')
  }

  #number(): JsonNumber {
    const text = this.#match(numberPattern)
    if (text === undefined || text === '') throw this.#failure('a value is missing')
    if (text.length > numberLengthMax) throw this.#failure('a number is too long')
    return new JsonNumber(text)
  }

  #string(quote: string): string {
    const text = this.#text
    let value = ''
    let start = ++this.#at
    for (;;) {
      if (this.#at >= text.length) throw this.#failure('a text does not end')
      const character = text[this.#at]
      if (character === quote) break
      if (character < ' ') throw this.#failure('a text holds a control character')
      if (character === '\\') {
        value += text.slice(start, this.#at) + this.#escape()
        start = this.#at
      } else this.#at++
    }
    value += text.slice(start, this.#at)
    this.#at++
    if (!isText(value)) throw this.#failure('a text holds a lone surrogate')
    return value
  }

  #escape(): string {
    const character = this.#text[this.#at + 1]
    if (character === 'u') {
      const digits = this.#text.slice(this.#at + 2, this.#at + 6)
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#failure('an escape is not complete')
      this.#at += 6
      return String.fromCharCode(parseInt(digits, 16))
    }
    if (!Object.hasOwn(escapes, character)) throw this.#failure('there is no such escape')
    this.#at += 2
    return escapes[character]
  }

  /** Skips spaces and comments. */
  #skip(): void {
    for (;;) {
      this.#match(spacePattern)
      const next = this.#text.slice(this.#at, this.#at + 2)
      if (next !== '//' && next !== '/*') return
      const isLine = next === '//'
      const end = this.#text.indexOf(isLine ? '\n' : '*/', this.#at + 2)
      if (end < 0 && !isLine) throw this.#failure('a comment does not end')
      this.#at = end < 0 ? this.#text.length : end + (isLine ? 1 : 2)
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #fail(problem: string): never {
    throw this.#failure(problem)
  }

  #failure(problem: string): Error {
    const isEnd = this.#at >= this.#text.length
    return invalidArgument(`malformed JSON at ${isEnd ? 'its end' : this.#at}: ${problem}`)
  }
}
