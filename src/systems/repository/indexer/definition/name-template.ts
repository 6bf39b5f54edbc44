/**
 * Name templates with variables: `title_${vprop:lang}`, and with a choice: `${list?_mv:_single}`.
 */

/** A part of a template. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'choice'; readonly name: string; readonly yes: string; readonly no: string }

const variable = /^(\{[^{}]*\}[^{}]+|[^{}]+)\}/

/** Parses a template. `\${` is a literal `${`. Throws if the template is malformed. */
export function parseTemplate(template: string): TemplatePart[] {
  if (template === '') throw new Error('a name is empty')
  const parts: TemplatePart[] = []
  let text = ''
  const endText = (): void => {
    if (text !== '') parts.push({ kind: 'text', text })
    text = ''
  }
  for (let at = 0; at < template.length;) {
    if (template.startsWith('\\${', at)) {
      text += '${'
      at += 3
    } else if (!template.startsWith('${', at)) text += template[at++]
    else {
      const match = variable.exec(template.slice(at + 2))
      if (match === null) throw new Error(`a variable of the name ${template} does not end`)
      endText()
      parts.push(partOf(match[1].trim(), template))
      at += 2 + match[0].length
    }
  }
  endText()
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
  let text = ''
  for (const part of parts) {
    if (part.kind === 'text') text += part.text
    else if (part.kind === 'choice') text += isTrue(part.name) ? part.yes : part.no
    else {
      const value = valueOf(part.name)
      if (value === undefined) return undefined
      text += value
    }
  }
  return text
}
