/**
 * The indexes of the records of a repository manager. They are defined by name, stored, and run
 * between open and close.
 */
import { checkMethods, requireCapability } from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { invalidArgument, repositoryError } from '../errors.js'
import { newest } from '../events/subscription.js'
import type { RepositoryManager } from '../manager/repository-manager.js'
import { errorOf } from '../thrown.js'
import type { SearchBackend } from '../../search/search-backend.js'
import { BoundNames, type StoredNames } from './definition/bound-names.js'
import { Compiler, type PreparedConfiguration } from './definition/compile.js'
import type { IndexConfiguration } from './definition/configuration.js'
import { readXmlConfiguration } from './definition/xml-configuration.js'
import {
  checkIndexName,
  IndexDefinitions,
  indexInput,
  indexNotFound,
  indexUpdate,
  openOptions,
  subscriptionOf,
  type BuildArguments,
  type IncrementalState,
  type IndexDefinition,
  type SearchIndexesOptions,
  type SearchIndexesSettings,
  type SearchIndexInput,
  type SearchIndexUpdate,
  type StoredConfiguration,
} from './index-definition.js'
import { indexTableName } from '../manager/dropped-tables.js'
import { IndexRows } from './index-rows.js'
import { SearchIndex } from './search-index.js'

/** The indexes of one repository manager. */
export class SearchIndexes {
  readonly #manager: RepositoryManager
  readonly #settings: SearchIndexesSettings
  readonly #definitions: IndexDefinitions
  readonly #running = new Map<string, SearchIndex>()
  /** The error of each index that does not run. */
  readonly #failures = new Map<string, Error>()
  readonly #configurations: Map<string, IndexConfiguration>
  readonly #stopObserving: () => void
  /** The changes of definitions. */
  readonly #order = new CallOrder()
  #isClosed = false
  #closing: Promise<void> | undefined

  private constructor(manager: RepositoryManager, settings: SearchIndexesSettings) {
    const { database, settings: ofManager } = manager
    this.#manager = manager
    this.#settings = settings
    this.#definitions = new IndexDefinitions(database, `${ofManager.tablePrefix}.indexes`)
    this.#configurations = new Map(Object.entries(settings.configurations))
    this.#stopObserving = manager.observeDrops({
      tableDropped: (repository, table) => this.#tableDropped(repository, table),
      repositoryDeleted: (repository) => this.#repositoryDeleted(repository),
    })
  }

  /**
   * Opens the indexes: active ones run, and interrupted deletions and builds resume. An index that
   * cannot run does not affect the others; {@link index} throws its error. `ERR_INVALID_ARGUMENT`.
   */
  static async open(
    manager: RepositoryManager,
    options: SearchIndexesOptions,
  ): Promise<SearchIndexes> {
    checkMethods(manager, 'the manager of repositories', ['subscribe', 'observeDrops'])
    const indexes = new SearchIndexes(manager, openOptions.read(options))
    await indexes.#definitions.create()
    for (const name of await indexes.#definitions.names()) {
      try {
        const definition = await indexes.#definitions.get(name)
        const isGone = !manager.listRepositories().includes(definition.repository)
        const isDropped = definition.state === 'DELETE_REQUESTED' || isGone
        await (isDropped ? indexes.#drop(definition) : indexes.#start(definition))
      } catch (error) {
        // An unreachable search server or a damaged definition must not affect the other indexes.
        indexes.#failures.set(name, errorOf(error))
      }
    }
    return indexes
  }

  /** Definitions by name. */
  async list(): Promise<IndexDefinition[]> {
    this.#checkOpen()
    return this.#definitions.list()
  }

  /** The definition of an index. `ERR_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  async get(name: string): Promise<IndexDefinition> {
    this.#checkOpen()
    checkIndexName(name)
    return this.#definitions.get(name)
  }

  /**
   * A running index. `ERR_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`, or the error that keeps the
   * index from running.
   */
  index(name: string): SearchIndex {
    this.#checkOpen()
    checkIndexName(name)
    const running = this.#running.get(name)
    if (running !== undefined) return running
    throw this.#failures.get(name) ?? indexNotFound(name)
  }

  /** The running indexes, by name. */
  get running(): readonly SearchIndex[] {
    return [...this.#running.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The error of each index that does not run, by name. */
  get failures(): ReadonlyMap<string, Error> {
    return this.#failures
  }

  /**
   * Creates and starts an index. `ERR_INDEX_EXISTS`, `ERR_INDEX_CONFIGURATION`,
   * `ERR_REPOSITORY_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  async create(given: SearchIndexInput): Promise<SearchIndex> {
    const input = indexInput(given)
    return this.#change(async () => {
      const { name, repository, backend = null, incremental, defaultBuild, build } = input
      await this.#checkBuild(repository, defaultBuild)
      this.#checkCapabilities(incremental)
      const stored = this.#stored(input)
      if (stored === undefined) throw invalidArgument('an index needs a configuration')
      const { configuration } = stored
      const definition: IndexDefinition = {
        name,
        version: 1,
        repository,
        state: 'ACTIVE',
        incremental,
        build: build ? 'BUILDING' : 'INACTIVE',
        ...stored,
        backend,
        defaultBuild,
      }
      await this.#definitions.add(definition)
      if (configuration.kind === 'code') this.#configurations.set(name, input.configuration!)
      await this.#subscribeFromNow(name, incremental)
      await this.#start(definition)
      return this.index(name)
    })
  }

  /**
   * Changes an index and restarts it. A new configuration applies to records written from now on;
   * the other records need a build. `ERR_INDEX_NOT_FOUND`, `ERR_INDEX_STATE` if the definition has
   * another `version` or a build is in progress, `ERR_INDEX_CONFIGURATION`, `ERR_INVALID_ARGUMENT`.
   */
  async update(name: string, changes: SearchIndexUpdate): Promise<IndexDefinition> {
    checkIndexName(name)
    const update = indexUpdate(changes)
    return this.#change(async () => {
      const { version, incremental, backend, defaultBuild, build, buildArguments } = update
      if (incremental !== undefined) this.#checkCapabilities(incremental)
      if (buildArguments !== undefined && !build) {
        throw invalidArgument('buildArguments are for a build that is requested')
      }
      const given = this.#stored(update)
      const before = await this.#definitions.get(name)
      if (build && before.build === 'BUILDING') {
        throw repositoryError('indexState', `the index ${name} is being built`)
      }
      const requested = build && (buildArguments ?? defaultBuild ?? before.defaultBuild)
      for (const each of [defaultBuild, requested]) await this.#checkBuild(before.repository, each)
      const plain = Object.entries({ incremental, backend, defaultBuild })
      const changed = await this.#definitions.change(name, version, () => ({
        ...given,
        ...Object.fromEntries(plain.filter(([, value]) => value !== undefined)),
        ...(build ? { build: 'BUILDING', buildArguments } : {}),
      }))
      if (given?.configuration.kind === 'code') {
        this.#configurations.set(name, update.configuration!)
      }
      await this.#stop(name)
      await this.#subscribeFromNow(name, changed.incremental)
      await this.#start(changed)
      return changed
    })
  }

  /**
   * Deletes an index with its documents and stored state. `ERR_INDEX_NOT_FOUND`,
   * `ERR_INVALID_ARGUMENT`.
   */
  async delete(name: string): Promise<void> {
    checkIndexName(name)
    return this.#change(async () => {
      const asked = await this.#definitions.change(name, undefined, () => {
        return { state: 'DELETE_REQUESTED' }
      })
      await this.#drop(asked)
    })
  }

  /**
   * Stops all indexes, after the changes that were asked for before; interrupted builds resume when
   * the indexes are opened again.
   */
  close(): Promise<void> {
    this.#closing ??= this.#order.run(async () => {
      this.#isClosed = true
      this.#stopObserving()
      for (const name of [...this.#running.keys()]) await this.#stop(name)
    })
    return this.#closing
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw repositoryError('closed', 'the indexes are closed')
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    return this.#order.run(() => {
      this.#checkOpen()
      return work()
    })
  }

  /** Checks a configuration and returns its stored form; undefined if none is given. */
  #stored({
    configuration,
    xml,
  }: Pick<SearchIndexInput, 'configuration' | 'xml'>):
    | { readonly configuration: StoredConfiguration; readonly names: StoredNames }
    | undefined {
    if (configuration !== undefined && xml !== undefined) {
      throw invalidArgument('an index has its configuration as an object or as XML, not both')
    }
    let stored: StoredConfiguration | undefined
    if (xml !== undefined) stored = { kind: 'xml', xml }
    else if (configuration === undefined) return undefined
    else if (hasFunction(configuration)) stored = { kind: 'code' }
    else stored = { kind: 'json', json: configuration }
    const names = new BoundNames(this.#manager.types.schema)
    this.#compile(stored, configuration, names)
    return { configuration: stored, names: names.stored }
  }

  /** Compiles a configuration; `code` is one with functions. `ERR_INDEX_CONFIGURATION`. */
  #compile(
    stored: StoredConfiguration,
    code: IndexConfiguration | undefined,
    names: BoundNames,
  ): PreparedConfiguration {
    const { formatters } = this.#settings
    if (stored.kind === 'xml') {
      const { configuration, places } = readXmlConfiguration(stored.xml)
      return new Compiler({ names, formatters, places }).compile(configuration)
    }
    const configuration = stored.kind === 'json' ? stored.json : code
    if (configuration !== undefined) {
      return new Compiler({ names, formatters }).compile(configuration)
    }
    const message = 'the configuration of the index has functions; give it to open'
    throw repositoryError('indexConfiguration', message)
  }

  /** Stores the position from which an index follows writes, unless one is stored already. */
  async #subscribeFromNow(name: string, incremental: IncrementalState): Promise<void> {
    const state = this.#manager.stateOf(subscriptionOf(name))
    if (incremental === 'DO_NOT_SUBSCRIBE') await state.remove()
    else if ((await state.position()) === undefined) {
      await state.setPosition(newest(this.#manager.database))
    }
  }

  /** Checks a filter by the schema: a build that cannot begin would have no end. */
  async #checkBuild(repository: string, build: BuildArguments | false | undefined): Promise<void> {
    const table = this.#manager.repository(repository).table()
    if (build && build.filter !== undefined) await table.scan({ filter: build.filter }).return()
  }

  /** `ERR_UNSUPPORTED` if the backend has no change feed to follow. */
  #checkCapabilities(incremental: IncrementalState): void {
    if (incremental === 'DO_NOT_SUBSCRIBE') return
    const { capabilities } = this.#manager.database
    requireCapability(capabilities, 'changes', 'an index that follows writes')
    requireCapability(capabilities, 'snapshots', 'an index that follows writes')
  }

  /** Starts an index. On failure {@link failures} has the error, and {@link index} throws it. */
  async #start(definition: IndexDefinition): Promise<void> {
    const { name } = definition
    this.#failures.delete(name)
    try {
      await this.#run(definition)
    } catch (error) {
      await this.#stop(name).catch(() => undefined)
      this.#failures.set(name, errorOf(error))
      throw error
    }
  }

  async #run(given: IndexDefinition): Promise<void> {
    const { name } = given
    const names = new BoundNames(this.#manager.types.schema, given.names)
    const code = this.#configurations.get(name)
    const configuration = this.#compile(given.configuration, code, names)
    // The program may provide functions with other names.
    const isSame = JSON.stringify(given.names) === JSON.stringify(names.stored)
    const definition = isSame
      ? given
      : await this.#definitions.change(name, undefined, () => ({ names: names.stored }))
    const backend = await this.#opened(definition)
    const index = new SearchIndex(this.#manager, {
      definition,
      configuration,
      definitions: this.#definitions,
      rows: this.#rowsOf(name),
      backend,
      settings: this.#settings,
    })
    this.#running.set(name, index)
    await index.start()
  }

  async #opened(definition: IndexDefinition): Promise<SearchBackend> {
    const backend = await this.#settings.backend(definition)
    const methods = ['update', 'commit', 'search', 'clear', 'close'] as const
    return checkMethods(backend, `the search server of ${definition.name}`, methods)
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    this.#running.delete(name)
    await running?.close()
  }

  async #drop(definition: IndexDefinition): Promise<void> {
    const { name } = definition
    await this.#stop(name)
    this.#failures.delete(name)
    const backend = await this.#opened(definition)
    await backend.clear()
    await backend.close()
    await this.#rowsOf(name).drop()
    await this.#manager.stateOf(subscriptionOf(name)).remove()
    await this.#definitions.remove(name)
    this.#configurations.delete(name)
  }

  #rowsOf(name: string): IndexRows {
    const { database, settings } = this.#manager
    return new IndexRows(database, indexTableName(settings.tablePrefix, name))
  }

  #tableDropped(repository: string, table: string): Promise<void> {
    return this.#order.run(async () => {
      for (const index of this.running) {
        if (index.repository === repository) await index.removeTable(table)
      }
    })
  }

  #repositoryDeleted(repository: string): Promise<void> {
    return this.#order.run(async () => {
      if (this.#isClosed) return
      for (const name of await this.#definitions.names()) {
        const definition = await this.#definitions.get(name).catch((error: unknown) => {
          this.#failures.set(name, errorOf(error))
        })
        if (definition?.repository === repository) await this.#drop(definition)
      }
    })
  }
}

function hasFunction(value: unknown): boolean {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(hasFunction)
}
