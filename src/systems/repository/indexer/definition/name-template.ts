/**
 * Name templates with variables: `title_${vprop:lang}`, and with a choice: `${list?_mv:_single}`.
 */

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
