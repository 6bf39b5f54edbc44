/** Converts the XML form of a configuration, Lily's `indexerconf`, into the form in code. */
import type * as Saxes from 'saxes'
import type {
  DynamicFieldRule,
  FieldNode,
  FieldRule,
  IncludeRule,
  IndexConfiguration,
  RecordMatch,
} from './configuration.js'
import { configurationError, placesByPath, type Places } from './configuration-error.js'
import { requirePackage } from '../../../../api/index.js'

interface XmlElement {
  /** Local name. */
  readonly name: string
  /** Attributes by name, without namespace declarations. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** Location in the text: `line 3, column 5`. */
  readonly place: string
  /** Resolves a prefix to its namespace at this element. */
  readonly namespaceOf: (prefix: string) => string | undefined
}

const charactersMax = 1 << 20
const elementsMax = 20_000
const depthMax = 40

interface OpenElement extends XmlElement {
  readonly children: XmlElement[]
}

/**
 * Parses a document and returns its root element. A document type is refused, so only the five
 * predefined entities exist. `ERR_INDEX_CONFIGURATION`; `ERR_MISSING_PACKAGE` without the package
 * `saxes`.
 */
function parseXml(text: string): XmlElement {
  if (typeof text !== 'string' || text.length > charactersMax) {
    throw configurationError('the document', `XML is a text of at most ${charactersMax} characters`)
  }
  const { SaxesParser } = requirePackage<typeof Saxes>('saxes', 'the XML form of an index')
  const parser = new SaxesParser({ xmlns: true })
  const open: OpenElement[] = []
  let root: XmlElement | undefined
  let count = 0
  const here = (): string => `line ${parser.line}, column ${parser.column}`
  const refuse = (problem: string): never => {
    throw configurationError(here(), problem)
  }
  let start = 'line 1, column 0'
  parser.on('opentagstart', () => {
    start = here()
  })
  parser.on('error', ({ message }) => refuse(message))
  parser.on('doctype', () => refuse('a document type is not allowed'))
  parser.on('text', (found) => {
    if (found.trim() !== '') refuse('there is text between the elements')
  })
  parser.on('cdata', () => refuse('there is text between the elements'))
  parser.on('opentag', (tag) => {
    if (++count > elementsMax) refuse(`there are more than ${elementsMax} elements`)
    if (open.length >= depthMax) refuse(`elements nest ${depthMax} deep at most`)
    const element = elementOf(tag, start, open.at(-1))
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
  })
  parser.on('closetag', () => void open.pop())
  parser.write(text).close()
  return root ?? refuse('there is no element')
}

function elementOf(
  tag: Saxes.SaxesTagNS,
  place: string,
  parent: XmlElement | undefined,
): OpenElement {
  const attributes = new Map<string, string>()
  for (const { name, prefix, value } of Object.values(tag.attributes)) {
    if (name === 'xmlns' || prefix === 'xmlns') continue
    attributes.set(name, value)
  }
  const own = new Map(Object.entries(tag.ns))
  const namespaceOf = (prefix: string): string | undefined => {
    return own.get(prefix) ?? parent?.namespaceOf(prefix)
  }
  return { name: tag.local, attributes, children: [], place, namespaceOf }
}

/** A configuration with the locations of its parts. */
export interface ReadConfiguration {
  readonly configuration: IndexConfiguration
  readonly places: Places
}

type Convert = (text: string, element: XmlElement) => unknown

const asIs: Convert = (text) => text

const listOf = (text: string): string[] => text.split(',').flatMap((part) => part.trim() || [])

const flag: Convert = (text, element) => {
  if (text === 'true' || text === 'false') return text === 'true'
  throw refuse(element, `an attribute is true or false, not '${text}'`)
}

/** `prefix:local` as `{namespace}local`. */
const nameOf = (text: string, element: XmlElement): string => {
  const name = text.trim()
  if (name.startsWith('{')) return name
  const colon = name.indexOf(':')
  if (colon <= 0) throw refuse(element, `'${name}' lacks the prefix of its namespace`)
  const namespace = element.namespaceOf(name.slice(0, colon))
  if (namespace !== undefined) return `{${namespace}}${name.slice(colon + 1)}`
  throw refuse(element, `the prefix of '${name}' is not declared`)
}

/** A pattern of a record type; a `*` in place of the prefix matches any namespace. */
const typePattern: Convert = (text, element) => {
  const colon = text.indexOf(':')
  const prefix = text.slice(0, Math.max(colon, 0)).trim()
  const isPattern = prefix.startsWith('*') || prefix.endsWith('*')
  if (!isPattern || element.namespaceOf(prefix) !== undefined) return nameOf(text, element)
  return `{${prefix}}${text.slice(colon + 1).trim()}`
}

const fieldMatch: Convert = (text, element) => {
  const parts = /^(\{[^{}]*\}[^=!]+|[^=!]+)(!?)=([^]*)$/.exec(text)
  if (parts === null) throw refuse(element, `'field' is name=value or name!=value, not '${text}'`)
  return { name: nameOf(parts[1], element), [parts[2] === '' ? 'equals' : 'notEquals']: parts[3] }
}

const chainOf = (text: string, element: XmlElement): string => {
  const tokens = text.split('=>').map((token) => token.trim())
  return tokens
    .map((each) => (each === 'master' || /^([+-]|$)/.test(each) ? each : nameOf(each, element)))
    .join('=>')
}

/** A template with its prefixes resolved to namespaces. */
const template: Convert = (text, element) => {
  return text.replace(/(\\?)\$\{([^{}]+)\}/g, (whole, escape: string, name: string) => {
    if (escape !== '' || name.startsWith('vprop:')) return whole
    return `\${${chainOf(name, element)}}`
  })
}

const matchAttributes = {
  recordType: typePattern,
  instanceOf: nameOf,
  field: fieldMatch,
  variant: asIs,
  tables: listOf,
}
const fieldAttributes = { name: template, value: chainOf, extractContent: flag, formatter: asIs }
const matchNamespace: Convert = (text, element) => element.namespaceOf(text) ?? text
const dynamicAttributes = {
  matchNamespace,
  matchName: asIs,
  matchType: asIs,
  matchScope: (text: string) => {
    return listOf(text).map((scope) => scope.toUpperCase().replaceAll('-', '_'))
  },
  name: asIs,
  extractContent: flag,
  formatter: asIs,
  continue: flag,
}
/** The older form of a rule, without `recordFilter`. */
const recordAttributes = { matchNamespace, matchName: asIs, matchVariant: asIs, vtags: listOf }

function refuse(element: XmlElement, problem: string): Error {
  return configurationError(element.place, problem)
}

function attributesOf<T>(
  element: XmlElement,
  known: Readonly<Record<string, Convert>>,
  required: readonly string[] = [],
): T {
  const { name, attributes } = element
  for (const each of required) {
    if (!attributes.has(each)) throw refuse(element, `<${name}> needs '${each}'`)
  }
  const values = [...attributes].map(([each, text]) => {
    if (!Object.hasOwn(known, each)) throw refuse(element, `<${name}> has no '${each}'`)
    return [each, known[each](text, element)] as const
  })
  return Object.fromEntries(values) as T
}

function childrenOf(element: XmlElement, ...names: readonly string[]): readonly XmlElement[] {
  const other = element.children.find(({ name }) => !names.includes(name))
  if (other === undefined) return element.children
  throw refuse(other, `<${element.name}> has no <${other.name}>`)
}

/** Notes the location of a part of the configuration, and returns the part. */
type Note = <T extends object>(element: XmlElement, part: T) => T

function recordFilterOf(element: XmlElement, at: Note): IndexConfiguration['recordFilter'] {
  attributesOf(element, {})
  const includes: IncludeRule[] = []
  const excludes: RecordMatch[] = []
  for (const group of childrenOf(element, 'includes', 'excludes')) {
    const isInclude = group.name === 'includes'
    attributesOf(group, {})
    for (const rule of childrenOf(group, isInclude ? 'include' : 'exclude')) {
      if (isInclude) includes.push(at(rule, includeOf(rule)))
      else excludes.push(at(rule, attributesOf<RecordMatch>(rule, matchAttributes)))
    }
  }
  return { includes, excludes }
}

function fieldsOf(element: XmlElement, at: Note): FieldNode[] {
  return childrenOf(element, 'field', 'match', 'forEach').map((child) => {
    if (child.name === 'field') {
      return at(child, attributesOf<FieldRule>(child, fieldAttributes, ['name', 'value']))
    }
    const fields = fieldsOf(child, at)
    if (child.name === 'match') {
      return at(child, { match: attributesOf<RecordMatch>(child, matchAttributes), fields })
    }
    const { expr } = attributesOf<{ expr: string }>(child, { expr: chainOf }, ['expr'])
    return at(child, { forEach: expr, fields })
  })
}

function formattersOf(element: XmlElement): IndexConfiguration {
  const { default: name } = attributesOf<{ default?: string }>(element, { default: asIs })
  const formatters: Record<string, string> = {}
  for (const each of childrenOf(element, 'formatter')) {
    const both = attributesOf<{ name: string; class: string }>(each, { name: asIs, class: asIs }, [
      'name',
      'class',
    ])
    if (Object.hasOwn(formatters, both.name)) {
      throw refuse(each, `there are two formatters ${both.name}`)
    }
    formatters[both.name] = both.class
  }
  return { formatters, defaultFormatter: name }
}

/** The parts of a configuration by the element that gives them. */
const parts: Readonly<Record<string, (element: XmlElement, at: Note) => IndexConfiguration>> = {
  recordFilter: (element, at) => ({ recordFilter: recordFilterOf(element, at) }),
  records: (element, at) => {
    const includes = childrenOf(element, 'record').map((each) => at(each, recordOf(each)))
    return { recordFilter: { includes } }
  },
  formatters: formattersOf,
  fields: (element, at) => ({ fields: fieldsOf(element, at) }),
  dynamicFields: (element, at) => ({
    dynamicFields: childrenOf(element, 'dynamicField').map((each) => {
      return at(each, attributesOf<DynamicFieldRule>(each, dynamicAttributes, ['name']))
    }),
  }),
}

/** Parses the XML form. `ERR_INDEX_CONFIGURATION` with line and column; `ERR_MISSING_PACKAGE`. */
export function readXmlConfiguration(text: string): ReadConfiguration {
  const places = new WeakMap<object, string>()
  const at: Note = ({ place }, part) => {
    places.set(part, place)
    return part
  }
  const root = parseXml(text)
  if (root.name !== 'indexer') throw refuse(root, `the root is <indexer>, not <${root.name}>`)
  attributesOf(root, {})
  let configuration: IndexConfiguration = {}
  const seen = new Set<string>()
  for (const child of childrenOf(root, ...Object.keys(parts))) {
    // Both elements give the record filter.
    const name = child.name === 'records' ? 'recordFilter' : child.name
    if (seen.has(name)) throw refuse(child, `there are two <${name}>`)
    seen.add(name)
    configuration = { ...configuration, ...parts[child.name](child, at) }
  }
  const formatters = root.children.find(({ name }) => name === 'formatters')
  if (formatters !== undefined) at(formatters, configuration)
  return { configuration, places: (node, path) => places.get(node) ?? placesByPath(node, path) }
}

function includeOf(element: XmlElement): IncludeRule {
  const known = { ...matchAttributes, vtags: listOf }
  const { vtags, ...match } = attributesOf<RecordMatch & { vtags: string[] }>(element, known, [
    'vtags',
  ])
  return { ...match, versionTags: vtags }
}

function recordOf(element: XmlElement): IncludeRule {
  const { matchNamespace, matchName, matchVariant, vtags } = attributesOf<{
    readonly matchNamespace?: string
    readonly matchName?: string
    readonly matchVariant?: string
    readonly vtags: string[]
  }>(element, recordAttributes, ['vtags'])
  const recordType = `{${matchNamespace ?? '*'}}${matchName ?? '*'}`
  return {
    recordType: recordType === '{*}*' ? undefined : recordType,
    variant: matchVariant?.trim() === '*' ? undefined : matchVariant,
    versionTags: vtags,
  }
}
