/**
 * Cuts the filter language into tokens.
 *
 *   name      letters, digits and underscores: filter names, SKIP WHILE AND OR, true false
 *   integer   digits, perhaps with a minus sign
 *   string    in single quotes; a quote inside is doubled
 *   operator  < <= = != > >=
 *   ( ) ,
 */
import { invalidArgument } from '../base/errors.js'

export type TokenKind = 'name' | 'integer' | 'string' | 'operator' | '(' | ')' | ',' | 'end'

/** A token; `text` of a string is its content with doubled quotes undone. */
export interface Token {
  readonly kind: TokenKind
  readonly text: string
  /** Offset of the token's first character. */
  readonly position: number
}

/** Longest filter text in characters: far beyond what people write, short enough to be safe. */
const textLengthMax = 1024 * 1024

const pattern =
  /[ \t\r\n]*(?:([A-Za-z_][A-Za-z0-9_]*)|(-?[0-9]+)|'((?:[^']|'')*)'|(<=|>=|!=|<|>|=)|([(),])|$)/y

/** `ERR_INVALID_ARGUMENT` that says where, what was expected there, and what stands there. */
export function syntaxError(position: number, expected: string, found: string): Error {
  return invalidArgument(
    `filter text: expected ${expected} at position ${position}, found ${found}`,
  )
}

/** A token as messages show it. */
export function showToken(token: Token): string {
  if (token.kind === 'end') return 'the end of the text'
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}...` : token.text
  return token.kind === 'string' ? `the string '${text}'` : `'${text}'`
}

/** All tokens, the last one of kind 'end'. */
export function tokenize(text: string): Token[] {
  if (text.length > textLengthMax) {
    throw invalidArgument(`filter text has ${text.length} characters; at most ${textLengthMax}`)
  }
  const tokens: Token[] = []
  pattern.lastIndex = 0
  let at = 0
  for (;;) {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) throw unreadable(text, at)
    const position = at + /^[ \t\r\n]*/.exec(match[0])![0].length
    at = pattern.lastIndex
    const [, name, integer, string, operator, sign] = match
    if (name !== undefined) tokens.push({ kind: 'name', text: name, position })
    else if (integer !== undefined) tokens.push({ kind: 'integer', text: integer, position })
    else if (string !== undefined) {
      tokens.push({ kind: 'string', text: string.replaceAll("''", "'"), position })
    } else if (operator !== undefined) tokens.push({ kind: 'operator', text: operator, position })
    else if (sign !== undefined) tokens.push({ kind: sign as TokenKind, text: sign, position })
    else {
      tokens.push({ kind: 'end', text: '', position })
      return tokens
    }
  }
}

function unreadable(text: string, from: number): Error {
  let at = from
  while (' \t\r\n'.includes(text[at])) at++
  if (text[at] === "'") {
    return syntaxError(
      text.length,
      `a closing quote for the string at ${at}`,
      'the end of the text',
    )
  }
  return syntaxError(at, 'a filter, an argument or an operator', `'${text[at]}'`)
}
