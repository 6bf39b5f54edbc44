/**
 * Writes a parsed query as text in one form that every parser of Lucene's syntax reads alike: each
 * term names its field, and each character that could have a meaning is an escape.
 */
import {
  factorMax,
  queryError,
  type Occurrence,
  type QueryClause,
  type QueryNode,
} from './query-syntax.js'

const signs: Readonly<Record<Occurrence, string>> = { MUST: '+', SHOULD: '', MUST_NOT: '-' }

/** The text of a query, which has the meaning of the parsed text. `ERR_INVALID_ARGUMENT`. */
export function queryText(node: QueryNode): string {
  const isBare = node.type === 'boolean' && node.boost === 1
  return isBare ? clausesText(node.clauses) : nodeText(node)
}

function clausesText(clauses: readonly QueryClause[]): string {
  return clauses.map(({ occurrence, node }) => `${signs[occurrence]}${nodeText(node)}`).join(' ')
}

function nodeText(node: QueryNode): string {
  return `${bodyText(node)}${node.boost === 1 ? '' : `^${factorText(node)}`}`
}

function bodyText(node: QueryNode): string {
  switch (node.type) {
    case 'all':
      return '*:*'
    case 'boolean':
      return `(${clausesText(node.clauses)})`
    case 'term':
      return `${escaped(node.field)}:${escaped(node.text)}`
    case 'phrase':
      return `${escaped(node.field)}:"${escaped(node.text)}"`
    case 'prefix':
    case 'exists':
      return `${escaped(node.field)}:${escaped(node.text)}*`
    case 'range': {
      const { low, high, includesLow, includesHigh } = node
      const ends = `${endText(low)} TO ${endText(high)}`
      return `${escaped(node.field)}:${includesLow ? '[' : '{'}${ends}${includesHigh ? ']' : '}'}`
    }
  }
}

function endText(end: string | undefined): string {
  return end === undefined ? '*' : `"${escaped(end)}"`
}

const operator = /^(AND|OR|NOT|TO)$/
const special = /[^\p{L}\p{N}_.]/gu

/** Letters and digits stay, unless they make an operator; others become `\u` and four digits. */
function escaped(text: string): string {
  return text.replace(operator.test(text) ? /[^]/g : special, (character) => {
    // Character by character of JavaScript, so that a pair of surrogates becomes two escapes.
    return character.replace(/[^]/g, (each) => {
      return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
  })
}

/** A factor without an exponent, which the syntax does not have. */
function factorText(node: QueryNode): string {
  const { boost } = node
  if (!(boost <= factorMax)) {
    const position = 'position' in node ? node.position : 0
    throw queryError(position, `the factors with ^ make more than ${factorMax}`)
  }
  if (boost >= 1e21) return BigInt(boost).toString()
  return boost > 0 && boost < 1e-6 ? boost.toFixed(100) : String(boost)
}
