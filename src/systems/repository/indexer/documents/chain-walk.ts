/**
 * Walks chains from record to record, at one version tag. Each record on the way is noted as a
 * dependency, with the fields used, before it is read. So a concurrent change of that record either
 * finds the note or is seen by the read. A chain may end at a system field: id, version or type.
 */
import { Link } from '../../link.js'
import { eachValue, type EmbeddedRecord } from '../../values/nested-types.js'
import type { StoredRecord } from '../../records/record.js'
import type { FieldType } from '../../schema/types.js'
import type { Chain, ChainStep, SystemField } from '../definition/chain.js'
import type { IndexValue } from '../definition/configuration.js'
import type { SourceSet } from '../definition/field-sources.js'
import { flattened } from '../definition/formatters.js'
import {
  fitsPattern,
  type MatchSubject,
  type VariantPattern,
} from '../definition/record-matcher.js'
import type { IndexContext } from '../index-context.js'
import { placeKey, type Dependency, type Place } from '../index-rows.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { ValueTypes } from '../../values/value-types.js'

/** Pseudo field of a dependency: the version of the record. */
export const versionOfRecord = 'version'

/** A record on the way of a chain; one embedded in a field has the place of its holder. */
export interface Visited extends MatchSubject {
  /** Undefined: the newest one of the type. */
  readonly typeVersion: number | undefined
  readonly version: number | undefined
  /** Collects the fields used; undefined if the record is not tracked. */
  readonly looked: Set<string> | undefined
  /** Whether a link leads to the record. */
  readonly isLinked: boolean
}

/** A stored record as the beginning of chains. */
export function visitedRecord(
  { table, id }: Place,
  { type, version, fields }: StoredRecord,
  looked?: Set<string>,
  isLinked = false,
): Visited {
  const { name, version: typeVersion } = type
  return { table, id, type: name, typeVersion, version, fields, looked, isLinked }
}

/** The walk of the chains of one document, with its dependencies. */
export class ChainWalk {
  readonly #context: IndexContext
  readonly #tag: FieldType
  readonly #masters: Set<string>
  readonly #noted = new Map<string, Omit<Dependency, 'fields'> & { fields: Set<string> }>()

  /** The {@link placeKey} of each master that is noted is also added to `masters`. */
  constructor(context: IndexContext, tag: FieldType, masters: Set<string>) {
    this.#context = context
    this.#tag = tag
    this.#masters = masters
  }

  get dependencies(): Dependency[] {
    return [...this.#noted]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, noted]) => ({ ...noted, fields: [...noted.fields].sort() }))
  }

  async follow(steps: readonly ChainStep[], start: Visited): Promise<Visited[]> {
    let at = [start]
    for (const step of steps) {
      const next: Visited[] = []
      for (const each of at) next.push(...(await this.#step(step, each)))
      at = next
    }
    return at
  }

  /** The values of a chain; fields of records embedded in them are added to `sources`. */
  async values({ steps, end }: Chain, start: Visited, sources: SourceSet): Promise<IndexValue[]> {
    const { schema } = this.#context
    const values: IndexValue[] = []
    for (const found of await this.follow(steps, start)) {
      if (end!.kind === 'system') {
        if (end!.name === 'version') found.looked?.add(versionOfRecord)
        values.push(...systemValues(end!.name, found, schema))
        continue
      }
      const { type, value } = this.#valueOf(found, end!.field)
      if (value === undefined) continue
      sources.addInner(value, type, schema, found.isLinked)
      values.push(...flattened(value, type))
    }
    return values
  }

  #valueOf({ fields, looked }: Visited, fieldId: string): IndexValue {
    const { name, type } = this.#context.schema.fieldById(fieldId)
    looked?.add(fieldId)
    return { type, value: fields[name] }
  }

  async #step(step: ChainStep, at: Visited): Promise<Visited[]> {
    const { table, id, isLinked } = at
    switch (step.kind) {
      case 'record': {
        const leaves = this.#leavesOf(at, step.field) as EmbeddedRecord[]
        return leaves.map(({ type, fields }) => {
          return { ...at, type, fields, typeVersion: undefined, looked: undefined }
        })
      }
      case 'link': {
        const found: Visited[] = []
        for (const link of this.#leavesOf(at, step.field) as Link[]) {
          const place = { table: link.table ?? table, id: link.resolve(id) }
          found.push(...(await this.#visit(place, true)))
        }
        return found
      }
      case 'master':
        return id.isVariant ? this.#visit({ table, id: id.master }, isLinked) : []
      case 'less': {
        const own = Object.entries(id.variantProperties)
        const rest = own.filter(([name]) => !step.names.includes(name))
        if (own.length - rest.length < step.names.length) return []
        return this.#visit({ table, id: id.master.variant(Object.fromEntries(rest)) }, isLinked)
      }
      case 'more': {
        const own = id.variantProperties
        if (Object.keys(step.properties).some((name) => Object.hasOwn(own, name))) return []
        return this.#visit(at, isLinked, { ...own, ...step.properties })
      }
    }
  }

  #leavesOf(at: Visited, fieldId: string): unknown[] {
    const { type, value } = this.#valueOf(at, fieldId)
    const leaves: unknown[] = []
    if (value !== undefined) eachValue(type, value, (leaf) => void leaves.push(leaf))
    return leaves
  }

  /** Visits a record, or the records of its master with these variant properties. */
  async #visit(
    { table, id }: Place,
    isLinked: boolean,
    variants?: VariantPattern,
  ): Promise<Visited[]> {
    const looked = this.#note(table, id.master.text, variants ?? id.variantProperties)
    this.#masters.add(placeKey({ table, id: id.master }))
    const { records } = this.#context
    let ids = [id]
    if (variants !== undefined) {
      const all = (await records.table(table)?.variants(id)) ?? []
      ids = [...all].filter((variant) => fitsPattern(variants, variant))
    }
    const found: Visited[] = []
    for (const each of ids) {
      const place = { table, id: each }
      const newest = await records.newest(place)
      const record = newest && (await records.at(place, newest, this.#tag))
      // Depends on the version too: the tag may already point to a version that is written later.
      if (record === undefined) looked.add(versionOfRecord)
      else found.push(visitedRecord(place, record, looked, isLinked))
    }
    return found
  }

  /** Notes a dependency on records; the fields used are added to the returned set. */
  #note(table: string, master: string, pattern: VariantPattern): Set<string> {
    const key = `${table}/${master}/${JSON.stringify(Object.entries(pattern).sort())}`
    const noted = this.#noted.get(key) ?? { table, master, pattern, fields: new Set<string>() }
    this.#noted.set(key, noted)
    return noted.fields
  }
}

interface TypeVersion {
  readonly name: string
  readonly version: number
}

const types = new ValueTypes()
const text = types.parse('STRING')
const number = types.parse('LONG')
const link = types.parse('LINK')

function systemValues(
  field: SystemField,
  { id, table, version, type, typeVersion }: Visited,
  schema: SchemaCache,
): IndexValue[] {
  if (field === 'id') return [{ value: id.text, type: text }]
  if (field === 'link') return [{ value: Link.to(id, table), type: link }]
  if (field === 'version') {
    return version === undefined ? [] : [{ value: BigInt(version), type: number }]
  }
  if (type === undefined) return []
  const own = { name: type, version: typeVersion ?? schema.recordType(type).version }
  const isOwn = field.startsWith('recordType')
  // `recordTypes`, `recordTypeNames` and `recordTypesWithVersion` also show the supertypes.
  const above = isOwn && !/s$|sWith/.test(field) ? [] : supertypesOf(own, schema)
  const part = /(Namespace|Name|WithVersion|Version)s?$/.exec(field)?.[1]
  return (isOwn ? [own, ...above] : above).map(({ name, version }) => {
    const end = name.indexOf('}')
    if (part === 'Version') return { value: BigInt(version), type: number }
    let value = name
    if (part === 'Name') value = name.slice(end + 1)
    else if (part === 'Namespace') value = name.slice(1, end)
    else if (part === 'WithVersion') value = `${name}:${version}`
    return { value, type: text }
  })
}

function supertypesOf(own: TypeVersion, schema: SchemaCache): TypeVersion[] {
  const found = new Map<string, TypeVersion>([[own.name, own]])
  const visit = ({ name, version }: TypeVersion): void => {
    for (const supertype of schema.recordType(name, version).supertypes) {
      const { name: above } = schema.recordTypeById(supertype.id)
      if (found.has(above)) continue
      const next = { name: above, version: supertype.version }
      found.set(above, next)
      visit(next)
    }
  }
  visit(own)
  return [...found.values()].slice(1)
}
