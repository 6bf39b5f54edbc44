/**
 * The tokens of protobuf's text form: names, words, integers, quoted strings and punctuation. White
 * space and comments (`#` to the end of the line) may separate tokens.
 *
 * The text is kept as one character per byte, so that quoted bytes other than UTF-8 are preserved.
 */
import type { CellarError } from '../../../api/index.js'
import { invalidRecord } from './message-type.js'
import { escapedFrom, escapeLetters } from './text-form.js'

const comment = /#[^\n]*/y
const name = /\w+/y
const word = /[\w+.-]+/y
const integer = /^(-?)(0|[1-9][0-9]*|0[0-7]+|0[xX][0-9a-fA-F]+)$/
const shortInteger = /[1-9][0-9]{0,14}(?![\w+.-])/y
const integerLengthMax = 70
const unescaped = /[^"'\\\n]*/y
const escape = /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|([abfnrtv\\'"?]))/y

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

  /** Whether one of the characters is next. */
  startsWith(...characters: readonly string[]): boolean {
    return characters.includes(this.#text[this.#position])
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

  /** Takes the opening of a message. Returns the matching closing character. */
  takeOpening(): string {
    if (this.take('{')) return '}'
    if (this.take('<')) return '>'
    throw this.error('expected "{"')
  }

  /** Takes a name of letters, digits and underscores. */
  takeName(): string {
    return this.#take(name, 'a name')
  }

  /** Takes a given name if it is next. */
  takeThisName(given: string): boolean {
    const end = this.#position + given.length
    if (!this.#text.startsWith(given, this.#position) || isNameCode(this.#text.charCodeAt(end))) {
      return false
    }
    this.#position = end
    this.#skipSpace()
    return true
  }

  /** Takes a name or number, with sign and fraction. */
  takeWord(): string {
    return this.#take(word, 'a value')
  }

  /** Takes an integer of any size. */
  takeInteger(): number | bigint {
    const short = this.#match(shortInteger)
    if (short !== '') {
      this.#skipSpace()
      return Number(short)
    }
    const text = this.takeWord()
    const match = text.length > integerLengthMax ? null : integer.exec(text)
    if (match === null) throw this.error(`expected an integer, not ${text.slice(0, 80)}`)
    const [, sign, digits] = match
    const isOctal = digits.length > 1 && /^0[0-7]/.test(digits)
    const value = isOctal ? BigInt(`0o${digits.slice(1)}`) : BigInt(digits)
    return sign === '-' ? -value : value
  }

  /** Takes one or several adjacent quoted strings and returns their bytes. */
  takeQuoted(): Buffer {
    let content = ''
    do content += this.#quotedPart()
    while (this.startsWith('"', "'"))
    return Buffer.from(content, 'latin1')
  }

  #quotedPart(): string {
    const quote = this.#text[this.#position]
    if (!this.startsWith('"', "'")) throw this.error('expected a quoted string')
    this.#position++
    let content = ''
    for (;;) {
      content += this.#match(unescaped)
      const next = this.#text[this.#position]
      if (next === undefined || next === '\n') throw this.error('a string does not end')
      if (next === '\\') content += this.#escaped()
      else this.#position++
      if (next === quote) break
      if (next !== '\\') content += next
    }
    this.#skipSpace()
    return content
  }

  /** Takes an escape sequence. */
  #escaped(): string {
    escape.lastIndex = this.#position
    const match = escape.exec(this.#text)
    if (match === null) throw this.error('unknown escape')
    const [all, octal, hexadecimal, letter] = match
    this.#position += all.length
    if (letter !== undefined) {
      const index = escapeLetters.indexOf(letter)
      return index < 0 ? letter : String.fromCharCode(escapedFrom + index)
    }
    const code = octal === undefined ? parseInt(hexadecimal, 16) : parseInt(octal, 8)
    if (code > 0xff) throw this.error('an escape stands for more than a byte')
    return String.fromCharCode(code)
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#position)
      if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) this.#position++
      else if (code === 0x23) this.#match(comment)
      else return
    }
  }

  #take(pattern: RegExp, what: string): string {
    const token = this.#match(pattern)
    if (token === '') throw this.error(`expected ${what}`)
    this.#skipSpace()
    return token
  }

  /** Takes the text that a pattern matches here, without the space after it. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#position
    if (!pattern.test(this.#text)) return ''
    const start = this.#position
    this.#position = pattern.lastIndex
    return this.#text.slice(start, this.#position)
  }
}

/** Whether a character may be in a name; false at the end of the text. */
function isNameCode(code: number): boolean {
  const lower = code | 0x20
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a) || code === 0x5f
}
