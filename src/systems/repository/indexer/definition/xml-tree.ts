/** Parses a small XML document into a tree with the location of each element. */
import type * as Saxes from 'saxes'
import { requirePackage } from '../../../../api/index.js'
import { configurationError } from './configuration-error.js'

/** An element of the tree. */
export interface XmlElement {
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
export function parseXml(text: string): XmlElement {
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
