/** Checks a configuration against the schema and compiles it for building documents. */
import { OptionNames } from '../../../../api/index.js'
import { versionTagNamespace } from '../../qualified-name.js'
import type { FieldType } from '../../schema/field-type.js'
import { scopes, type Scope } from '../../schema/field-type.js'
import { builtInFormatters } from '../documents/formatters.js'
import type { BoundNames } from './bound-names.js'
import { parseChain, parseRecordChain, type Chain } from './chain.js'
import { atPlace, configurationError, type Places, placesByPath } from './configuration-error.js'
import type {
  DynamicFieldRule,
  FieldNode,
  FieldRule,
  ForEachRule,
  Formatter,
  IncludeRule,
  IndexConfiguration,
  MatchRule,
  RecordFilterRules,
  RecordMatch,
  ValueFunction,
} from './configuration.js'
import { fillTemplate, parseTemplate, type TemplatePart } from './name-template.js'
import { prepareMatch, type MatchSubject, type RecordMatcher } from './record-matcher.js'
import { TypePattern } from './type-pattern.js'
import { WildcardPattern } from './wildcard.js'

/** A variable in a name: a variant property, a system field, or the id of a field. */
export type NameVariable =
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'chain'; readonly chain: Chain }

/** A checked field of the documents. */
export interface PreparedField {
  readonly kind: 'field'
  readonly name: readonly TemplatePart[]
  readonly variables: ReadonlyMap<string, NameVariable>
  readonly chain: Chain | undefined
  readonly make: ValueFunction | undefined
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
  readonly goesOn: boolean
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
  readonly dynamicFields: readonly PreparedDynamicField[]
  readonly dereferences: boolean
  /** Whether documents of a record show one of its own fields. */
  readonly usesOwnField: (field: FieldType) => boolean
}

const configurationNames = new OptionNames<IndexConfiguration>('the configuration of an index', {
  recordFilter: true,
  formatters: true,
  defaultFormatter: true,
  fields: true,
  dynamicFields: true,
  dereference: true,
})
const filterNames = new OptionNames<RecordFilterRules>('the record filter of an index', {
  includes: true,
  excludes: true,
})
const matchNames = new OptionNames<RecordMatch>('a match', {
  recordType: true,
  instanceOf: true,
  field: true,
  variant: true,
  tables: true,
})
const includeNames = new OptionNames<IncludeRule>('an include', {
  recordType: true,
  instanceOf: true,
  field: true,
  variant: true,
  tables: true,
  versionTags: true,
})
const fieldNames = new OptionNames<FieldRule>('a field of an index', {
  name: true,
  value: true,
  extractContent: true,
  formatter: true,
})
const groupNames = new OptionNames<MatchRule>('a match', { match: true, fields: true })
const forEachNames = new OptionNames<ForEachRule>('a forEach', { forEach: true, fields: true })
const dynamicNames = new OptionNames<DynamicFieldRule>('a dynamic field', {
  matchNamespace: true,
  matchName: true,
  matchType: true,
  matchScope: true,
  name: true,
  extractContent: true,
  formatter: true,
  continue: true,
})

const depthMax = 32
const nodesMax = 10_000

/** Inputs of the compilation. */
export interface CompileOptions {
  /** Resolves the names of types. */
  readonly names: BoundNames
  /** Formatters of the program, by name. */
  readonly formatters?: Readonly<Record<string, Formatter>> | undefined
  readonly places?: Places | undefined
}

/** The position of a node in the tree. */
interface Position {
  readonly path: string
  readonly depth: number
  /** Whether the records at this position are embedded records. */
  readonly isInRecord: boolean
  /** Whether the record at this position is the record of the document. */
  readonly isOwn: boolean
}

class Compiler {
  readonly #names: BoundNames
  readonly #places: Places
  readonly #known: ReadonlyMap<string, Formatter>
  readonly #formatters = new Map<string, Formatter>()
  readonly #ownFields = new Set<string>()
  readonly #filterFields = new Set<string>()
  readonly #versionTags = new Set<string>()
  #defaultFormatter: Formatter
  #hasFunctions = false
  #nodes = 0

  constructor({ names, formatters = {}, places = placesByPath }: CompileOptions) {
    this.#names = names
    this.#places = places
    const builtIn = builtInFormatters((name) => names.schema.field(name))
    this.#known = new Map([...builtIn, ...Object.entries(formatters)])
    this.#defaultFormatter = builtIn.get('default')!
  }

  compile(configuration: IndexConfiguration): PreparedConfiguration {
    atPlace('the configuration', () => configurationNames.check(configuration))
    const { formatters = {}, defaultFormatter, dereference = true } = configuration
    if (typeof formatters !== 'object' || (formatters as unknown) === null) {
      throw configurationError('formatters', 'formatters are an object')
    }
    for (const [name, given] of Object.entries(formatters)) {
      const place = this.#places(configuration, `formatters.${name}`)
      this.#formatters.set(name, this.#givenFormatter(given, place))
    }
    if (typeof dereference !== 'boolean') {
      throw configurationError('dereference', 'dereference must be true or false')
    }
    if (defaultFormatter !== undefined) {
      const place = this.#places(configuration, 'defaultFormatter')
      this.#defaultFormatter = this.#formatterOf(defaultFormatter, place)
    }
    const tagsFor = this.#recordFilter(configuration)
    const position = { path: 'fields', depth: 0, isInRecord: false, isOwn: true }
    const nodes = this.#nodesOf(configuration.fields, position)
    const dynamicFields = this.#list(configuration.dynamicFields, 'dynamicFields').map(
      (rule, index) => this.#dynamicField(rule, `dynamicFields[${index}]`),
    )
    const usesOwnField = (field: FieldType): boolean =>
      this.#hasFunctions ||
      this.#ownFields.has(field.id) ||
      dynamicFields.some(({ nameFor }) => nameFor(field) !== undefined)
    return {
      tagsFor,
      versionTags: this.#versionTags,
      filterFields: this.#filterFields,
      nodes,
      dynamicFields,
      dereferences: dereference,
      usesOwnField,
    }
  }

  #recordFilter({ recordFilter = {} }: IndexConfiguration): PreparedConfiguration['tagsFor'] {
    atPlace('recordFilter', () => filterNames.check(recordFilter))
    const excludes = this.#list(recordFilter.excludes, 'recordFilter.excludes').map((rule, index) =>
      this.#match(rule, `recordFilter.excludes[${index}]`),
    )
    const includes = this.#list(recordFilter.includes, 'recordFilter.includes').map(
      (rule, index) => {
        const path = `recordFilter.includes[${index}]`
        const place = this.#places(rule, path)
        return atPlace(place, () => {
          includeNames.check(rule)
          const { versionTags, ...match } = rule
          const matcher = prepareMatch(match, this.#names)
          const tags = this.#tagsOf(versionTags)
          for (const tag of tags) this.#versionTags.add(tag)
          return { matcher, tags }
        })
      },
    )
    for (const { field } of [...excludes, ...includes.map(({ matcher }) => matcher)]) {
      if (field !== undefined) this.#filterFields.add(field)
    }
    return (subject) => {
      if (excludes.some(({ matches }) => matches(subject))) return undefined
      const found = includes.find(({ matcher }) => matcher.matches(subject))
      return found?.tags.map((id) => this.#names.schema.fieldById(id))
    }
  }

  #tagsOf(names: unknown): string[] {
    if (!Array.isArray(names)) throw new Error('versionTags: the names of version tags')
    return [...new Set(names as readonly unknown[])].map((name) => {
      const field = this.#names.field(`{${versionTagNamespace}}${String(name)}`)
      if (field.scope === 'NON_VERSIONED' && field.valueType === 'LONG') return field.id
      throw new Error(`${field.name} is no version tag: those are NON_VERSIONED and LONG`)
    })
  }

  #match(rule: RecordMatch, path: string): RecordMatcher {
    return atPlace(this.#places(rule, path), () => {
      matchNames.check(rule)
      return prepareMatch(rule, this.#names)
    })
  }

  #nodesOf(nodes: readonly FieldNode[] | undefined, position: Position): PreparedNode[] {
    const { path, depth } = position
    if (depth > depthMax) throw configurationError(path, `fields nest ${depthMax} deep at most`)
    return this.#list(nodes, path).map((node, index) => {
      const at = { ...position, path: `${path}[${index}]` }
      const place = this.#places(node, at.path)
      if (++this.#nodes > nodesMax) throw configurationError(place, `more than ${nodesMax} fields`)
      if (typeof node !== 'object' || (node as unknown) === null) {
        throw configurationError(place, 'a field of an index is an object')
      }
      if ('match' in node) return this.#matchNode(node, at, place)
      if ('forEach' in node) return this.#forEachNode(node, at, place)
      return atPlace(place, () => this.#field(node, at, place))
    })
  }

  #matchNode(node: MatchRule, at: Position, place: string): PreparedNode {
    const matcher = atPlace(place, () => {
      groupNames.check(node)
      matchNames.check(node.match)
      return prepareMatch(node.match, this.#names)
    })
    if (at.isOwn && matcher.field !== undefined) this.#ownFields.add(matcher.field)
    const inner = { ...at, path: `${at.path}.fields`, depth: at.depth + 1 }
    return { kind: 'match', matcher, nodes: this.#nodesOf(node.fields, inner) }
  }

  #forEachNode(node: ForEachRule, at: Position, place: string): PreparedNode {
    const { chain, isInRecord } = atPlace(place, () => {
      forEachNames.check(node)
      return parseRecordChain(textOf(node.forEach, 'forEach'), this.#names, at.isInRecord)
    })
    this.#noteOwn(chain, at)
    const depth = at.depth + 1
    const inner = { path: `${at.path}.fields`, depth, isInRecord, isOwn: false }
    return { kind: 'forEach', chain, nodes: this.#nodesOf(node.fields, inner) }
  }

  #field(rule: FieldRule, at: Position, place: string): PreparedField {
    fieldNames.check(rule)
    const { name, value, extractContent = false, formatter } = rule
    checkFlag(extractContent, 'extractContent')
    const template = parseTemplate(textOf(name, 'name'))
    const variables = new Map<string, NameVariable>()
    for (const part of template) {
      if (part.kind === 'choice') throw new Error(`only dynamic fields have choices: ${name}`)
      if (part.kind === 'text') continue
      variables.set(part.name, this.#variable(part.name, at))
    }
    const isFunction = typeof value === 'function'
    if (isFunction) {
      if (!at.isOwn) throw new Error('a function makes fields of the record itself only')
      this.#hasFunctions = true
    }
    const chain = isFunction
      ? undefined
      : parseChain(textOf(value, 'value'), this.#names, at.isInRecord)
    if (chain !== undefined) this.#noteOwn(chain, at)
    return {
      kind: 'field',
      name: template,
      variables,
      chain,
      make: isFunction ? value : undefined,
      extractContent,
      formatter: this.#formatterOf(formatter, place),
    }
  }

  #variable(name: string, at: Position): NameVariable {
    if (name.startsWith('vprop:')) {
      return { kind: 'property', name: name.slice('vprop:'.length) }
    }
    const chain = parseChain(name, this.#names, at.isInRecord)
    this.#noteOwn(chain, at)
    return { kind: 'chain', chain }
  }

  /** Notes the first field of a chain, if it is one of the document's own record. */
  #noteOwn({ steps, end }: Chain, { isOwn }: Position): void {
    if (!isOwn) return
    // An embedded record is part of its holder, and so are its fields.
    const [first] = steps.length > 0 ? steps : [end]
    if (first !== undefined && 'field' in first) this.#ownFields.add(first.field)
  }

  #dynamicField(rule: DynamicFieldRule, path: string): PreparedDynamicField {
    const place = this.#places(rule, path)
    return atPlace(place, () => {
      dynamicNames.check(rule)
      const { extractContent = false, formatter, continue: goesOn = false } = rule
      checkFlag(extractContent, 'extractContent')
      checkFlag(goesOn, 'continue')
      const nameFor = dynamicName(rule)
      return { nameFor, extractContent, formatter: this.#formatterOf(formatter, place), goesOn }
    })
  }

  #givenFormatter(given: Formatter | string, place: string): Formatter {
    if (typeof given === 'function') return given
    const name = String(given)
    const known = this.#known.get(name) ?? this.#known.get(name.slice(name.lastIndexOf('.') + 1))
    if (known === undefined) throw configurationError(place, `there is no formatter ${name}`)
    return known
  }

  #formatterOf(name: string | undefined, place: string): Formatter {
    if (name === undefined) return this.#defaultFormatter
    return this.#formatters.get(name) ?? this.#givenFormatter(name, place)
  }

  #list<T>(list: readonly T[] | undefined, path: string): readonly T[] {
    const isList = list === undefined || Array.isArray(list)
    if (!isList) throw configurationError(path, 'a list is wanted')
    return (list as readonly T[] | undefined) ?? []
  }
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new Error(`${what} must be a text`)
}

function checkFlag(value: unknown, what: string): void {
  if (typeof value !== 'boolean') throw new Error(`${what} must be true or false`)
}

const plainVariables = [
  'namespace',
  'name',
  'type',
  'baseType',
  'nestedType',
  'nestedBaseType',
  'deepestNestedBaseType',
]

function dynamicName(rule: DynamicFieldRule): PreparedDynamicField['nameFor'] {
  const { matchNamespace, matchName, matchType, matchScope } = rule
  const namespace = matchNamespace === undefined ? undefined : new WildcardPattern(matchNamespace)
  const local = matchName === undefined ? undefined : new WildcardPattern(matchName)
  const type = matchType === undefined ? undefined : new TypePattern(matchType)
  const areScopes = matchScope === undefined || Array.isArray(matchScope)
  if (!areScopes || matchScope?.some((scope: Scope) => !scopes.includes(scope)) === true) {
    throw new Error(`the scopes are ${scopes.join(', ')}`)
  }
  const allowed = new Set(plainVariables)
  if (local?.hasWildcard === true) allowed.add('nameMatch')
  if (namespace?.hasWildcard === true) allowed.add('namespaceMatch')
  const template = parseTemplate(textOf(rule.name, 'name'))
  for (const part of template) {
    if (part.kind === 'variable' && !allowed.has(part.name)) {
      throw new Error(`there is no variable ${part.name} here`)
    }
    if (part.kind === 'choice' && part.name !== 'list' && part.name !== 'multiValue') {
      throw new Error(`there is no choice by ${part.name}`)
    }
  }
  return (field) => {
    const end = field.name.indexOf('}')
    const namespaceMatch = namespace?.match(field.name.slice(1, end)) ?? ''
    if (namespace?.match(field.name.slice(1, end)) === undefined && namespace !== undefined) {
      return undefined
    }
    const nameMatch = local?.match(field.name.slice(end + 1))
    if (local !== undefined && nameMatch === undefined) return undefined
    if (type?.matches(field.type) === false) return undefined
    if (matchScope?.includes(field.scope) === false) return undefined
    const values = { ...variablesOf(field), nameMatch, namespaceMatch }
    const isListField = field.type.base === 'LIST'
    return fillTemplate(
      template,
      (name) => (values as Record<string, string | undefined>)[name],
      () => isListField,
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

/** Compiles a configuration. `ERR_INDEX_CONFIGURATION` with the location of the error. */
export function compileConfiguration(
  configuration: IndexConfiguration,
  options: CompileOptions,
): PreparedConfiguration {
  return new Compiler(options).compile(configuration)
}
