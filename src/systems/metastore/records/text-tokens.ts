/**
 * The tokens of protobuf's text form: names, words, integers, quoted strings and punctuation. White
 * space and comments (`#` to the end of the line) may separate tokens.
 *
 * The text is kept as one character per byte, so that quoted bytes other than UTF-8 are preserved.
 */
import type { CellarError } from '../../../api/index.js'
import { invalidRecord } from './message-type.js'

export class TextTokens {
  readonly #text: string
  #position = 0

  constructor(bytes: Buffer) {
    this.#text = bytes.toString('latin1')
    this.#skipSpace()
  }

  /** An `ERR_INVALID_ARGUMENT` that names the position. */
  error(what: string): CellarError {
    return invalidRecord(`text record: ${what} at byte ${this.#position}`)
  }

  /** Takes a character if it is next. */
  take(character: string): boolean {
    if (this.#text[this.#position] !== character) return false
    this.#position++
    this.#skipSpace()
    return true
  }

  /** Takes a character that must be next. */
  expect(character: string): void {
    if (!this.take(character)) throw this.error(`expected "${character}"`)
  }

  /** Takes the end of a message: `close`, or the end of the text if that is ''. */
  takeEnd(close: string): boolean {
    if (this.#position < this.#text.length) return close !== '' && this.take(close)
    if (close !== '') throw this.error(`expected "${close}"`)
    return true
  }

  /** Whether a message begins here. */
  isOpening(): boolean {
    const next = this.#text[this.#position]
    return next === '{' || next === '<'
  }

  /** Takes the opening of a message. Returns the matching closing character. */
  takeOpening(): string {
    if (this.take('{')) return '}'
    if (this.take('<')) return '>'
    throw this.error('expected "{"')
  }

  /** Takes a name of letters, digits and underscores. */
  takeName(): string {
    const start = this.#position
    while (isNameCode(this.#text.charCodeAt(this.#position))) this.#position++
    if (this.#position === start) throw this.error('expected a name')
    return this.#end(start)
  }

  /** Takes a given name if it is next. */
  takeThisName(name: string): boolean {
    const end = this.#position + name.length
    if (!this.#text.startsWith(name, this.#position)) return false
    if (isNameCode(this.#text.charCodeAt(end))) return false
    this.#position = end
    this.#skipSpace()
    return true
  }

  /** Takes a name or number, with sign and fraction. */
  takeWord(): string {
    const start = this.#position
    while (isWordCode(this.#text.charCodeAt(this.#position))) this.#position++
    if (this.#position === start) throw this.error('expected a value')
    return this.#end(start)
  }

  /** Takes an integer of any size. */
  takeInteger(): number | bigint {
    const short = this.#takeShortInteger()
    if (short >= 0) return short
    const word = this.takeWord()
    const match = /^(-?)(0|[1-9][0-9]*|0[0-7]+|0[xX][0-9a-fA-F]+)$/.exec(word)
    if (match === null || word.length > 70) throw this.error(`expected an integer, not ${word}`)
    const [, sign, digits] = match
    const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits)
    return sign === '-' ? -value : value
  }

  /** Takes a decimal of up to 15 digits; returns -1 for other tokens. */
  #takeShortInteger(): number {
    const text = this.#text
    const start = this.#position
    let value = 0
    let end = start
    for (; end - start <= shortDigitsMax; end++) {
      const digit = text.charCodeAt(end) - 0x30
      // The code at the end of the text is NaN, which this condition also rejects.
      if (!(digit >= 0 && digit <= 9)) break
      value = value * 10 + digit
    }
    const length = end - start
    if (length === 0 || length > shortDigitsMax) return -1
    if (length > 1 && text.charCodeAt(start) === 0x30) return -1
    if (isWordCode(text.charCodeAt(end))) return -1
    this.#position = end
    this.#skipSpace()
    return value
  }

  /** Whether a quoted string begins here. */
  isQuote(): boolean {
    const next = this.#text[this.#position]
    return next === '"' || next === "'"
  }

  /** Takes one or several adjacent quoted strings and returns their bytes. */
  takeQuoted(): Buffer {
    if (!this.isQuote()) throw this.error('expected a quoted string')
    let content = ''
    do content += this.#quotedPart()
    while (this.isQuote())
    return Buffer.from(content, 'latin1')
  }

  #quotedPart(): string {
    const text = this.#text
    const quote = text[this.#position]
    let content = ''
    let start = ++this.#position
    for (;;) {
      const character = text[this.#position]
      if (character === undefined || character === '\n') throw this.error('a string does not end')
      if (character === quote) break
      if (character === '\\') {
        content += text.slice(start, this.#position)
        content += this.#escape()
        start = this.#position
      } else {
        this.#position++
      }
    }
    content += text.slice(start, this.#position++)
    this.#skipSpace()
    return content
  }

  /** Takes an escape sequence. */
  #escape(): string {
    escapePattern.lastIndex = this.#position
    const match = escapePattern.exec(this.#text)
    if (match === null) throw this.error('unknown escape')
    const [all, octal, hexadecimal, letter] = match
    let code: number
    if (letter !== undefined) code = letterCodes[letter]
    else code = octal === undefined ? parseInt(hexadecimal, 16) : parseInt(octal, 8)
    if (code > 0xff) throw this.error('an escape stands for more than a byte')
    this.#position += all.length
    return String.fromCharCode(code)
  }

  #end(start: number): string {
    const token = this.#text.slice(start, this.#position)
    this.#skipSpace()
    return token
  }

  #skipSpace(): void {
    const text = this.#text
    for (; ; this.#position++) {
      let code = text.charCodeAt(this.#position)
      if (code === 0x23) {
        const end = text.indexOf('\n', this.#position)
        this.#position = end === -1 ? text.length : end
        code = text.charCodeAt(this.#position)
      }
      if (code !== 0x20 && (code < 0x09 || code > 0x0d)) return
      if (this.#position >= text.length) return
    }
  }
}

const shortDigitsMax = 15

const escapePattern = /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|([abfnrtv\\'"?]))/y

const letterCodes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  "'": 39,
  '?': 63,
  '\\': 92,
}

function isWordCode(code: number): boolean {
  return isNameCode(code) || code === 0x2b || code === 0x2d || code === 0x2e
}

function isNameCode(code: number): boolean {
  const lower = code | 0x20
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a) || code === 0x5f
}
