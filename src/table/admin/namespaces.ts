/** Namespaces of tables: names with properties, which the store does not interpret. */
import { checkObject, checkText, readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { defaultNamespace } from '../../storage/cell/limits.js'
import { noSuchNamespace } from '../../storage/engine/catalog/catalog.js'
import type { Ddl } from '../../storage/engine/catalog/ddl.js'
import type { Lifecycle } from '../../storage/engine/lifecycle.js'
import type { VersionSet } from '../../storage/version/version-set.js'
import { checkNamespaceName, systemNamespace } from '../../api/names.js'

/** A namespace. */
export interface NamespaceDescription {
  /** Name of the namespace. */
  readonly name: string
  /** Properties of the application, as texts. */
  readonly properties: Readonly<Record<string, string>>
}

const predefined = [defaultNamespace, systemNamespace]

export class Namespaces {
  readonly #lifecycle: Lifecycle
  readonly #versions: VersionSet
  readonly #ddl: Ddl

  constructor(lifecycle: Lifecycle, versions: VersionSet, ddl: Ddl) {
    this.#lifecycle = lifecycle
    this.#versions = versions
    this.#ddl = ddl
  }

  async create(name: string, properties: Readonly<Record<string, string>>): Promise<void> {
    this.#lifecycle.checkWritable()
    checkNamespaceName(name)
    const checked = checkProperties(properties, false)
    await this.#ddl.putNamespace(name, (known) => {
      if (known === undefined) return checked
      throw new CellarError(ErrorCode.namespaceExists, `namespace '${name}' exists already`)
    })
  }

  async modify(name: string, properties: Readonly<Record<string, string | null>>): Promise<void> {
    this.#lifecycle.checkWritable()
    checkNamespaceName(name)
    const changes = checkProperties(properties, true)
    await this.#ddl.putNamespace(name, (known) => {
      if (known === undefined) throw noSuchNamespace(name)
      const merged = new Map(Object.entries(known))
      for (const [key, value] of Object.entries(changes)) merged.set(key, value)
      return Object.fromEntries([...merged].filter(([, value]) => value !== null))
    })
  }

  async delete(name: string): Promise<void> {
    this.#lifecycle.checkWritable()
    checkNamespaceName(name)
    await this.#ddl.dropNamespace(name)
  }

  get(name: string): NamespaceDescription {
    this.#lifecycle.checkOpen()
    checkText(name, 'namespace')
    if (predefined.includes(name)) return { name, properties: {} }
    const known = this.#versions.current.namespaces.get(name)
    if (known === undefined) throw noSuchNamespace(name)
    return { name, properties: { ...(known.properties as Record<string, string>) } }
  }

  list(): string[] {
    this.#lifecycle.checkOpen()
    return [...predefined, ...this.#versions.current.namespaces.keys()].sort()
  }
}

function checkProperties(
  properties: Readonly<Record<string, string | null>>,
  mayRemove: boolean,
): Record<string, string | null> {
  return readArguments(() => {
    const entries = Object.entries(checkObject(properties, 'properties of a namespace'))
    for (const [key, value] of entries) {
      if (typeof value === 'string' || (mayRemove && value === null)) continue
      throw invalidArgument(`property '${key}' of a namespace must be a string`)
    }
    return Object.fromEntries(entries)
  })
}
