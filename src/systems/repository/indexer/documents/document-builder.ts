/**
 * Builds the document of a record at a version tag: fields of the configuration, dynamic fields of
 * that version, and the reserved fields.
 */
import { checkArray, shown } from '../../../../api/index.js'
import { reservedFields, type SearchDocument } from '../../../search/search-backend.js'
import { invalidArgument } from '../../errors.js'
import type { StoredRecord } from '../../records/record.js'
import type { FieldType } from '../../schema/types.js'
import type { PreparedField, PreparedNode } from '../definition/compile.js'
import type { IndexValue } from '../definition/configuration.js'
import { atPlace } from '../definition/configuration-error.js'
import { SourceSet, spanOf, type NameSpan, type ShownField } from '../definition/field-sources.js'
import { flattened, textOf } from '../definition/formatters.js'
import { fillTemplate } from '../definition/name-template.js'
import type { IndexContext } from '../index-context.js'
import { documentKey, type Place } from '../index-rows.js'
import { visitedRecord, type ChainWalk, type Visited } from './chain-walk.js'
import { extractTexts, splitBlobs, type FailedExtraction } from './content-extraction.js'

/** A document to be built. */
export interface DocumentSubject {
  readonly place: Place
  readonly tag: FieldType
  readonly record: StoredRecord
  readonly walk: ChainWalk
}

/** The result of building a record at a version tag. */
export interface BuiltDocument {
  /** Undefined: the document would have no field. */
  readonly document: SearchDocument | undefined
  readonly shown: readonly ShownField[]
  /** Blobs whose text the document lacks. */
  readonly failures: readonly FailedExtraction[]
}

/** A document under construction. */
export class DocumentDraft {
  readonly #context: IndexContext
  readonly #subject: DocumentSubject
  readonly #versionTag: string
  readonly #fields = new Map<string, string[]>()
  /** Sources of the texts, by the rule that made them. */
  readonly #shown = new Map<object | string, ShownField & { readonly sources: SourceSet }>()
  readonly #failures: FailedExtraction[] = []
  /** The time until which the document waits for texts of blobs. */
  readonly #deadline: number

  constructor(context: IndexContext, subject: DocumentSubject) {
    this.#context = context
    this.#subject = subject
    this.#versionTag = subject.tag.name.slice(subject.tag.name.indexOf('}') + 1)
    this.#deadline = context.late.deadline()
  }

  async build(): Promise<BuiltDocument> {
    const { place, tag, record } = this.#subject
    const failures = this.#failures
    await this.#addNodes(this.#context.configuration.nodes, visitedRecord(place, record))
    await this.#addDynamicFields()
    if (this.#fields.size === 0) return { document: undefined, shown: [], failures }
    const key = documentKey(place, tag.id)
    const reserved = {
      [reservedFields.key]: [key],
      [reservedFields.id]: [place.id.text],
      [reservedFields.table]: [place.table],
      [reservedFields.versionTag]: [this.#versionTag],
      [reservedFields.versionTagId]: [tag.id],
      [reservedFields.version]: [String(record.version ?? 0)],
    }
    const fields = { ...Object.fromEntries(this.#fields), ...reserved }
    return { document: { key, fields }, shown: [...this.#shown.values()], failures }
  }

  async #addNodes(nodes: readonly PreparedNode[], at: Visited): Promise<void> {
    for (const node of nodes) {
      if (node.kind === 'field') await this.#addField(node, at)
      else if (node.kind === 'match') {
        const { field, matches } = node.matcher
        if (field !== undefined) at.looked?.add(field)
        if (matches(at)) await this.#addNodes(node.nodes, at)
      } else {
        const found = await this.#subject.walk.follow(node.chain.steps, at)
        for (const each of found) await this.#addNodes(node.nodes, each)
      }
    }
  }

  async #addField(field: PreparedField, at: Visited): Promise<void> {
    const { source } = field
    const sources = new SourceSet(field.sources)
    let texts: readonly string[] = []
    if (typeof source === 'function') {
      const { place, record } = this.#subject
      const { version, type, fields } = record
      const made = await source({ ...place, version, type, versionTag: this.#versionTag, fields })
      if (typeof made === 'string') texts = [made]
      else if (made !== undefined) texts = checkTexts(made, 'the value of a field')
    } else {
      const values = await this.#subject.walk.values(source, at, sources)
      if (values.length > 0) texts = await this.#textsOf(values, field)
    }
    if (texts.length === 0) return
    const variables = await this.#variables(field, at, sources)
    const name = fillTemplate(field.name, (variable) => variables.get(variable))
    if (name !== undefined) this.#add(name, texts, field, spanOf(field.name), sources)
  }

  async #addDynamicFields(): Promise<void> {
    const { configuration, schema } = this.#context
    if (configuration.dynamicFields.length === 0) return
    for (const [name, value] of Object.entries(this.#subject.record.fields)) {
      const field = schema.field(name)
      for (const rule of configuration.dynamicFields) {
        const target = rule.nameFor(field)
        if (target === undefined) continue
        const sources = new SourceSet({ own: [field.id] })
        sources.addInner(value, field.type, schema, false)
        const texts = await this.#textsOf(flattened(value, field.type), rule)
        this.#add(target, texts, target, { start: target, end: undefined }, sources)
        if (!rule.continue) break
      }
    }
  }

  async #textsOf(
    values: readonly IndexValue[],
    { extractContent, formatter }: Pick<PreparedField, 'extractContent' | 'formatter'>,
  ): Promise<readonly string[]> {
    const formatted = (some: readonly IndexValue[]): readonly string[] => {
      return checkTexts(formatter(some), 'a formatter')
    }
    if (!extractContent) return formatted(values)
    const { blobs, others } = splitBlobs(values)
    const { place } = this.#subject
    const texts = await extractTexts(blobs, place, this.#deadline, this.#context, this.#failures)
    return others.length === 0 ? texts : [...formatted(others), ...texts]
  }

  async #variables(
    { variables }: PreparedField,
    at: Visited,
    sources: SourceSet,
  ): Promise<Map<string, string>> {
    const { schema } = this.#context
    const { variantProperties } = at.id
    const found = new Map<string, string>()
    for (const [name, variable] of variables) {
      if (variable.kind === 'chain') {
        const [value] = await this.#subject.walk.values(variable.chain, at, sources)
        if ((value as typeof value | undefined) === undefined) continue
        found.set(
          name,
          textOf(value, (each) => schema.field(each)),
        )
      } else if (Object.hasOwn(variantProperties, variable.name)) {
        found.set(name, variantProperties[variable.name])
      }
    }
    return found
  }

  #add(
    name: string,
    texts: readonly string[],
    rule: PreparedField | string,
    names: NameSpan,
    sources: SourceSet,
  ): void {
    if (texts.length > 0) this.#fields.set(name, [...(this.#fields.get(name) ?? []), ...texts])
    const known = this.#shown.get(rule)
    if (known === undefined) this.#shown.set(rule, { names, sources })
    else known.sources.merge(sources)
  }
}

/** Checks the texts that a function of the program returns. `ERR_INDEX_CONFIGURATION`. */
function checkTexts(given: unknown, place: string): readonly string[] {
  return atPlace(place, () => {
    return checkArray(given as readonly unknown[], 'what it gives').map((text) => {
      if (typeof text === 'string') return text
      throw invalidArgument(`it must give texts, got ${shown(text)}`)
    })
  })
}
