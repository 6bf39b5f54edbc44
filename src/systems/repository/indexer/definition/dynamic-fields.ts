/** Compiles rules that make a document field of each matching field of a record. */
import type { FieldType } from '../../schema/field-type.js'
import type { SettingsOf } from '../../../../api/index.js'
import type { dynamicOptions } from './configuration.js'
import { fillTemplate, parseTemplate } from './name-template.js'
import { hasWildcard, namePattern, typePattern } from './patterns.js'

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
