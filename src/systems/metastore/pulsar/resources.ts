/**
 * Pulsar's configuration over two stores (`PulsarResources`): tenants, clusters, namespaces and
 * topics in the configuration store, local policies and dynamic configuration in the local store.
 * Paths and values (JSON) are Pulsar's.
 */
import { checkCachingStore } from '../metadata/arguments.js'
import { MetadataCache } from '../metadata/cache.js'
import type { MetadataCacheOptions } from '../metadata/cache-options.js'
import { hasCode } from '../metadata/errors.js'
import { checkPath, childOf } from '../metadata/paths.js'
import { jsonSerde } from '../metadata/serde.js'
import type { CachingStore } from '../metadata/types.js'

/** A configuration value: a JSON object. */
export type ConfigurationValue = Readonly<Record<string, unknown>>

/** The values of one kind, below one path. Keys are segments, joined by slashes. */
export class ConfigurationResources<T extends ConfigurationValue = ConfigurationValue> {
  readonly #store: CachingStore
  readonly #cache: MetadataCache<T>
  readonly #base: string

  /**
   * Made by {@link PulsarResources}. `base` is the path above the keys, `/admin/clusters` for
   * instance.
   */
  constructor(store: CachingStore, base: string, options?: MetadataCacheOptions<T>) {
    checkPath(base)
    this.#store = checkCachingStore(store)
    this.#base = base
    this.#cache = new MetadataCache(store, jsonSerde<T>(), options)
  }

  /** Path of a value. */
  pathOf(key: string): string {
    const path = childOf(this.#base, key)
    checkPath(path)
    return path
  }

  /** Names directly below a key; without key, of the first level. */
  async list(key?: string): Promise<string[]> {
    return this.#store.getChildren(key === undefined ? this.#base : this.pathOf(key))
  }

  /** Whether there is a value, according to the cache. */
  async exists(key: string): Promise<boolean> {
    return (await this.get(key)) !== undefined
  }

  /** The value, from the cache if possible; undefined if there is none. */
  async get(key: string): Promise<T | undefined> {
    return this.#cache.get(this.pathOf(key))
  }

  /** As `get`, but reads the newest state of the store instead of the cache. */
  async getRefreshed(key: string): Promise<T | undefined> {
    const path = this.pathOf(key)
    await this.#store.sync(path)
    this.#cache.invalidate(path)
    return this.#cache.get(path)
  }

  /** The cached value: null = known to be absent, undefined = not cached. */
  getIfCached(key: string): T | null | undefined {
    return this.#cache.getIfCached(this.pathOf(key))
  }

  /** `ERR_METADATA_ALREADY_EXISTS`. */
  async create(key: string, value: T): Promise<void> {
    return this.#cache.create(this.pathOf(key), value)
  }

  /** `ERR_METADATA_NOT_FOUND`. */
  async update(key: string, modify: (value: T) => T): Promise<T> {
    return this.#cache.readModifyUpdate(this.pathOf(key), modify)
  }

  /**
   * Changes the value, or creates it: `modify` receives undefined if there is none. Returns the
   * stored value. `modify` may be called several times.
   */
  async updateOrCreate(key: string, modify: (value: T | undefined) => T): Promise<T> {
    return this.#cache.readModifyUpdateOrCreate(this.pathOf(key), modify)
  }

  /** `ERR_METADATA_NOT_FOUND`, `ERR_METADATA_NOT_EMPTY`. */
  async delete(key: string): Promise<void> {
    return this.#cache.delete(this.pathOf(key))
  }

  /** As `delete`, but an absent value is no error. */
  async deleteIfExists(key: string): Promise<void> {
    try {
      await this.delete(key)
    } catch (error) {
      if (!hasCode(error, 'notFound')) throw error
    }
  }

  /** Removes a value and its descendants, such as a tenant with its namespaces. */
  async deleteRecursive(key: string): Promise<void> {
    return this.#store.deleteRecursive(this.pathOf(key))
  }

  /** Closes the cache. The store stays open. */
  close(): void {
    this.#cache.close()
  }
}

/** All resources of a cluster. The caller closes the stores. */
export class PulsarResources {
  /** Keys `tenant`. Listing a tenant gives its namespaces. */
  readonly tenants: ConfigurationResources
  /** Keys `tenant/namespace`: policies. */
  readonly namespaces: ConfigurationResources
  /** Keys `cluster`, and `cluster/namespaceIsolationPolicies`, `cluster/failureDomain/name`. */
  readonly clusters: ConfigurationResources
  /** Keys `tenant/namespace/domain/topic`. */
  readonly partitionedTopics: ConfigurationResources
  /** Keys `group`. */
  readonly resourceGroups: ConfigurationResources
  /** Keys `tenant/namespace`. */
  readonly localPolicies: ConfigurationResources
  /** The one key `configuration`. */
  readonly dynamicConfiguration: ConfigurationResources
  readonly #all: readonly ConfigurationResources[]

  /** In a single cluster, both stores may be the same. */
  constructor(configurationStore: CachingStore, localStore: CachingStore) {
    checkCachingStore(configurationStore)
    checkCachingStore(localStore)
    const all: ConfigurationResources[] = []
    const below = (store: CachingStore, base: string): ConfigurationResources => {
      const resources = new ConfigurationResources(store, base)
      all.push(resources)
      return resources
    }
    this.tenants = below(configurationStore, '/admin/policies')
    this.namespaces = below(configurationStore, '/admin/policies')
    this.clusters = below(configurationStore, '/admin/clusters')
    this.partitionedTopics = below(configurationStore, '/admin/partitioned-topics')
    this.resourceGroups = below(configurationStore, '/admin/resourcegroups')
    this.localPolicies = below(localStore, '/admin/local-policies')
    this.dynamicConfiguration = below(localStore, '/admin')
    this.#all = all
  }

  /** Closes all caches. */
  close(): void {
    for (const each of this.#all) each.close()
  }
}
