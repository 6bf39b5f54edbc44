/**
 * The indexes of the records of a repository manager: defined by name, stored, and running from the
 * time they are opened until they are closed.
 */
import { OptionNames, requireCapability, shown } from '../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { RepositoryManager } from '../repository-manager.js'
import { defaultRepository } from '../repository-rows.js'
import type { RecordTable } from '../records/record-table.js'
import { RecordId } from '../record-id.js'
import type { SearchBackend } from '../search/search-backend.js'
import type { Blob } from '../values/blob-value.js'
import { BoundNames, type StoredNames } from './definition/bound-names.js'
import { compileConfiguration, type PreparedConfiguration } from './definition/compile.js'
import { placesByPath } from './definition/configuration-error.js'
import type { Formatter, IndexConfiguration } from './definition/configuration.js'
import { readXmlConfiguration } from './definition/xml-configuration.js'
import type { ContentExtractor } from './documents/content-extraction.js'
import {
  IndexDefinitions,
  indexNotFound,
  indexState,
  type BuildArguments,
  type IncrementalState,
  type IndexDefinition,
  type StoredConfiguration,
} from './index-definition.js'
import { IndexRows } from './index-rows.js'
import { SearchIndex } from './search-index.js'

/** Options of `SearchIndexes.open`. */
export interface SearchIndexesOptions {
  /** Opens the search server of an index. It is closed with the indexes. */
  readonly backend: (definition: IndexDefinition) => SearchBackend | Promise<SearchBackend>
  /** Configurations with functions, by the name of the index. */
  readonly configurations?: Readonly<Record<string, IndexConfiguration>> | undefined
  /** Formatters that configurations name, beside the built-in ones. */
  readonly formatters?: Readonly<Record<string, Formatter>> | undefined
  /** Extracts the text of blobs; default none, so that such fields are left out. */
  readonly extract?: ContentExtractor | undefined
  /** Told of blobs whose text could not be had. Default: they are counted only. */
  readonly onExtractionFailure?: ((index: string, blob: Blob, error: unknown) => void) | undefined
  /** Events handled, and ranges of a build read, side by side. Default 4. */
  readonly lanes?: number | undefined
  /** Milliseconds before the first retry; each later one waits twice as long. Default 100. */
  readonly retryMilliseconds?: number | undefined
  /**
   * Milliseconds after which changes become visible to searches by themselves; 0 = only by
   * `waitFor`. Default 200.
   */
  readonly commitMilliseconds?: number | undefined
  /**
   * Milliseconds that a document waits for the texts of its blobs. Then it is indexed without them,
   * and again when they are there. Default 1,000.
   */
  readonly textMilliseconds?: number | undefined
}

/** What an index is created from. */
export interface SearchIndexInput {
  /** Letters, digits, `_`, `-` and `.`; at most 80. */
  readonly name: string
  /** Default 'default'. */
  readonly repository?: string | undefined
  /** One of the two is given. */
  readonly configuration?: IndexConfiguration | undefined
  /** The configuration as XML; needs the package `saxes`. */
  readonly xml?: string | undefined
  /** Default 'SUBSCRIBE_AND_CONSUME'. */
  readonly incremental?: IncrementalState | undefined
  /** Plain JSON for the function that opens the search server. */
  readonly backend?: unknown
  /** Arguments of builds that are given none. */
  readonly defaultBuild?: BuildArguments | undefined
  /** Whether the records that exist are indexed at once. Default false. */
  readonly build?: boolean | undefined
}

/** A change of an index; what is absent stays. */
export interface SearchIndexUpdate {
  /** The version of the definition that the change was made from. */
  readonly version?: number | undefined
  /** A new configuration; documents change with a build. Not together with `xml`. */
  readonly configuration?: IndexConfiguration | undefined
  /** A new configuration as XML. Not together with `configuration`. */
  readonly xml?: string | undefined
  /** Whether documents follow the writes of records. */
  readonly incremental?: IncrementalState | undefined
  /** Plain JSON for the function that opens the search server. */
  readonly backend?: unknown
  /** Arguments of builds that are given none. */
  readonly defaultBuild?: BuildArguments | undefined
  /** Requests a build. */
  readonly build?: boolean | undefined
  /** Arguments of the build that is requested, for this once. */
  readonly buildArguments?: BuildArguments | undefined
}

const optionNames = new OptionNames<SearchIndexesOptions>('the indexes', {
  backend: true,
  configurations: true,
  formatters: true,
  extract: true,
  onExtractionFailure: true,
  lanes: true,
  retryMilliseconds: true,
  commitMilliseconds: true,
  textMilliseconds: true,
})
const inputNames = new OptionNames<SearchIndexInput>('an index', {
  name: true,
  repository: true,
  configuration: true,
  xml: true,
  incremental: true,
  backend: true,
  defaultBuild: true,
  build: true,
})
const updateNames = new OptionNames<SearchIndexUpdate>('an update of an index', {
  version: true,
  configuration: true,
  xml: true,
  incremental: true,
  backend: true,
  defaultBuild: true,
  build: true,
  buildArguments: true,
})
const buildNames = new OptionNames<BuildArguments>('a build of an index', {
  clear: true,
  tables: true,
  startId: true,
  stopId: true,
  filter: true,
})
const incrementalStates: readonly string[] = [
  'SUBSCRIBE_AND_CONSUME',
  'SUBSCRIBE_DO_NOT_CONSUME',
  'DO_NOT_SUBSCRIBE',
]

interface Running {
  readonly index: SearchIndex
  readonly backend: SearchBackend
}

/** The indexes of one repository manager. */
export class SearchIndexes {
  readonly #manager: RepositoryManager
  readonly #options: SearchIndexesOptions
  readonly #definitions: IndexDefinitions
  readonly #running = new Map<string, Running>()
  /** Why an index does not run. */
  readonly #failures = new Map<string, Error>()
  readonly #configurations = new Map<string, IndexConfiguration>()
  readonly #stopObserving: () => void
  /** Changes of definitions, one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  private constructor(manager: RepositoryManager, options: SearchIndexesOptions) {
    const { database, tablePrefix } = manager.parts
    this.#manager = manager
    this.#options = options
    this.#definitions = new IndexDefinitions(database, `${tablePrefix}.indexes`)
    for (const [name, configuration] of Object.entries(options.configurations ?? {})) {
      this.#configurations.set(name, configuration)
    }
    this.#stopObserving = manager.observeDrops({
      tableDropped: (repository, table) => this.#tableDropped(repository, table),
      repositoryDeleted: (repository) => this.#repositoryDeleted(repository),
    })
  }

  /**
   * Opens the indexes: those that are active run, and deletions and builds that were broken off go
   * on. An index that cannot run does not hinder the others; {@link index} throws its error.
   * `ERR_INVALID_ARGUMENT`.
   */
  static async open(
    manager: RepositoryManager,
    options: SearchIndexesOptions,
  ): Promise<SearchIndexes> {
    optionNames.check(options)
    if (typeof options.backend !== 'function') {
      throw invalidArgument('the indexes need a function that opens the search server')
    }
    const { lanes, retryMilliseconds, commitMilliseconds, textMilliseconds } = options
    const numbers = { lanes, retryMilliseconds, commitMilliseconds, textMilliseconds }
    for (const [name, value] of Object.entries(numbers)) {
      if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue
      throw invalidArgument(`${name} must be a whole number, 0 or more, got ${shown(value)}`)
    }
    const indexes = new SearchIndexes(manager, options)
    await indexes.#definitions.create()
    for (const definition of await indexes.#definitions.list()) {
      const isGone = !manager.listRepositories().includes(definition.repository)
      const isDropped = definition.state === 'DELETE_REQUESTED' || isGone
      try {
        await (isDropped ? indexes.#drop(definition) : indexes.#start(definition))
      } catch (error) {
        // One search server that is away does not hinder the others.
        indexes.#failures.set(definition.name, errorOf(error))
      }
    }
    return indexes
  }

  /** Definitions by name. */
  async list(): Promise<IndexDefinition[]> {
    this.#checkOpen()
    return this.#definitions.list()
  }

  /** `ERR_INDEX_NOT_FOUND`. */
  async get(name: string): Promise<IndexDefinition> {
    this.#checkOpen()
    return this.#definitions.get(name)
  }

  /** A running index. `ERR_INDEX_NOT_FOUND`, or the error by which it does not run. */
  index(name: string): SearchIndex {
    this.#checkOpen()
    const running = this.#running.get(name)
    if (running !== undefined) return running.index
    throw this.#failures.get(name) ?? indexNotFound(name)
  }

  /** The indexes that run, by name. */
  get running(): readonly SearchIndex[] {
    const indexes = [...this.#running.values()].map(({ index }) => index)
    return indexes.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Why indexes do not run, by name. */
  get failures(): ReadonlyMap<string, Error> {
    return this.#failures
  }

  /**
   * Creates an index, which runs from now on. `ERR_INDEX_EXISTS`, `ERR_INDEX_CONFIGURATION`,
   * `ERR_REPOSITORY_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  create(given: SearchIndexInput): Promise<SearchIndex> {
    const input = copyOf(given)
    return this.#change(async () => {
      inputNames.check(input)
      const { name, repository = defaultRepository, backend = null, build = false } = input
      const { incremental = 'SUBSCRIBE_AND_CONSUME', defaultBuild = {} } = input
      if (typeof name !== 'string' || !/^[A-Za-z0-9][\w.-]{0,79}$/.test(name)) {
        throw invalidArgument(`an index cannot have the name ${shown(name)}`)
      }
      this.#manager.repository(repository)
      checkIncremental(incremental)
      this.#checkCapabilities(incremental)
      checkBuild(defaultBuild)
      checkFlag(build)
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
   * Changes an index and runs it anew. A new configuration counts for records that are written from
   * now on; for the others request a build. `ERR_INDEX_NOT_FOUND`, `ERR_INDEX_STATE` if the
   * definition has another `version` or a build is under way, `ERR_INDEX_CONFIGURATION`,
   * `ERR_INVALID_ARGUMENT`.
   */
  update(name: string, changes: SearchIndexUpdate): Promise<IndexDefinition> {
    const update = copyOf(changes)
    return this.#change(async () => {
      updateNames.check(update)
      const { version, incremental, backend, defaultBuild, build = false, buildArguments } = update
      if (incremental !== undefined) {
        checkIncremental(incremental)
        this.#checkCapabilities(incremental)
      }
      if (defaultBuild !== undefined) checkBuild(defaultBuild)
      checkFlag(build)
      if (buildArguments !== undefined) {
        if (!build) throw invalidArgument('buildArguments are for a build that is requested')
        checkBuild(buildArguments)
      }
      const given = this.#stored(update)
      const before = await this.#definitions.get(name)
      if (build && before.build === 'BUILDING') throw indexState(`the index ${name} is being built`)
      const changed = await this.#definitions.change(name, version, (definition) => ({
        ...given,
        ...(incremental === undefined ? {} : { incremental }),
        ...(backend === undefined ? {} : { backend }),
        ...(defaultBuild === undefined ? {} : { defaultBuild }),
        ...(build ? { build: 'BUILDING', buildArguments } : {}),
        state: definition.state,
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

  /** Deletes an index with its documents and all that is stored of it. `ERR_INDEX_NOT_FOUND`. */
  delete(name: string): Promise<void> {
    return this.#change(async () => {
      const asked = await this.#definitions.change(name, undefined, () => {
        return { state: 'DELETE_REQUESTED' }
      })
      await this.#drop(asked)
    })
  }

  /** Lets go; builds are broken off, and go on when the indexes are opened again. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#last.catch(() => undefined)
    this.#isClosed = true
    this.#stopObserving()
    for (const name of [...this.#running.keys()]) await this.#stop(name)
  }

  #checkOpen(): void {
    if (!this.#isClosed) return
    throw new RepositoryError(RepositoryErrorCode.closed, 'the indexes are closed')
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    const changed = this.#last.then(() => {
      this.#checkOpen()
      return work()
    })
    this.#last = changed.catch(() => undefined)
    return changed
  }

  /** The stored form of a configuration, which is checked; undefined if none is given. */
  #stored({
    configuration,
    xml,
  }: Pick<SearchIndexInput, 'configuration' | 'xml'>):
    { readonly configuration: StoredConfiguration; readonly names: StoredNames } | undefined {
    if (configuration !== undefined && xml !== undefined) {
      throw invalidArgument('an index has its configuration as an object or as XML, not both')
    }
    const names = new BoundNames(this.#manager.types.schema)
    if (xml !== undefined) {
      this.#compile({ kind: 'xml', xml }, undefined, names)
      return { configuration: { kind: 'xml', xml }, names: names.stored }
    }
    if (configuration === undefined) return undefined
    const stored: StoredConfiguration = hasFunction(configuration)
      ? { kind: 'code' }
      : { kind: 'json', json: configuration }
    this.#compile(stored, configuration, names)
    return { configuration: stored, names: names.stored }
  }

  /** `ERR_INDEX_CONFIGURATION`. */
  #compile(
    stored: StoredConfiguration,
    given: IndexConfiguration | undefined,
    names: BoundNames,
  ): PreparedConfiguration {
    const { formatters } = this.#options
    if (stored.kind === 'xml') {
      const { configuration, places } = readXmlConfiguration(stored.xml)
      return compileConfiguration(configuration, { names, formatters, places })
    }
    const configuration = stored.kind === 'json' ? stored.json : given
    if (configuration === undefined) {
      const message = 'the configuration of the index has functions; give it to open'
      throw new RepositoryError(RepositoryErrorCode.indexConfiguration, message)
    }
    return compileConfiguration(configuration, { names, formatters, places: placesByPath })
  }

  /** Notes where an index begins to follow, unless that is noted already. */
  async #subscribeFromNow(name: string, incremental: IncrementalState): Promise<void> {
    const state = this.#manager.parts.stateOf(subscriptionOf(name))
    if (incremental === 'DO_NOT_SUBSCRIBE') await state.remove()
    else if ((await state.position()) === undefined) await state.setPosition(this.#newest())
  }

  /** `ERR_UNSUPPORTED` if the backend cannot tell an index of writes. */
  #checkCapabilities(incremental: IncrementalState): void {
    if (incremental === 'DO_NOT_SUBSCRIBE') return
    const { capabilities } = this.#manager.parts.database
    requireCapability(capabilities, 'changes', 'an index that follows writes')
    requireCapability(capabilities, 'snapshots', 'an index that follows writes')
  }

  #newest(): number {
    const snapshot = this.#manager.parts.database.snapshot()
    const { sequence } = snapshot
    snapshot.close()
    return sequence
  }

  /** Runs an index. One that cannot run says so by {@link failures}, and {@link index} throws. */
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
    const { name, repository } = given
    const names = new BoundNames(this.#manager.types.schema, given.names)
    const code = this.#configurations.get(name)
    const configuration = this.#compile(given.configuration, code, names)
    const definition = await this.#withNames(given, names.stored)
    const backend = await this.#options.backend(definition)
    const manager = this.#manager
    const { clock } = manager.parts
    const { lanes = 4, retryMilliseconds = 100, commitMilliseconds = 200 } = this.#options
    const { extract, onExtractionFailure, textMilliseconds = 1000 } = this.#options
    const findTable = (table: string): RecordTable | undefined => {
      return manager.findTable(repository, table)
    }
    const index = new SearchIndex({
      definition,
      configuration,
      definitions: this.#definitions,
      rows: this.#rowsOf(name),
      backend,
      schema: manager.types.schema,
      clock,
      findTable,
      tables: () => manager.tablesOf(repository).flatMap((table) => findTable(table) ?? []),
      readBlob: (blob) => manager.blobs.read(blob),
      extract,
      lanes,
      retryMilliseconds,
      commitMilliseconds,
      textMilliseconds,
      subscribe: (handler, options) => {
        return manager.subscribe(subscriptionOf(name), handler, options)
      },
      newest: () => this.#newest(),
      onExtractionFailure,
    })
    this.#running.set(name, { index, backend })
    await index.start()
  }

  /** The definition with its names: a program may give other functions with other names. */
  async #withNames(definition: IndexDefinition, names: StoredNames): Promise<IndexDefinition> {
    if (JSON.stringify(definition.names) === JSON.stringify(names)) return definition
    return this.#definitions.change(definition.name, undefined, () => ({ names }))
  }

  async #stop(name: string): Promise<void> {
    const running = this.#running.get(name)
    this.#running.delete(name)
    if (running === undefined) return
    await running.index.close()
    await running.backend.close()
  }

  async #drop(definition: IndexDefinition): Promise<void> {
    const { name } = definition
    await this.#stop(name)
    this.#failures.delete(name)
    const backend = await this.#options.backend(definition)
    await backend.clear()
    await backend.close()
    await this.#rowsOf(name).drop()
    await this.#manager.parts.stateOf(subscriptionOf(name)).remove()
    await this.#definitions.remove(name)
    this.#configurations.delete(name)
  }

  #rowsOf(name: string): IndexRows {
    const { database, tablePrefix } = this.#manager.parts
    return new IndexRows(database, `${tablePrefix}.x.${name}`)
  }

  async #tableDropped(repository: string, table: string): Promise<void> {
    for (const definition of await this.#definitions.list()) {
      if (definition.repository !== repository) continue
      await this.#running.get(definition.name)?.index.removeTable(table)
    }
  }

  async #repositoryDeleted(repository: string): Promise<void> {
    for (const definition of await this.#definitions.list()) {
      if (definition.repository === repository) await this.#drop(definition)
    }
  }
}

/** Arguments as of the call, with the functions in them. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null) return value
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  if (!isPlain) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)])) as T
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** Name of the subscription of an index. */
function subscriptionOf(name: string): string {
  return `Indexer_${name}`
}

function hasFunction(value: unknown): boolean {
  if (typeof value === 'function') return true
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(hasFunction)
}

function checkIncremental(state: string): void {
  if (incrementalStates.includes(state)) return
  throw invalidArgument(`incremental: one of ${incrementalStates.join(', ')}, got ${shown(state)}`)
}

function checkFlag(build: unknown): void {
  if (typeof build !== 'boolean') throw invalidArgument('build must be true or false')
}

function checkBuild(args: BuildArguments): void {
  buildNames.check(args)
  const { clear = false, tables, startId, stopId } = args
  checkFlag(clear)
  if (tables !== undefined && !Array.isArray(tables)) {
    throw invalidArgument('tables: the names of record tables')
  }
  for (const id of [startId, stopId]) if (id !== undefined) RecordId.parse(id)
}
