/**
 * Name templates with variables: `title_${vprop:lang}`, and with a choice: `${list?_mv:_single}`.
 * Rules with such names make a document field of each matching field of a record.
 */
import type { FieldType } from '../../schema/types.js'
import type { SettingsOf } from '../../../../api/index.js'
import type { dynamicOptions } from './configuration.js'
import { hasWildcard, namePattern, typePattern } from './record-matcher.js'

/** A part of a template. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'choice'; readonly name: string; readonly yes: string; readonly no: string }

/** An escape, a variable whose name may begin with a namespace, or other text. */
const token = /\\(\$\{)|\$\{(\{[^{}]*\}[^{}]+|[^{}]+)\}|(\$(?!\{)|\\(?!\$\{)|[^$\\]+)/gy

/** Parses a template. `\${` is a literal `${`. Throws if the template is malformed. */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = []
  let end = 0
  for (const [whole, escaped, variable, other] of template.matchAll(token)) {
    end += whole.length
    const last = parts.at(-1)
    const text = (escaped as string | undefined) ?? other
    if (text === undefined) parts.push(partOf(variable.trim(), template))
    else if (last?.kind !== 'text') parts.push({ kind: 'text', text })
    else parts[parts.length - 1] = { kind: 'text', text: last.text + text }
  }
  if (end < template.length) throw new Error(`a variable of the name ${template} does not end`)
  return parts
}

function partOf(inner: string, template: string): TemplatePart {
  const question = inner.startsWith('{') ? -1 : inner.indexOf('?')
  if (question < 0) return { kind: 'variable', name: inner }
  const [yes, no = '', ...more] = inner.slice(question + 1).split(':')
  if (question === 0 || more.length > 0) throw new Error(`a choice in ${template} cannot be read`)
  return { kind: 'choice', name: inner.slice(0, question), yes, no }
}

/** Fills in a template; undefined if a variable has no value. */
export function fillTemplate(
  parts: readonly TemplatePart[],
  valueOf: (name: string) => string | undefined,
  isTrue: (name: string) => boolean = () => false,
): string | undefined {
  const texts = parts.map((part) => {
    if (part.kind === 'text') return part.text
    if (part.kind === 'variable') return valueOf(part.name)
    return isTrue(part.name) ? part.yes : part.no
  })
  return texts.includes(undefined) ? undefined : texts.join('')
}

const anyName = (): string => ''

/**
 * The name in the document for a field; undefined if the field does not match the rule. Throws if
 * the rule is malformed.
 */
export function dynamicName(
  rule: SettingsOf<typeof dynamicOptions>,
): (field: FieldType) => string | undefined {
  const { matchNamespace, matchName, matchType, matchScope } = rule
  const namespace = matchNamespace === undefined ? anyName : namePattern(matchNamespace)
  const local = matchName === undefined ? anyName : namePattern(matchName)
  const type = matchType === undefined ? undefined : typePattern(matchType)
  const template = parseTemplate(rule.name)
  const allowed = ['namespace', 'name', 'type', 'baseType', 'nestedType', 'nestedBaseType']
  allowed.push('deepestNestedBaseType')
  if (hasWildcard(matchName ?? '')) allowed.push('nameMatch')
  if (hasWildcard(matchNamespace ?? '')) allowed.push('namespaceMatch')
  for (const { kind, ...part } of template) {
    if (!('name' in part)) continue
    const isKnown = (kind === 'variable' ? allowed : ['list', 'multiValue']).includes(part.name)
    if (!isKnown) throw new Error(`there is no ${kind} ${part.name} here`)
  }
  return (field) => {
    const end = field.name.indexOf('}')
    const namespaceMatch = namespace(field.name.slice(1, end))
    const nameMatch = local(field.name.slice(end + 1))
    if (namespaceMatch === undefined || nameMatch === undefined) return undefined
    if (type?.(field.type) === false || matchScope?.includes(field.scope) === false) {
      return undefined
    }
    const values: Readonly<Record<string, string>> = {
      ...variablesOf(field),
      nameMatch,
      namespaceMatch,
    }
    return fillTemplate(
      template,
      (name) => values[name],
      () => field.type.base === 'LIST',
    )
  }
}

function variablesOf({ name, type }: FieldType): Record<string, string> {
  const levels: string[] = []
  for (let at: FieldType['type'] | undefined = type; at !== undefined; at = at.element) {
    levels.push(at.base.toLowerCase())
  }
  const end = name.indexOf('}')
  const nested = levels.length > 1 ? levels.slice(1) : levels
  return {
    namespace: name.slice(1, end),
    name: name.slice(end + 1),
    type: levels.join('_'),
    baseType: levels[0],
    nestedType: nested.join('_'),
    nestedBaseType: nested[0],
    deepestNestedBaseType: levels[levels.length - 1],
  }
}
