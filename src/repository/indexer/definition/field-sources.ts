/** What of the records a field of documents shows: whoever may not read that may not search it. */
import type { SchemaCache } from '../../schema/schema-cache.js'
import type { Chain } from './chain.js'
import type { PreparedConfiguration, PreparedField, PreparedNode } from './compile.js'
import type { TemplatePart } from './name-template.js'

/** Fields of records that decide what a field of documents has. */
export interface FieldSources {
  /** Qualified names of fields of records in the table of the document's record. */
  readonly own: ReadonlySet<string>
  /** Those of records behind links, which may be in any table of the repository. */
  readonly linked: ReadonlySet<string>
  /** Whether it shows something of records behind links, be it only that they exist. */
  readonly followsLinks: boolean
  /** Whether a function of the program makes it, which may show any field of its record. */
  readonly isFunction: boolean
}

/** Sources under way. */
class Collected implements FieldSources {
  readonly own: Set<string>
  readonly linked: Set<string>
  followsLinks: boolean
  isFunction = false

  constructor(before?: Collected) {
    this.own = new Set(before?.own)
    this.linked = new Set(before?.linked)
    this.followsLinks = before?.followsLinks ?? false
  }

  /** Adds a field of the record that the chain has come to. */
  add(schema: SchemaCache, fieldId: string): void {
    const { name } = schema.fieldById(fieldId)
    if (this.followsLinks) this.linked.add(name)
    else this.own.add(name)
  }

  follow(schema: SchemaCache, { steps, end }: Chain): this {
    for (const step of steps) {
      if ('field' in step) this.add(schema, step.field)
      if (step.kind === 'link') this.followsLinks = true
    }
    if (end?.kind === 'field') this.add(schema, end.field)
    return this
  }

  merge({ own, linked, followsLinks, isFunction }: FieldSources): void {
    for (const name of own) this.own.add(name)
    for (const name of linked) this.linked.add(name)
    this.followsLinks ||= followsLinks
    this.isFunction ||= isFunction
  }
}

/** The sources of a field of documents; undefined if no document has a field of that name. */
export function sourcesOf(
  { nodes, dynamicFields }: PreparedConfiguration,
  schema: SchemaCache,
  name: string,
): FieldSources | undefined {
  const found: FieldSources[] = []
  visit(nodes, new Collected(), schema, (field, sources) => {
    if (mayBe(field.name, name)) found.push(sources)
  })
  for (const { nameFor } of dynamicFields) {
    for (const field of schema.fields()) {
      if (nameFor(field) !== name) continue
      const sources = new Collected()
      sources.own.add(field.name)
      found.push(sources)
    }
  }
  if (found.length === 0) return undefined
  const all = new Collected()
  for (const sources of found) all.merge(sources)
  return all
}

function visit(
  nodes: readonly PreparedNode[],
  before: Collected,
  schema: SchemaCache,
  callback: (field: PreparedField, sources: FieldSources) => void,
): void {
  for (const node of nodes) {
    const sources = new Collected(before)
    if (node.kind === 'field') {
      for (const variable of node.variables.values()) {
        if (variable.kind === 'chain') {
          sources.merge(new Collected(before).follow(schema, variable.chain))
        }
      }
      if (node.chain !== undefined) {
        sources.merge(new Collected(before).follow(schema, node.chain))
      }
      if (node.make !== undefined) sources.isFunction = true
      callback(node, sources)
    } else if (node.kind === 'match') {
      if (node.matcher.field !== undefined) sources.add(schema, node.matcher.field)
      visit(node.nodes, sources, schema, callback)
    } else visit(node.nodes, sources.follow(schema, node.chain), schema, callback)
  }
}

/** Whether a template with some values of its variables is this name. */
function mayBe(template: readonly TemplatePart[], name: string): boolean {
  const [first] = template
  const last = template[template.length - 1]
  if (template.every(({ kind }) => kind === 'text')) {
    return template.map((part) => (part.kind === 'text' ? part.text : '')).join('') === name
  }
  return (
    (first.kind !== 'text' || name.startsWith(first.text)) &&
    (last.kind !== 'text' || name.endsWith(last.text))
  )
}
