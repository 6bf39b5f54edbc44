/** Converts the XML form of a configuration, Lily's `indexerconf`, into the form in code. */
import type { Scope } from '../../schema/field-type.js'
import { configurationError, placesByPath, type Places } from './configuration-error.js'
import type {
  DynamicFieldRule,
  FieldMatch,
  FieldNode,
  IncludeRule,
  IndexConfiguration,
  RecordMatch,
} from './configuration.js'
import { parseXml, type XmlElement } from './xml-tree.js'

/** A configuration with the locations of its parts. */
export interface ReadConfiguration {
  readonly configuration: IndexConfiguration
  readonly places: Places
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const matchAttributes = ['recordType', 'instanceOf', 'field', 'variant', 'tables']

class Reader {
  readonly #places = new WeakMap<object, string>()

  read(root: XmlElement): ReadConfiguration {
    if (root.name !== 'indexer') throw refuse(root, `the root is <indexer>, not <${root.name}>`)
    check(root, [], ['recordFilter', 'records', 'formatters', 'fields', 'dynamicFields'])
    const configuration: Writable<IndexConfiguration> = {}
    const seen = new Set<string>()
    for (const child of root.children) {
      if (seen.has(child.name)) throw refuse(child, `there are two <${child.name}>`)
      seen.add(child.name)
      if (child.name === 'recordFilter') configuration.recordFilter = this.#recordFilter(child)
      else if (child.name === 'records') {
        if (seen.has('recordFilter')) throw refuse(child, '<records> is the old <recordFilter>')
        configuration.recordFilter = { includes: child.children.map((each) => this.#record(each)) }
      } else if (child.name === 'formatters') this.#formatters(child, configuration)
      else if (child.name === 'fields') configuration.fields = this.#fields(child)
      else configuration.dynamicFields = child.children.map((each) => this.#dynamicField(each))
    }
    const places: Places = (node, path) => this.#places.get(node) ?? placesByPath(node, path)
    return { configuration, places }
  }

  #at<T extends object>(element: XmlElement, made: T): T {
    this.#places.set(made, element.place)
    return made
  }

  #recordFilter(element: XmlElement): IndexConfiguration['recordFilter'] {
    check(element, [], ['includes', 'excludes'])
    const includes: IncludeRule[] = []
    const excludes: RecordMatch[] = []
    for (const group of element.children) {
      const isInclude = group.name === 'includes'
      check(group, [], [isInclude ? 'include' : 'exclude'])
      for (const rule of group.children) {
        check(rule, isInclude ? [...matchAttributes, 'vtags'] : matchAttributes, [])
        const match = matchOf(rule)
        if (!isInclude) excludes.push(this.#at(rule, match))
        else includes.push(this.#at(rule, { ...match, versionTags: tagsOf(rule) }))
      }
    }
    return { includes, excludes }
  }

  /** Reads a rule in the older form, without `recordFilter`. */
  #record(element: XmlElement): IncludeRule {
    if (element.name !== 'record') throw refuse(element, `<records> has no <${element.name}>`)
    check(element, ['matchNamespace', 'matchName', 'matchVariant', 'vtags'], [])
    const { attributes } = element
    const given = attributes.get('matchNamespace') ?? '*'
    const namespace = element.namespaceOf(given) ?? given
    const recordType = `{${namespace}}${attributes.get('matchName') ?? '*'}`
    const variant = attributes.get('matchVariant')
    const isAny = variant === undefined || variant.trim() === '*'
    return this.#at(element, {
      ...(recordType === '{*}*' ? {} : { recordType }),
      ...(isAny ? {} : { variant }),
      versionTags: tagsOf(element),
    })
  }

  #formatters(element: XmlElement, configuration: Writable<IndexConfiguration>): void {
    check(element, ['default'], ['formatter'])
    const formatters: Record<string, string> = {}
    for (const each of element.children) {
      check(each, ['name', 'class'], [])
      const name = required(each, 'name')
      if (Object.hasOwn(formatters, name)) throw refuse(each, `there are two formatters ${name}`)
      formatters[name] = required(each, 'class')
    }
    configuration.formatters = formatters
    const byDefault = element.attributes.get('default')
    if (byDefault !== undefined) configuration.defaultFormatter = byDefault
    this.#places.set(configuration, element.place)
  }

  #fields(element: XmlElement): FieldNode[] {
    return element.children.map((child) => {
      if (child.name === 'field') {
        check(child, ['name', 'value', 'extractContent', 'formatter'], [])
        return this.#at(child, {
          name: templateOf(child, required(child, 'name')),
          value: chainOf(child, required(child, 'value')),
          ...commonOf(child),
        })
      }
      if (child.name === 'match') {
        check(child, matchAttributes, ['field', 'match', 'forEach'])
        return this.#at(child, { match: matchOf(child), fields: this.#fields(child) })
      }
      if (child.name === 'forEach') {
        check(child, ['expr'], ['field', 'match', 'forEach'])
        const forEach = chainOf(child, required(child, 'expr'))
        return this.#at(child, { forEach, fields: this.#fields(child) })
      }
      throw refuse(child, `<${element.name}> has no <${child.name}>`)
    })
  }

  #dynamicField(element: XmlElement): DynamicFieldRule {
    if (element.name !== 'dynamicField') {
      throw refuse(element, `<dynamicFields> has no <${element.name}>`)
    }
    const names = ['matchNamespace', 'matchName', 'matchType', 'matchScope', 'name', 'continue']
    check(element, [...names, 'extractContent', 'formatter'], [])
    const { attributes } = element
    const namespace = attributes.get('matchNamespace')
    const scope = attributes.get('matchScope')
    const goesOn = flagOf(element, 'continue')
    return this.#at(element, {
      name: required(element, 'name'),
      ...(namespace === undefined
        ? {}
        : { matchNamespace: element.namespaceOf(namespace) ?? namespace }),
      ...given('matchName', attributes.get('matchName')),
      ...given('matchType', attributes.get('matchType')),
      ...given('matchScope', scope === undefined ? undefined : scopesOf(scope)),
      ...given('continue', goesOn),
      ...commonOf(element),
    })
  }
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}

function refuse(element: XmlElement, problem: string): Error {
  return configurationError(element.place, problem)
}

function check(
  element: XmlElement,
  attributes: readonly string[],
  children: readonly string[],
): void {
  for (const name of element.attributes.keys()) {
    if (!attributes.includes(name)) throw refuse(element, `<${element.name}> has no '${name}'`)
  }
  for (const child of element.children) {
    if (children.includes(child.name)) continue
    throw refuse(child, `<${element.name}> has no <${child.name}>`)
  }
}

function required(element: XmlElement, name: string): string {
  const value = element.attributes.get(name)
  if (value !== undefined && value.trim() !== '') return value
  throw refuse(element, `<${element.name}> needs '${name}'`)
}

function flagOf(element: XmlElement, name: string): boolean | undefined {
  const value = element.attributes.get(name)
  if (value === undefined || value === 'true' || value === 'false') {
    return value === undefined ? undefined : value === 'true'
  }
  throw refuse(element, `'${name}' is true or false, not '${value}'`)
}

function commonOf(element: XmlElement): { extractContent?: boolean; formatter?: string } {
  return {
    ...given('extractContent', flagOf(element, 'extractContent')),
    ...given('formatter', element.attributes.get('formatter')),
  }
}

function listOf(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function tagsOf(element: XmlElement): string[] {
  const tags = element.attributes.get('vtags')
  if (tags === undefined) throw refuse(element, `<${element.name}> needs 'vtags'`)
  return listOf(tags)
}

function scopesOf(text: string): Scope[] {
  return listOf(text).map((scope) => scope.toUpperCase().replaceAll('-', '_') as Scope)
}

/** Resolves `prefix:local` to `{namespace}local`. */
function nameOf(element: XmlElement, text: string): string {
  const name = text.trim()
  if (name.startsWith('{')) return name
  const colon = name.indexOf(':')
  if (colon <= 0) throw refuse(element, `'${name}' lacks the prefix of its namespace`)
  const namespace = element.namespaceOf(name.slice(0, colon))
  if (namespace !== undefined) return `{${namespace}}${name.slice(colon + 1)}`
  throw refuse(element, `the prefix of '${name}' is not declared`)
}

/** A pattern of a record type; a `*` in place of the prefix matches any namespace. */
function typePatternOf(element: XmlElement, text: string): string {
  const colon = text.indexOf(':')
  const prefix = text.slice(0, Math.max(colon, 0)).trim()
  const isPattern = prefix.startsWith('*') || prefix.endsWith('*')
  if (isPattern && element.namespaceOf(prefix) === undefined) {
    return `{${prefix}}${text.slice(colon + 1).trim()}`
  }
  return nameOf(element, text)
}

function fieldMatchOf(element: XmlElement, text: string): FieldMatch {
  const parts = /^(\{[^{}]*\}[^=!]+|[^=!]+)(!?=)([^]*)$/.exec(text)
  if (parts === null) throw refuse(element, `'field' is name=value or name!=value, not '${text}'`)
  const name = nameOf(element, parts[1])
  return parts[2] === '=' ? { name, equals: parts[3] } : { name, notEquals: parts[3] }
}

function matchOf(element: XmlElement): RecordMatch {
  const { attributes } = element
  const recordType = attributes.get('recordType')
  const instanceOf = attributes.get('instanceOf')
  const field = attributes.get('field')
  const tables = attributes.get('tables')
  return {
    ...(recordType === undefined ? {} : { recordType: typePatternOf(element, recordType) }),
    ...(instanceOf === undefined ? {} : { instanceOf: nameOf(element, instanceOf) }),
    ...(field === undefined ? {} : { field: fieldMatchOf(element, field) }),
    ...given('variant', attributes.get('variant')),
    ...(tables === undefined ? {} : { tables: listOf(tables) }),
  }
}

function chainOf(element: XmlElement, text: string): string {
  const tokens = text.split('=>').map((token) => token.trim())
  return tokens
    .map((token) =>
      token === 'master' || /^([+-]|$)/.test(token) ? token : nameOf(element, token),
    )
    .join('=>')
}

/** A template with its prefixes resolved to namespaces. */
function templateOf(element: XmlElement, text: string): string {
  return text.replace(/(\\?)\$\{([^{}]+)\}/g, (whole, escape: string, name: string) => {
    if (escape !== '' || name.startsWith('vprop:')) return whole
    return `\${${chainOf(element, name)}}`
  })
}

/** Parses the XML form. `ERR_INDEX_CONFIGURATION` with line and column; `ERR_MISSING_PACKAGE`. */
export function readXmlConfiguration(text: string): ReadConfiguration {
  return new Reader().read(parseXml(text))
}
