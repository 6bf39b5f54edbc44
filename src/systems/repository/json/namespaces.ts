/**
 * Names in JSON and in addresses: `prefix$local` with a declared prefix, or `{namespace}local`.
 *
 * The member `namespaces` of an object declares prefixes by namespace, for the object and all
 * objects nested in it.
 */
import {
  boolean,
  checkText,
  declareOptions,
  readArguments,
  shown,
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { checkName, parseName, qualifiedName, type QualifiedName } from '../qualified-name.js'
import { checkJson, objectOf, textOf } from './json-shapes.js'
import type { Json } from './json-text.js'

/** The prefixes in scope at one position of a JSON text. */
export class NameReader {
  readonly #byPrefix: ReadonlyMap<string, string>

  /** Takes namespaces by prefix. `ERR_INVALID_ARGUMENT` if one of them is no text. */
  constructor(byPrefix: Iterable<readonly [string, string]> = []) {
    this.#byPrefix = readArguments(() => new Map(byPrefix))
    for (const pair of this.#byPrefix) for (const part of pair) checkText(part, 'a namespace')
  }

  /** Checks that a value is a reader. `ERR_INVALID_ARGUMENT`. @internal */
  static check(value: unknown): NameReader {
    if (typeof value === 'object' && value !== null && #byPrefix in value) return value
    throw invalidArgument(`names are read by a NameReader, got ${shown(value)}`)
  }

  /**
   * This scope with the declarations of an object: prefixes by namespace. `ERR_INVALID_ARGUMENT`.
   */
  with(json: Json | undefined, at: string): NameReader {
    if (json === undefined || json === null) return this
    checkJson(json, at)
    const byPrefix = new Map(this.#byPrefix)
    for (const [namespace, prefix] of Object.entries(objectOf(json, at))) {
      const text = textOf(prefix, `${at}.${namespace}`)
      if (text === '' || /[$\s{}]/.test(text)) throw invalidArgument(`no prefix ${shown(text)}`)
      byPrefix.set(text, namespace)
    }
    return new NameReader(byPrefix)
  }

  /** The qualified name of a name in this scope. `ERR_INVALID_ARGUMENT` for an unknown prefix. */
  resolve(name: string, at: string): QualifiedName {
    if (checkText(name, checkText(at, 'a place')).startsWith('{')) return checkName(name, at)
    const dollar = name.indexOf('$')
    if (dollar < 0) {
      throw invalidArgument(`${at} is prefix$local or {namespace}local, got ${shown(name)}`)
    }
    const namespace = this.#byPrefix.get(name.slice(0, dollar))
    if (namespace === undefined) {
      throw invalidArgument(`${at}: the prefix of ${shown(name)} is not declared`)
    }
    return qualifiedName(namespace, name.slice(dollar + 1))
  }

  /** Resolves a value type whose arguments may have prefixes: `LIST<LINK<n$type>>`. */
  resolveType(text: string, at: string): string {
    return checkText(text, checkText(at, 'a place')).replace(
      /<([^<>{}]*\$[^<>{}]*)>/g,
      (_, name: string) => {
        return `<${this.resolve(name, at)}>`
      },
    )
  }
}

/** The names in scope inside an object, which may declare more in its member `namespaces`. */
export function namesInside(names: NameReader, json: Json | undefined, at: string): NameReader {
  return names.with(objectOf(json, at)['namespaces'], `${at}.namespaces`)
}

/** A reader of names in a scope. */
export function nameIn(names: NameReader): (json: Json, at: string) => QualifiedName {
  return (json, at) => names.resolve(textOf(json, at), at)
}

const writerOptions = declareOptions('a writer of names', {
  /** Whether names are written with prefixes, else as `{namespace}local`. Default true. */
  prefixes: boolean(true),
})

/** Options of {@link NameWriter}. */
export interface NameWriterOptions extends OptionsOf<typeof writerOptions> {}

/** Writes names, by default with generated prefixes. */
export class NameWriter {
  readonly #prefixes: Map<string, string> | undefined

  /** Creates a writer without prefixes so far. `ERR_INVALID_ARGUMENT`. */
  constructor(options: NameWriterOptions = {}) {
    const { prefixes } = writerOptions.read(options)
    this.#prefixes = prefixes ? new Map() : undefined
  }

  /** Checks that a value is a writer. `ERR_INVALID_ARGUMENT`. @internal */
  static check(value: unknown): NameWriter {
    if (typeof value === 'object' && value !== null && #prefixes in value) return value
    throw invalidArgument(`names are written by a NameWriter, got ${shown(value)}`)
  }

  /** The name, with a prefix that its first use declares. `ERR_INVALID_ARGUMENT`. */
  write(name: QualifiedName): string {
    const [namespace, local] = parseName(name)
    if (this.#prefixes === undefined) return name
    let prefix = this.#prefixes.get(namespace)
    if (prefix === undefined) {
      prefix = `ns${this.#prefixes.size + 1}`
      this.#prefixes.set(namespace, prefix)
    }
    return `${prefix}$${local}`
  }

  /** The declarations of all names that were written: prefixes by namespace. */
  get namespaces(): Record<string, string> {
    return Object.fromEntries(this.#prefixes ?? [])
  }
}
