/**
 * Builds the document of a record at a version tag: fields of the configuration, dynamic fields of
 * that version, and the reserved fields.
 *
 * A chain goes from record to record at the same tag. Each record on the way is noted as a
 * dependency, with the fields used, before it is read. So a concurrent change of that record either
 * finds the note or is seen by the read.
 */
import { checkArray, shown } from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import { Link } from '../../link.js'
import type { StoredRecord } from '../../records/record.js'
import type { FieldType } from '../../schema/field-type.js'
import { reservedFields, type SearchDocument } from '../../../search/search-backend.js'
import type { EmbeddedRecord } from '../../values/nested-types.js'
import type { ValueType } from '../../values/value-type.js'
import type { Chain, ChainStep } from '../definition/chain.js'
import type { NameVariable, PreparedField, PreparedNode } from '../definition/compile.js'
import { atPlace } from '../definition/configuration-error.js'
import type { IndexValue, ValueFunction } from '../definition/configuration.js'
import { SourceSet, spanOf, type NameSpan, type ShownField } from '../definition/field-sources.js'
import { fillTemplate } from '../definition/name-template.js'
import type { Place, VariantPattern } from '../index-rows.js'
import { documentKey, fitsPattern } from '../index-rows.js'
import type { IndexContext } from '../index-context.js'
import { extractTexts, splitBlobs, type FailedExtraction } from './content-extraction.js'
import { versionOfRecord, type DependencyCollector } from './dependency-collector.js'
import { flattened, textOf } from '../definition/formatters.js'
import { systemValues } from './system-values.js'

/** A record on the way of a chain, or one embedded in its fields. */
interface Visited {
  /** Place of the record; of the holder for an embedded record. */
  readonly place: Place
  readonly type: string | undefined
  readonly typeVersion: number | undefined
  readonly version: number | undefined
  readonly fields: Readonly<Record<string, unknown>>
  /** Collects the fields used; undefined if the record is not tracked. */
  readonly looked: Set<string> | undefined
  /** Whether a link leads to the record. */
  readonly isLinked: boolean
}

/** A document under construction. */
interface Draft {
  readonly tag: FieldType
  readonly record: StoredRecord
  readonly place: Place
  readonly collector: DependencyCollector
  readonly fields: Map<string, string[]>
  /** Sources of the texts, by the rule that made them. */
  readonly shown: Map<object | string, ShownField & { readonly sources: SourceSet }>
  readonly failures: FailedExtraction[]
  /** The time until which the document waits for texts of blobs. */
  readonly deadline: number
}

/** The result of building a record at a version tag. */
export interface BuiltDocument {
  /** Undefined: the document would have no field. */
  readonly document: SearchDocument | undefined
  /** Sources of the texts. */
  readonly shown: readonly ShownField[]
  /** Blobs whose text the document lacks. */
  readonly failures: readonly FailedExtraction[]
}

/** Builds the documents of one index. */
export class DocumentBuilder {
  readonly #context: IndexContext

  constructor(context: IndexContext) {
    this.#context = context
  }

  /** Builds the document of a record in the version of a tag. */
  async build(
    place: Place,
    tag: FieldType,
    record: StoredRecord,
    collector: DependencyCollector,
  ): Promise<BuiltDocument> {
    const { nodes } = this.#context.configuration
    const failures: FailedExtraction[] = []
    const texts = { fields: new Map(), shown: new Map() }
    const deadline = this.#context.late.deadline()
    const draft: Draft = { tag, record, place, collector, ...texts, failures, deadline }
    const own = visitedRecord(place, record, undefined, false)
    await this.#addNodes(draft, nodes, own)
    await this.#addDynamicFields(draft)
    if (draft.fields.size === 0) return { document: undefined, shown: [], failures }
    const key = documentKey(place, tag.id)
    const reserved = {
      [reservedFields.key]: key,
      [reservedFields.id]: place.id.text,
      [reservedFields.table]: place.table,
      [reservedFields.versionTag]: tag.name.slice(tag.name.indexOf('}') + 1),
      [reservedFields.versionTagId]: tag.id,
      [reservedFields.version]: String(record.version ?? 0),
    }
    for (const [name, value] of Object.entries(reserved)) draft.fields.set(name, [value])
    const document = { key, fields: Object.fromEntries(draft.fields) }
    return { document, shown: [...draft.shown.values()], failures }
  }

  async #addNodes(draft: Draft, nodes: readonly PreparedNode[], at: Visited): Promise<void> {
    for (const node of nodes) {
      if (node.kind === 'field') await this.#addField(draft, node, at)
      else if (node.kind === 'match') {
        const { matcher } = node
        if (matcher.field !== undefined) at.looked?.add(matcher.field)
        const subject = { ...at.place, type: at.type, fields: at.fields }
        if (matcher.matches(subject)) await this.#addNodes(draft, node.nodes, at)
      } else {
        const found = await this.#follow(draft, node.chain.steps, at)
        for (const each of found) await this.#addNodes(draft, node.nodes, each)
      }
    }
  }

  async #addField(draft: Draft, field: PreparedField, at: Visited): Promise<void> {
    const { source } = field
    const sources = new SourceSet(this.#context.sources.get(field))
    let texts: readonly string[]
    if (typeof source === 'function') texts = await this.#made(draft, source)
    else {
      const values = await this.#evaluate(draft, source, at, sources)
      if (values.length === 0) return
      texts = await this.#textsOf(draft, values, field)
    }
    if (texts.length === 0) return
    const variables = await this.#variables(draft, field.variables, at, sources)
    const name = fillTemplate(field.name, (variable) => variables.get(variable))
    if (name === undefined) return
    add(draft, name, texts)
    noteShown(draft, field, spanOf(field.name), sources)
  }

  async #made({ record, place, tag }: Draft, make: ValueFunction): Promise<readonly string[]> {
    const { version, type, fields } = record
    const versionTag = tag.name.slice(tag.name.indexOf('}') + 1)
    const made = await make({ ...place, version, type, versionTag, fields })
    if (made === undefined) return []
    return typeof made === 'string' ? [made] : checkTexts(made, 'the value of a field')
  }

  async #addDynamicFields(draft: Draft): Promise<void> {
    const { configuration, schema } = this.#context
    if (configuration.dynamicFields.length === 0) return
    for (const [name, value] of Object.entries(draft.record.fields)) {
      const field = schema.field(name)
      for (const rule of configuration.dynamicFields) {
        const target = rule.nameFor(field)
        if (target === undefined) continue
        const sources = new SourceSet({ own: [field.id] })
        sources.addInner(value, field.type, schema, false)
        const values = flattened(value, field.type)
        add(draft, target, await this.#textsOf(draft, values, rule))
        noteShown(draft, target, { start: target, end: undefined }, sources)
        if (!rule.continue) break
      }
    }
  }

  async #textsOf(
    draft: Draft,
    values: readonly IndexValue[],
    { extractContent, formatter }: Pick<PreparedField, 'extractContent' | 'formatter'>,
  ): Promise<readonly string[]> {
    const formatted = (some: readonly IndexValue[]): readonly string[] => {
      return checkTexts(formatter(some), 'a formatter')
    }
    if (!extractContent) return formatted(values)
    const { blobs, others } = splitBlobs(values)
    const texts = await extractTexts(blobs, draft, this.#context, draft.failures)
    return others.length === 0 ? texts : [...formatted(others), ...texts]
  }

  async #variables(
    draft: Draft,
    variables: ReadonlyMap<string, NameVariable>,
    at: Visited,
    sources: SourceSet,
  ): Promise<Map<string, string>> {
    const { schema } = this.#context
    const found = new Map<string, string>()
    for (const [name, variable] of variables) {
      if (variable.kind === 'property') {
        const { variantProperties } = at.place.id
        if (Object.hasOwn(variantProperties, variable.name)) {
          found.set(name, variantProperties[variable.name])
        }
        continue
      }
      const values = await this.#evaluate(draft, variable.chain, at, sources)
      if (values.length === 0) continue
      const text = textOf(values[0], (each) => schema.field(each))
      found.set(name, text)
    }
    return found
  }

  /** The values of a chain; fields of records embedded in them are added to `sources`. */
  async #evaluate(
    draft: Draft,
    { steps, end }: Chain,
    at: Visited,
    sources: SourceSet,
  ): Promise<IndexValue[]> {
    const { schema } = this.#context
    const values: IndexValue[] = []
    for (const found of await this.#follow(draft, steps, at)) {
      if (end!.kind === 'system') {
        if (end!.name === 'version') found.looked?.add(versionOfRecord)
        values.push(...systemValues(end!.name, found, schema))
        continue
      }
      const field = schema.fieldById(end!.field)
      found.looked?.add(field.id)
      const value = found.fields[field.name]
      if (value === undefined) continue
      sources.addInner(value, field.type, schema, found.isLinked)
      values.push(...flattened(value, field.type))
    }
    return values
  }

  async #follow(draft: Draft, steps: readonly ChainStep[], start: Visited): Promise<Visited[]> {
    let at: readonly Visited[] = [start]
    for (const step of steps) {
      const next: Visited[] = []
      for (const each of at) next.push(...(await this.#step(draft, step, each)))
      at = next
    }
    return [...at]
  }

  async #step(draft: Draft, step: ChainStep, at: Visited): Promise<Visited[]> {
    const { table, id } = at.place
    switch (step.kind) {
      case 'link':
      case 'record':
        return this.#throughField(draft, step.kind, step.field, at)
      case 'master':
        return id.isVariant ? this.#visit(draft, { table, id: id.master }, at.isLinked) : []
      case 'less': {
        const properties = { ...id.variantProperties }
        for (const name of step.names) {
          if (!Object.hasOwn(properties, name)) return []
          delete properties[name]
        }
        return this.#visit(draft, { table, id: id.master.variant(properties) }, at.isLinked)
      }
      case 'more':
        return this.#variants(draft, at.place, step.properties, at.isLinked)
    }
  }

  async #throughField(
    draft: Draft,
    kind: 'link' | 'record',
    fieldId: string,
    at: Visited,
  ): Promise<Visited[]> {
    const field = this.#context.schema.fieldById(fieldId)
    at.looked?.add(fieldId)
    const value = at.fields[field.name]
    if (value === undefined) return []
    const found: Visited[] = []
    for (const leaf of leavesOf(value, field.type)) {
      if (kind === 'record') found.push(this.#inner(at, leaf as EmbeddedRecord))
      else {
        const link = leaf as Link
        const table = link.table ?? at.place.table
        found.push(...(await this.#visit(draft, { table, id: link.resolve(at.place.id) }, true)))
      }
    }
    return found
  }

  #inner(holder: Visited, { type, fields }: EmbeddedRecord): Visited {
    const recordType = type === undefined ? undefined : this.#context.schema.findRecordType(type)
    return {
      place: holder.place,
      type,
      typeVersion: recordType?.version,
      version: holder.version,
      fields,
      looked: undefined,
      isLinked: holder.isLinked,
    }
  }

  async #visit(draft: Draft, place: Place, isLinked: boolean): Promise<Visited[]> {
    const { table, id } = place
    const looked = draft.collector.note(table, id.master, id.variantProperties)
    const record = await this.#read(draft, place)
    if (record !== undefined) return [visitedRecord(place, record, looked, isLinked)]
    // Depends on the version too: the tag may already point to a version that is written later.
    looked.add(versionOfRecord)
    return []
  }

  async #variants(
    draft: Draft,
    { table, id }: Place,
    added: VariantPattern,
    isLinked: boolean,
  ): Promise<Visited[]> {
    const own = id.variantProperties
    if (Object.keys(added).some((name) => Object.hasOwn(own, name))) return []
    const pattern: VariantPattern = { ...own, ...added }
    const looked = draft.collector.note(table, id.master, pattern)
    const records = this.#context.records.table(table)
    const found: Visited[] = []
    for (const variant of records === undefined ? [] : await records.variants(id)) {
      if (!fitsPattern(pattern, variant)) continue
      const place = { table, id: variant }
      const record = await this.#read(draft, place)
      if (record === undefined) looked.add(versionOfRecord)
      else found.push(visitedRecord(place, record, looked, isLinked))
    }
    return found
  }

  async #read({ tag }: Draft, place: Place): Promise<StoredRecord | undefined> {
    const { records } = this.#context
    const newest = await records.newest(place)
    return newest === undefined ? undefined : records.at(place, newest, tag)
  }
}

function visitedRecord(
  place: Place,
  { type, version, fields }: StoredRecord,
  looked: Set<string> | undefined,
  isLinked: boolean,
): Visited {
  return { place, type: type.name, typeVersion: type.version, version, fields, looked, isLinked }
}

/** The values in lists and paths, at any depth. */
function leavesOf(value: unknown, type: ValueType): unknown[] {
  if (type.element === undefined) return [value]
  return (value as readonly unknown[]).flatMap((each) => leavesOf(each, type.element!))
}

function noteShown(
  { shown }: Draft,
  rule: PreparedField | string,
  names: NameSpan,
  sources: SourceSet,
): void {
  const known = shown.get(rule)
  if (known === undefined) shown.set(rule, { names, sources })
  else known.sources.merge(sources)
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

function add(draft: Draft, name: string, texts: readonly string[]): void {
  if (texts.length === 0) return
  const before = draft.fields.get(name)
  draft.fields.set(name, before === undefined ? [...texts] : [...before, ...texts])
}
