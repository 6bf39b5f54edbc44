/**
 * Chains: `{n}author=>{n}address=>{n}city` follows a link, then an embedded record, and ends in a
 * field. Other steps are `master`, `-lang` (the variant without a property) and `+lang` or
 * `+lang=en` (the variants with one more property).
 */
import { systemNamespace } from '../../qualified-name.js'
import { splitEscaped, unescaped } from '../../record-id.js'
import { leafOf } from '../../schema/type-contents.js'
import type { BoundNames } from './bound-names.js'
import { variantPattern, type VariantPattern } from './record-matcher.js'

/** A step from a record to others. */
export type ChainStep =
  /** Id of a field of links or of embedded records. */
  | { readonly kind: 'link' | 'record'; readonly field: string }
  | { readonly kind: 'master' }
  | { readonly kind: 'less'; readonly names: readonly string[] }
  /** Properties to add. */
  | { readonly kind: 'more'; readonly properties: VariantPattern }

/** The end of a chain. */
export type ChainEnd =
  | { readonly kind: 'field'; readonly field: string }
  | { readonly kind: 'system'; readonly name: SystemField }

/** A chain; without an end it leads to records. */
export interface Chain {
  readonly steps: readonly ChainStep[]
  readonly end: ChainEnd | undefined
}

/** Local names of the system fields. */
export const systemFields = [
  'id',
  'link',
  'version',
  'recordType',
  'recordTypeName',
  'recordTypeNamespace',
  'recordTypeVersion',
  'recordTypeWithVersion',
  'supertypes',
  'supertypeNames',
  'supertypeNamespaces',
  'supertypeVersions',
  'supertypesWithVersion',
  'recordTypes',
  'recordTypeNames',
  'recordTypeNamespaces',
  'recordTypeVersions',
  'recordTypesWithVersion',
] as const

/** A system field. */
export type SystemField = (typeof systemFields)[number]

const stepsMax = 32

/**
 * Parses the chain of a value. `inRecord`: it starts at an embedded record. Throws if malformed.
 */
export function parseChain(text: string, names: BoundNames, inRecord: boolean): Chain {
  const tokens = tokensOf(text)
  const last = tokens.pop()!
  const steps = parseSteps(tokens, names, inRecord)
  if (parseVariantStep(last) !== undefined) {
    throw new Error(`a value must end in a field, not in ${last}`)
  }
  return { steps, end: parseEnd(last, names, leadsIntoRecord(steps, inRecord)) }
}

/** Parses the chain of a `forEach`, which leads to records; see {@link parseChain}. */
export function parseRecordChain(text: string, names: BoundNames, inRecord: boolean): Chain {
  return { steps: parseSteps(tokensOf(text), names, inRecord), end: undefined }
}

/** Whether steps lead to embedded records. */
export function leadsIntoRecord(steps: readonly ChainStep[], inRecord: boolean): boolean {
  const last = steps.at(-1)
  return last === undefined ? inRecord : last.kind === 'record'
}

function parseSteps(tokens: readonly string[], names: BoundNames, inRecord: boolean): ChainStep[] {
  const steps: ChainStep[] = []
  for (const token of tokens) {
    const step = parseStep(token, names)
    const isInRecord = leadsIntoRecord(steps, inRecord)
    if (isInRecord && step.kind !== 'link' && step.kind !== 'record') {
      throw new Error(`${token} cannot follow a record inside a field, which has no variants`)
    }
    steps.push(step)
  }
  return steps
}

function tokensOf(text: string): string[] {
  const tokens = text.split('=>').map((token) => token.trim())
  if (tokens.includes('')) throw new Error(`the value '${text}' has an empty part`)
  if (tokens.length > stepsMax) throw new Error(`a value has at most ${stepsMax} parts`)
  return tokens
}

function parseStep(token: string, names: BoundNames): ChainStep {
  const variant = parseVariantStep(token)
  if (variant !== undefined) return variant
  if (systemFieldOf(token) !== undefined) throw new Error(`${token} cannot be followed`)
  const field = names.field(token)
  const { base } = leafOf(field)
  if (base === 'LINK') return { kind: 'link', field: field.id }
  if (base === 'RECORD') return { kind: 'record', field: field.id }
  throw new Error(`${token} is ${field.valueType}; only links and records can be followed`)
}

function parseVariantStep(token: string): ChainStep | undefined {
  if (token === 'master') return { kind: 'master' }
  if (!/^[+-]/.test(token)) return undefined
  const parts = splitEscaped(token, ',').map((part) => part.trim())
  const [sign] = token
  if (parts.some((part) => part[0] !== sign || part.length === 1)) {
    throw new Error(`${token} must have one of + and - before each property`)
  }
  const parsed = parts.map((part) => part.slice(1))
  if (sign === '-') return { kind: 'less', names: parsed.map((name) => unescaped(name, token)) }
  return { kind: 'more', properties: variantPattern(parsed, token) }
}

/**
 * The system field of a name; undefined for another namespace. Throws if there is no such field.
 */
export function systemFieldOf(name: string): SystemField | undefined {
  const prefix = `{${systemNamespace}}`
  if (!name.startsWith(prefix)) return undefined
  const local = name.slice(prefix.length)
  const found = systemFields.find((each) => each === local)
  if (found === undefined) throw new Error(`there is no system field ${local}`)
  return found
}

function parseEnd(token: string, names: BoundNames, inRecord: boolean): ChainEnd {
  const name = systemFieldOf(token)
  if (name === undefined) return { kind: 'field', field: names.field(token).id }
  if (inRecord && (name === 'id' || name === 'link')) {
    throw new Error(`a record inside a field has no ${name}`)
  }
  return { kind: 'system', name }
}
