/** Checks a configuration against the schema and compiles it for building documents. */
import { versionTagNamespace } from '../../qualified-name.js'
import type { FieldType } from '../../schema/types.js'
import type { BoundNames } from './bound-names.js'
import { leadsIntoRecord, parseChain, parseRecordChain, type Chain } from './chain.js'
import {
  configurationOptions,
  dynamicOptions,
  fieldOptions,
  filterOptions,
  forEachOptions,
  groupOptions,
  includeOptions,
  matchOptions,
  type FieldNode,
  type FieldRule,
  type ForEachRule,
  type Formatter,
  type IndexConfiguration,
  type MatchRule,
  type RecordFilterRules,
  type ValueFunction,
} from './configuration.js'
import { atPlace, configurationError, placesByPath, type Places } from './configuration-error.js'
import { SourceSet, type FieldSources } from './field-sources.js'
import { builtInFormatters } from './formatters.js'
import { dynamicName, parseTemplate, type TemplatePart } from './name-template.js'
import { prepareMatch, type MatchSubject, type RecordMatcher } from './record-matcher.js'

/** A variable in a name: a variant property, a system field, or the id of a field. */
export type NameVariable =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'chain'; readonly chain: Chain }

/** A checked field of the documents. */
export interface PreparedField {
  readonly kind: 'field'
  readonly name: readonly TemplatePart[]
  readonly variables: ReadonlyMap<string, NameVariable>
  /** Where the values come from: a chain, or a function of the program. */
  readonly source: Chain | ValueFunction
  /** The sources of the values, as far as the configuration determines them. */
  readonly sources: FieldSources
  readonly extractContent: boolean
  readonly formatter: Formatter
}

/** A checked node of the tree of fields. */
export type PreparedNode =
  | PreparedField
  | { readonly kind: 'match'; readonly matcher: RecordMatcher; readonly nodes: PreparedNode[] }
  | { readonly kind: 'forEach'; readonly chain: Chain; readonly nodes: PreparedNode[] }

/** A checked dynamic field. */
export interface PreparedDynamicField {
  /** The name in the document for a matching field, else undefined. */
  readonly nameFor: (field: FieldType) => string | undefined
  readonly extractContent: boolean
  readonly formatter: Formatter
  readonly continue: boolean
}

/** A compiled configuration. */
export interface PreparedConfiguration {
  /** Version tags at which a record is indexed; undefined unless an include rule applies. */
  readonly tagsFor: (subject: MatchSubject) => readonly FieldType[] | undefined
  /** Ids of all these version tags. */
  readonly versionTags: ReadonlySet<string>
  /** Ids of the fields that decide which records are indexed. */
  readonly filterFields: ReadonlySet<string>
  readonly nodes: readonly PreparedNode[]
  /** All fields in the nodes, in configured order. */
  readonly fields: readonly PreparedField[]
  readonly dynamicFields: readonly PreparedDynamicField[]
  readonly dereferences: boolean
  /** Whether documents of a record show one of its own fields. */
  readonly usesOwnField: (field: FieldType) => boolean
}

const depthMax = 32
const nodesMax = 10_000

/** Inputs of the compilation. */
export interface CompileOptions {
  readonly names: BoundNames
  readonly formatters?: Readonly<Record<string, Formatter>> | undefined
  readonly places?: Places | undefined
}

interface Position {
  readonly path: string
  readonly depth: number
  /** Whether the records at this position are embedded records. */
  readonly isInRecord: boolean
  /** Whether the record at this position is the record of the document. */
  readonly isOwn: boolean
  /** The fields that lead to this position. */
  readonly before: SourceSet
}

/** Compiles one configuration. */
export class Compiler {
  readonly #names: BoundNames
  readonly #places: Places
  /** Formatters by name: built-in ones, those of the program, and those of the configuration. */
  readonly #formatters: Map<string, Formatter>
  readonly #ownFields = new Set<string>()
  #default: Formatter
  readonly #fields: PreparedField[] = []
  #hasFunctions = false
  #nodes = 0

  constructor({ names, formatters = {}, places = placesByPath }: CompileOptions) {
    this.#names = names
    this.#places = places
    const builtIn = builtInFormatters((name) => names.schema.field(name))
    this.#formatters = new Map([...builtIn, ...Object.entries(formatters)])
    this.#default = builtIn.get('default')!
  }

  /** The compiled form. `ERR_INDEX_CONFIGURATION` with the location of the error. */
  compile(configuration: IndexConfiguration): PreparedConfiguration {
    const settings = atPlace('the configuration', () => configurationOptions.read(configuration))
    const { formatters, defaultFormatter, recordFilter, dereference } = settings
    const named = Object.entries(formatters).map(([name, given]) => {
      const place = this.#places(configuration, `formatters.${name}`)
      return [name, typeof given === 'function' ? given : this.#formatterOf(given, place)] as const
    })
    for (const [name, formatter] of named) this.#formatters.set(name, formatter)
    if (defaultFormatter !== undefined) {
      const place = this.#places(configuration, 'defaultFormatter')
      this.#default = this.#formatterOf(defaultFormatter, place)
    }
    const filter = this.#recordFilter(recordFilter)
    const own = { isInRecord: false, isOwn: true, before: new SourceSet() }
    const nodes = this.#nodesOf(settings.fields, { path: 'fields', depth: 0, ...own })
    const dynamicFields = this.#each(settings.dynamicFields, 'dynamicFields', (given, place) => {
      const rule = dynamicOptions.read(given)
      const formatter = this.#formatterOf(rule.formatter, place)
      return { ...rule, nameFor: dynamicName(rule), formatter }
    })
    const usesOwnField = (field: FieldType): boolean =>
      this.#hasFunctions ||
      this.#ownFields.has(field.id) ||
      dynamicFields.some(({ nameFor }) => nameFor(field) !== undefined)
    const fields = this.#fields
    return { ...filter, nodes, fields, dynamicFields, dereferences: dereference, usesOwnField }
  }

  /** Runs `work` for each part of a list of the configuration, at the location of the part. */
  #each<P extends object, T>(
    parts: readonly P[],
    path: string,
    work: (part: P, place: string, path: string) => T,
  ): T[] {
    return parts.map((part, index) => {
      const own = `${path}[${index}]`
      const isObject = typeof part === 'object' && (part as unknown) !== null
      const place = isObject ? this.#places(part, own) : own
      return atPlace(place, () => work(part, place, own))
    })
  }

  #recordFilter(
    rules: RecordFilterRules = {},
  ): Pick<PreparedConfiguration, 'tagsFor' | 'versionTags' | 'filterFields'> {
    const given = atPlace('recordFilter', () => filterOptions.read(rules))
    const excludes = this.#each(given.excludes, 'recordFilter.excludes', (rule) => {
      return prepareMatch(matchOptions.read(rule), this.#names)
    })
    const includes = this.#each(given.includes, 'recordFilter.includes', (rule) => {
      const { versionTags, ...match } = includeOptions.read(rule)
      return { matcher: prepareMatch(match, this.#names), tags: this.#tagsOf(versionTags) }
    })
    const fields = [...excludes, ...includes.map(({ matcher }) => matcher)].flatMap(
      ({ field }) => field ?? [],
    )
    return {
      tagsFor: (subject) => {
        if (excludes.some(({ matches }) => matches(subject))) return undefined
        const found = includes.find(({ matcher }) => matcher.matches(subject))
        return found?.tags.map((id) => this.#names.schema.fieldById(id))
      },
      versionTags: new Set(includes.flatMap(({ tags }) => tags)),
      filterFields: new Set(fields),
    }
  }

  #tagsOf(names: readonly string[]): string[] {
    return [...new Set(names)].map((name) => {
      const field = this.#names.field(`{${versionTagNamespace}}${name}`)
      if (field.scope === 'NON_VERSIONED' && field.valueType === 'LONG') return field.id
      throw new Error(`${field.name} is no version tag: those are NON_VERSIONED and LONG`)
    })
  }

  #nodesOf(nodes: readonly FieldNode[], position: Position): PreparedNode[] {
    const { path, depth } = position
    if (depth > depthMax) throw configurationError(path, `fields nest ${depthMax} deep at most`)
    return this.#each(nodes, path, (node, place, own) => {
      const at = { ...position, path: own }
      if (++this.#nodes > nodesMax) throw new Error(`more than ${nodesMax} fields`)
      if (typeof node === 'object' && 'match' in node) return this.#matchNode(node, at)
      if (typeof node === 'object' && 'forEach' in node) return this.#forEachNode(node, at)
      return this.#field(node, at, place)
    })
  }

  #matchNode(node: MatchRule, at: Position): PreparedNode {
    const { match, fields } = groupOptions.read(node)
    const matcher = prepareMatch(matchOptions.read(match), this.#names)
    if (at.isOwn && matcher.field !== undefined) this.#ownFields.add(matcher.field)
    const before = new SourceSet(at.before).match(matcher.field)
    const inner = { ...at, path: `${at.path}.fields`, depth: at.depth + 1, before }
    return { kind: 'match', matcher, nodes: this.#nodesOf(fields, inner) }
  }

  #forEachNode(node: ForEachRule, at: Position): PreparedNode {
    const { forEach, fields } = forEachOptions.read(node)
    const chain = parseRecordChain(forEach, this.#names, at.isInRecord)
    const isInRecord = leadsIntoRecord(chain.steps, at.isInRecord)
    this.#noteOwn(chain, at)
    const depth = at.depth + 1
    const before = new SourceSet(at.before).follow(chain)
    const inner = { path: `${at.path}.fields`, depth, isInRecord, isOwn: false, before }
    return { kind: 'forEach', chain, nodes: this.#nodesOf(fields, inner) }
  }

  #field(given: FieldRule, at: Position, place: string): PreparedField {
    const { value, extractContent, ...rule } = fieldOptions.read(given)
    const name = parseTemplate(rule.name)
    const sources = new SourceSet(at.before)
    const chainOf = (text: string): Chain => {
      const chain = parseChain(text, this.#names, at.isInRecord)
      this.#noteOwn(chain, at)
      sources.merge(new SourceSet(at.before).follow(chain))
      return chain
    }
    const variables = new Map<string, NameVariable>()
    for (const part of name) {
      if (part.kind === 'choice') throw new Error(`only dynamic fields have choices: ${rule.name}`)
      if (part.kind !== 'variable') continue
      const variable: NameVariable = part.name.startsWith('vprop:')
        ? { kind: 'property', name: part.name.slice('vprop:'.length) }
        : { kind: 'chain', chain: chainOf(part.name) }
      variables.set(part.name, variable)
    }
    const source = typeof value === 'function' ? value : chainOf(value)
    if (typeof source === 'function') {
      if (!at.isOwn) throw new Error('a function makes fields of the record itself only')
      this.#hasFunctions = true
      sources.isFunction = true
    }
    const formatter = this.#formatterOf(rule.formatter, place)
    const field: PreparedField = {
      ...{ kind: 'field', name, variables, source, sources },
      ...{ extractContent, formatter },
    }
    this.#fields.push(field)
    return field
  }

  /** Notes the first field of a chain, if it is one of the document's own record. */
  #noteOwn({ steps, end }: Chain, { isOwn }: Position): void {
    if (!isOwn) return
    // An embedded record is part of its holder, and so are its fields.
    const [first] = steps.length > 0 ? steps : [end]
    if (first !== undefined && 'field' in first) this.#ownFields.add(first.field)
  }

  /** A formatter by its name, or by the name of a class with its package, as in XML. */
  #formatterOf(name: string | undefined, place: string): Formatter {
    if (name === undefined) return this.#default
    const known = this.#formatters
    const found = known.get(name) ?? known.get(name.slice(name.lastIndexOf('.') + 1))
    if (found === undefined) throw configurationError(place, `there is no formatter ${name}`)
    return found
  }
}
