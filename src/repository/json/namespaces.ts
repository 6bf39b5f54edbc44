/**
 * Names in JSON and in addresses: `prefix$local` with a declared prefix, or `{namespace}local`.
 *
 * `namespaces` of an object declares prefixes by namespace, for the object and all inside.
 */
import { shown } from '../../api/index.js'
import { invalidArgument } from '../errors.js'
import { checkName, parseName, qualifiedName, type QualifiedName } from '../qualified-name.js'
import { objectOf, textOf } from './json-shapes.js'
import type { Json } from './json-text.js'

/** The prefixes that are declared at one place of a JSON text. */
export class NameReader {
  readonly #byPrefix: ReadonlyMap<string, string>

  /** By prefix. */
  constructor(byPrefix: Iterable<readonly [string, string]> = []) {
    this.#byPrefix = new Map(byPrefix)
  }

  /** These with the declarations of an object: namespaces by prefix. `ERR_INVALID_ARGUMENT`. */
  with(json: Json | undefined, at: string): NameReader {
    if (json === undefined || json === null) return this
    const byPrefix = new Map(this.#byPrefix)
    for (const [namespace, prefix] of Object.entries(objectOf(json, at))) {
      const text = textOf(prefix, `${at}.${namespace}`)
      if (text === '' || /[$\s{}]/.test(text)) throw invalidArgument(`no prefix ${shown(text)}`)
      byPrefix.set(text, namespace)
    }
    return new NameReader(byPrefix)
  }

  /** The qualified name. `ERR_INVALID_ARGUMENT` for an unknown prefix. */
  resolve(name: string, at: string): QualifiedName {
    if (name.startsWith('{')) return checkName(name, at)
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

  /** A value type, in whose arguments names may have prefixes: `LIST<LINK<n$type>>`. */
  resolveType(text: string, at: string): string {
    return text.replace(/<([^<>{}]*\$[^<>{}]*)>/g, (_, name: string) => {
      return `<${this.resolve(name, at)}>`
    })
  }
}

/** Writes names, with prefixes that it makes up if that is wanted. */
export class NameWriter {
  readonly #prefixes: Map<string, string> | undefined

  /** Without `prefixes` names are written as `{namespace}local`. Default true. */
  constructor({ prefixes = true }: { readonly prefixes?: boolean | undefined } = {}) {
    this.#prefixes = prefixes ? new Map() : undefined
  }

  /** The name, with a prefix that is declared on its first use. */
  write(name: QualifiedName): string {
    if (this.#prefixes === undefined) return name
    const [namespace, local] = parseName(name)
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
