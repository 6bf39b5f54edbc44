/**
 * Patterns of value types: names with `*`. For arguments: `<x>`, `<*>` zero or one level, `<+>`
 * exactly one, `<**>` any number of levels, `<++>` at least one. Parentheses may replace angle
 * brackets, so that XML needs no escapes. Commas separate alternatives.
 */
import type { ValueType } from '../../values/value-type.js'
import { WildcardPattern } from './wildcard.js'

type Level =
  | { readonly kind: 'named'; readonly name: WildcardPattern; readonly below: Level }
  | { readonly kind: 'end' | '*' | '+' | '**' | '++' }

const levelsMax = 32
const end: Level = { kind: 'end' }

function parseLevel(text: string, depth: number): Level {
  if (depth > levelsMax) throw new Error('the pattern of a type is too deep')
  const open = text.indexOf('<')
  const name = (open < 0 ? text : text.slice(0, open)).trim()
  if (name === '' || /[<>]/.test(name))
    throw new Error(`a pattern of a type is incomplete: ${text}`)
  if (open < 0) return { kind: 'named', name: new WildcardPattern(name), below: end }
  if (!text.endsWith('>')) throw new Error(`a pattern of a type lacks its '>': ${text}`)
  const inner = text.slice(open + 1, -1).trim()
  const isLevels = inner === '*' || inner === '+' || inner === '**' || inner === '++'
  const below: Level = isLevels ? { kind: inner } : parseInner(inner, depth + 1)
  return { kind: 'named', name: new WildcardPattern(name), below }
}

/** An argument: a type with levels of its own, or the name of a record type. */
function parseInner(inner: string, depth: number): Level {
  if (inner.startsWith('{')) return { kind: 'named', name: new WildcardPattern(inner), below: end }
  return parseLevel(inner, depth)
}

/** The names of a type from the outside in: `LIST<LINK<{n}a>>` is LIST, LINK and `{n}a`. */
function namesOf(type: ValueType): string[] {
  const names: string[] = []
  for (let at: ValueType | undefined = type; at !== undefined; at = at.element) {
    names.push(at.base)
    if (at.recordType !== undefined) names.push(at.recordType)
  }
  return names
}

function matches(level: Level, names: readonly string[], at: number): boolean {
  const left = names.length - at
  switch (level.kind) {
    case 'named':
      if (left === 0 || level.name.match(names[at]) === undefined) return false
      return matches(level.below, names, at + 1)
    case 'end':
      return left === 0
    case '*':
      return left <= 1
    case '+':
      return left === 1
    case '**':
      return true
    case '++':
      return left >= 1
  }
}

function alternatives(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let inName = false
  let start = 0
  for (let i = 0; i <= text.length; i++) {
    const char = text[i] as string | undefined
    if (char === '{') inName = true
    else if (char === '}') inName = false
    else if (char === '<') depth++
    else if (char === '>') depth--
    if (char !== undefined && (char !== ',' || depth > 0 || inName)) continue
    parts.push(text.slice(start, i))
    start = i + 1
  }
  return parts
}

/** A pattern of value types. */
export class TypePattern {
  readonly #levels: readonly Level[]

  /** Throws if the pattern is malformed. */
  constructor(pattern: string) {
    const text = pattern.replaceAll('(', '<').replaceAll(')', '>')
    this.#levels = alternatives(text).map((each) => parseLevel(each.trim(), 0))
  }

  matches(type: ValueType): boolean {
    const names = namesOf(type)
    return this.#levels.some((level) => matches(level, names, 0))
  }
}
