/**
 * The record fields an index field derives from; search permission follows read permission.
 *
 * A configuration bounds the possible sources of a field. The actual sources, such as fields of
 * embedded records, are noted with each document. Fields are identified by id, so a renamed field
 * gains no permission.
 */
import { areTexts, hasMembers } from '../../stored-cells.js'
import type { EmbeddedRecord } from '../../values/nested-types.js'
import type { ValueType } from '../../values/value-type.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import type { Chain } from './chain.js'
import type { PreparedConfiguration } from './compile.js'
import type { TemplatePart } from './name-template.js'

/** The record fields that determine the content of a document field. */
export interface FieldSources {
  /** Ids of fields of records in the table of the document's record. */
  readonly own: ReadonlySet<string>
  /** Ids of fields of linked records, which may be in any table of the repository. */
  readonly linked: ReadonlySet<string>
  /** Whether the field shows linked records at all, even if only their existence. */
  readonly followsLinks: boolean
  /** Whether a function of the program computes the field; it may use any field of its record. */
  readonly isFunction: boolean
}

/** {@link FieldSources} in JSON. */
export type StoredSources = ReturnType<SourceSet['toJSON']>

/** Whether JSON is the stored form of sources. */
export function isStoredSources(value: unknown): value is StoredSources {
  if (!hasMembers(value, { followsLinks: 'boolean', isFunction: 'boolean' })) return false
  const { own, linked } = value as Readonly<Record<string, unknown>>
  return areTexts(own) && areTexts(linked)
}

/** The content of a set of sources; absent parts are empty. */
type SourcesInput = {
  readonly [Name in keyof FieldSources]?: Name extends 'own' | 'linked' ? Iterable<string> : boolean
}

/** A mutable set of sources. */
export class SourceSet implements FieldSources {
  readonly own: Set<string>
  readonly linked: Set<string>
  followsLinks: boolean
  isFunction: boolean

  constructor(given: SourcesInput = {}) {
    this.own = new Set(given.own)
    this.linked = new Set(given.linked)
    this.followsLinks = given.followsLinks ?? false
    this.isFunction = given.isFunction ?? false
  }

  /**
   * Adds the fields of records embedded in a value; `isLinked`: the value is of a linked record.
   */
  addInner(value: unknown, type: ValueType, schema: SchemaCache, isLinked: boolean): void {
    if (type.element !== undefined) {
      for (const each of value as readonly unknown[]) {
        this.addInner(each, type.element, schema, isLinked)
      }
    } else if (type.base === 'RECORD') {
      for (const [name, each] of Object.entries((value as EmbeddedRecord).fields)) {
        const field = schema.field(name)
        const ids = isLinked ? this.linked : this.own
        ids.add(field.id)
        this.addInner(each, field.type, schema, isLinked)
      }
    }
  }

  follow({ steps, end }: Chain): this {
    for (const step of steps) {
      if ('field' in step) this.#add(step.field)
      if (step.kind === 'link') this.followsLinks = true
    }
    if (end?.kind === 'field') this.#add(end.field)
    return this
  }

  /** Adds a field of the record reached so far. */
  #add(field: string): void {
    if (this.followsLinks) this.linked.add(field)
    else this.own.add(field)
  }

  /** Adds the field that a condition on the record reached so far refers to. */
  match(field: string | undefined): this {
    if (field !== undefined) this.#add(field)
    return this
  }

  /** Adds other sources; returns whether any of them was new. */
  merge({ own, linked, followsLinks, isFunction }: FieldSources): boolean {
    const before = this.#size
    for (const id of own) this.own.add(id)
    for (const id of linked) this.linked.add(id)
    this.followsLinks ||= followsLinks
    this.isFunction ||= isFunction
    return this.#size > before
  }

  toJSON(): Record<'own' | 'linked', string[]> & Record<'followsLinks' | 'isFunction', boolean> {
    const { own, linked, followsLinks, isFunction } = this
    return { own: [...own].sort(), linked: [...linked].sort(), followsLinks, isFunction }
  }

  get #size(): number {
    return this.own.size + this.linked.size + Number(this.followsLinks) + Number(this.isFunction)
  }
}

/**
 * The names that a template can make: a single one, or all with a beginning and an end. The part
 * between may be a value of a record, so all names of a span are treated as one.
 */
export interface NameSpan {
  readonly start: string
  /** Undefined: `start` is the name. */
  readonly end: string | undefined
}

/** The names of a template. */
export function spanOf(template: readonly TemplatePart[]): NameSpan {
  const texts = template.map((part) => (part.kind === 'text' ? part.text : undefined))
  if (!texts.includes(undefined)) return { start: texts.join(''), end: undefined }
  return { start: texts[0] ?? '', end: texts[texts.length - 1] ?? '' }
}

/** The sources of some fields of a document, or of the document itself. */
export interface ShownField {
  readonly names: NameSpan
  readonly sources: FieldSources
}

/** The key of names, in maps and in stored rows. */
export function keyOf({ start, end }: NameSpan): string {
  return JSON.stringify(end === undefined ? [start] : [start, end])
}

/** Sources by the names of fields of documents. */
export class NamedSources {
  readonly #byKey = new Map<string, SourceSet>()
  readonly #spans: ShownField[] = []

  at(names: NameSpan): SourceSet | undefined {
    return this.#byKey.get(keyOf(names))
  }

  /** Adds sources of names; returns whether anything was new. */
  add(names: NameSpan, given: FieldSources): boolean {
    const known = this.at(names)
    if (known !== undefined) return known.merge(given)
    const sources = new SourceSet(given)
    this.#byKey.set(keyOf(names), sources)
    if (names.end !== undefined) this.#spans.push({ names, sources })
    return true
  }

  /** All sources of a field; undefined if there are none of its name. */
  of(name: string): SourceSet | undefined {
    const own = this.at({ start: name, end: undefined })
    const spans = this.#spans.filter(({ names: { start, end } }) => {
      return name.startsWith(start) && name.endsWith(end!)
    })
    if (own === undefined && spans.length === 0) return undefined
    const all = new SourceSet(own)
    for (const { sources } of spans) all.merge(sources)
    return all
  }

  clear(): void {
    this.#byKey.clear()
    this.#spans.length = 0
  }
}

/** The possible sources of each configuration, at one state of the schema. */
const prepared = new WeakMap<
  PreparedConfiguration,
  { readonly fieldChanges: number; readonly sources: NamedSources }
>()

/**
 * The possible sources of a document field; undefined if the configuration cannot make that field.
 * A query may have very many names, so all are computed at once.
 */
export function possibleSources(
  configuration: PreparedConfiguration,
  schema: SchemaCache,
  name: string,
): SourceSet | undefined {
  const { fieldChanges } = schema
  let known = prepared.get(configuration)
  if (known?.fieldChanges !== fieldChanges) {
    known = { fieldChanges, sources: allSources(configuration, schema) }
    prepared.set(configuration, known)
  }
  return known.sources.of(name)
}

function allSources(
  { fields, dynamicFields }: PreparedConfiguration,
  schema: SchemaCache,
): NamedSources {
  const all = new NamedSources()
  for (const { name, sources } of fields) all.add(spanOf(name), sources)
  for (const { nameFor } of dynamicFields) {
    for (const field of schema.fields()) {
      const name = nameFor(field)
      if (name === undefined) continue
      all.add({ start: name, end: undefined }, new SourceSet({ own: [field.id] }))
    }
  }
  return all
}
