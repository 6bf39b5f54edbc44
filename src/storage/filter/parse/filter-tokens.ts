/**
 * Cuts the filter language into tokens.
 *
 *   name      letters, digits and underscores: filter names, SKIP WHILE AND OR, true false
 *   integer   digits, perhaps with a minus sign
 *   string    in single quotes; a quote inside is doubled
 *   operator  < <= = != > >=
 *   ( ) ,
 */
import { invalidArgument } from '../../../base/errors.js'

/** Kinds of tokens. */
export type TokenKind = 'name' | 'integer' | 'string' | 'operator' | '(' | ')' | ',' | 'end'

/** A token; `text` of a string is its content, with doubled quotes replaced by single ones. */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** Offset of the token's first character. */
  readonly position: number
}

/** Longest filter text in characters, so that hostile text cannot take much time or memory. */
const textLengthMax = 1024 * 1024

/** Matches all tokens but strings. */
const pattern = /([A-Za-z_][A-Za-z0-9_]*)|(-?[0-9]+)|(<=|>=|!=|<|>|=)|([(),])/y
const kinds: readonly TokenKind[] = ['name', 'integer', 'operator']

/**
 * Makes an `ERR_INVALID_ARGUMENT` that names the position, the expected text and the text found.
 */
export function syntaxError(position: number, expected: string, found: string): Error {
  return invalidArgument(
    `filter text: expected ${expected} at position ${position}, found ${found}`,
  )
}

/** The text that messages show for a token. */
export function showToken(token: Token): string {
  if (token.kind === 'end') return 'the end of the text'
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}...` : token.text
  return token.kind === 'string' ? `the string '${text}'` : `'${text}'`
}

/** Splits text into tokens; the last one has the kind 'end'. */
export function tokenize(text: string): Token[] {
  if (text.length > textLengthMax) {
    throw invalidArgument(`filter text has ${text.length} characters; at most ${textLengthMax}`)
  }
  const tokens: Token[] = []
  let at = 0
  for (;;) {
    while (at < text.length && ' \t\r\n'.includes(text[at])) at++
    if (at === text.length) {
      tokens.push({ kind: 'end', text: '', position: at })
      return tokens
    }
    if (text[at] === "'") {
      const end = endOfString(text, at)
      const content = text.slice(at + 1, end - 1).replaceAll("''", "'")
      tokens.push({ kind: 'string', text: content, position: at })
      at = end
    } else {
      const token = readToken(text, at)
      tokens.push(token)
      at += token.text.length
    }
  }
}

function readToken(text: string, position: number): Token {
  pattern.lastIndex = position
  const match = pattern.exec(text)
  if (match === null) {
    throw syntaxError(position, 'a filter, an argument or an operator', `'${text[position]}'`)
  }
  const group = match.findIndex((part, index) => index > 0 && part !== undefined)
  const kind = kinds[group - 1] ?? (match[0] as TokenKind)
  return { kind, text: match[0], position }
}

/** Offset after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf("'", at)
    if (quote < 0) {
      const expected = `a closing quote for the string at ${start}`
      throw syntaxError(text.length, expected, 'the end of the text')
    }
    if (text[quote + 1] !== "'") return quote + 1
    at = quote + 2
  }
}
