/**
 * Definitions of indexes: the arguments of callers, the stored form, and changes that are
 * conditional on the version. All checks of arguments throw `ERR_INVALID_ARGUMENT`.
 */
import {
  boolean,
  callback,
  checked,
  checkObject,
  choice,
  declareOptions,
  integer,
  list,
  readArguments,
  required,
  shown,
  text,
  timerMillisecondsMax,
  unchecked,
  type Database,
  type OptionsOf,
  type Result,
  type SettingsOf,
  type Table,
  type CellarError,
} from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import { hasMembers, storedJson } from '../stored-cells.js'
import type { StoredNames } from './definition/bound-names.js'
import type { Formatter, IndexConfiguration } from './definition/configuration.js'
import { RecordId } from '../record-id.js'
import type { RecordFilter } from '../records/reads/record-scanner.js'
import { defaultRepository } from '../manager/repository-rows.js'
import type { SearchBackend } from '../../search/search-backend.js'
import type { Blob } from '../values/blob-value.js'
import type { ContentExtractor } from './documents/content-extraction.js'

type OpenBackend = (definition: IndexDefinition) => SearchBackend | Promise<SearchBackend>

type Formatters = Readonly<Record<string, Formatter>>

type Configurations = Readonly<Record<string, IndexConfiguration>>

function readFormatters(given: Formatters, what: string): Formatters {
  const formatters = { ...checkObject(given, what) }
  for (const [name, each] of Object.entries(formatters)) {
    if (typeof each === 'function') continue
    throw invalidArgument(`the formatter ${name} must be a function, got ${shown(each)}`)
  }
  return formatters
}

/** The declaration of {@link SearchIndexesOptions}. */
export const openOptions = declareOptions('the indexes', {
  /** Opens the search server of an index. The server is closed together with the indexes. */
  backend: required(callback<OpenBackend>()),
  /** Configurations with functions, by the name of the index. */
  configurations: checked(
    (given: Configurations, what) => copyOf(checkObject(given, what)),
    {} as Configurations,
  ),
  /** Formatters that configurations may name, in addition to the built-in ones. */
  formatters: checked(readFormatters, {} as Formatters),
  /** Extracts the text of blobs; by default such fields are left out. */
  extract: callback<ContentExtractor>(),
  /**
   * Called for each blob whose text could not be extracted. Default: such blobs are only counted.
   */
  onExtractionFailure: callback<(index: string, blob: Blob, error: unknown) => void>(),
  /** Number of events handled, and of build ranges read, side by side. Default 4. */
  lanes: integer({ min: 0, default: 4 }),
  /** Milliseconds before the first retry; the delay doubles with each retry. Default 100. */
  retryMilliseconds: integer({ min: 0, default: 100 }),
  /**
   * Milliseconds between a change and its automatic commit; 0: only `waitFor` commits. Default 200.
   */
  commitMilliseconds: integer({ min: 0, max: timerMillisecondsMax, default: 200 }),
  /**
   * Milliseconds that a document waits for the texts of its blobs. After that the document is
   * indexed without the missing texts, and again once they are extracted. Default 1,000.
   */
  textMilliseconds: integer({ min: 0, max: timerMillisecondsMax, default: 1000 }),
})

/** Options of `SearchIndexes.open`. */
export interface SearchIndexesOptions extends OptionsOf<typeof openOptions> {}

/** The options with their defaults. */
export type SearchIndexesSettings = SettingsOf<typeof openOptions>

const incrementalStates = [
  /** Documents are updated by writes. */
  'SUBSCRIBE_AND_CONSUME',
  /** Writes are queued, and indexed when the state changes back. */
  'SUBSCRIBE_DO_NOT_CONSUME',
  /** Writes are not recorded for the index, which needs a build afterwards. */
  'DO_NOT_SUBSCRIBE',
] as const

/** Whether an index follows the writes of records. */
export type IncrementalState = (typeof incrementalStates)[number]

const buildOptions = declareOptions('a build of an index', {
  /** Whether all documents are removed first. Default false. */
  clear: boolean(false),
  /** Record tables; default all of the repository. */
  tables: list(text('')),
  /** Text of the first id, inclusive. */
  startId: checked(checkId),
  /** Text of the last id, exclusive. */
  stopId: checked(checkId),
  /** Records that are indexed; default all. */
  filter: unchecked<RecordFilter>(),
})

function checkId(id: string): string {
  RecordId.parse(id)
  return id
}

/** Checks the arguments of a build, which stay as they are: they are stored. */
function checkBuild(args: BuildArguments): BuildArguments {
  buildOptions.read(args)
  return args
}

/** Of a new index, and of its changes. */
const content = {
  /** An index has either a `configuration` or `xml`. */
  configuration: unchecked<IndexConfiguration>(),
  /** The configuration as XML; needs the package `saxes`. */
  xml: unchecked<string>(),
  /** Plain JSON for the function that opens the search server. */
  backend: unchecked<unknown>(),
}

const inputOptions = declareOptions('an index', {
  /** Letters, digits, `_`, `-` and `.`; at most 80 characters. */
  name: required(checked(checkIndexName)),
  /** Default 'default'. */
  repository: text(defaultRepository),
  ...content,
  /** Default 'SUBSCRIBE_AND_CONSUME'. */
  incremental: choice<IncrementalState>(incrementalStates, 'SUBSCRIBE_AND_CONSUME'),
  /** Arguments of builds that are requested without arguments. */
  defaultBuild: checked(checkBuild, {} as BuildArguments),
  /** Whether existing records are indexed at once. Default false. */
  build: boolean(false),
})

/** Arguments for the creation of an index. */
export interface SearchIndexInput extends OptionsOf<typeof inputOptions> {}

const updateOptions = declareOptions('an update of an index', {
  /** The version of the definition that the change is based on. */
  version: integer({ min: 0, default: undefined }),
  // Existing documents get a new configuration with a build.
  ...content,
  /** Whether documents follow the writes of records. */
  incremental: choice<IncrementalState, undefined>(incrementalStates, undefined),
  /** Arguments of builds that are requested without arguments. */
  defaultBuild: checked(checkBuild),
  /** Requests a build. */
  build: boolean(false),
  /** Arguments of the requested build only. */
  buildArguments: checked(checkBuild),
})

/** A change of an index; absent properties stay unchanged. */
export interface SearchIndexUpdate extends OptionsOf<typeof updateOptions> {}

const levelsMax = 100

/**
 * Copies arguments deeply: JSON, and functions. `ERR_INVALID_ARGUMENT` for any other value, because
 * a definition is stored.
 */
function copyOf<T>(value: T, levels = levelsMax): T {
  if (typeof value === 'function' || value === undefined || value === null) return value
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw noJson(value)
  if (levels === 0) throw invalidArgument(`arguments of an index have ${levelsMax} levels at most`)
  // Also rejects arrays with holes, which JSON cannot represent.
  if (Array.isArray(value))
    return Array.from(value, (each) => copyOf<unknown>(each, levels - 1)) as T
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw noJson(value)
  const members = Object.entries(value)
  return Object.fromEntries(members.map(([name, each]) => [name, copyOf(each, levels - 1)])) as T
}

function noJson(value: unknown): Error {
  return invalidArgument(`arguments of an index are plain JSON and functions, got ${shown(value)}`)
}

/** Checks and copies the arguments of a creation. */
export function indexInput(given: SearchIndexInput): SettingsOf<typeof inputOptions> {
  return inputOptions.read(readArguments(() => copyOf(given)))
}

/** Checks and copies a change of an index. */
export function indexUpdate(given: SearchIndexUpdate): SettingsOf<typeof updateOptions> {
  return updateOptions.read(readArguments(() => copyOf(given)))
}

/** Checks the name of an index. */
export function checkIndexName(name: string): string {
  if (typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,79}$/.test(name)) return name
  throw invalidArgument(`an index cannot have the name ${shown(name)}`)
}

/**
 * Which records a build indexes, and whether the existing documents are removed first. Plain JSON.
 */
export interface BuildArguments extends OptionsOf<typeof buildOptions> {}

/** The outcome of a build. */
export interface BuildReport {
  /** When the build started, in milliseconds since the Unix epoch. */
  readonly started: number
  /** When the build ended, in milliseconds since the Unix epoch. */
  readonly ended: number
  /** The arguments of the build. */
  readonly arguments: BuildArguments
  /** Number of records that were read. */
  readonly records: number
  /** Records whose documents could not be built; they are among the refused documents. */
  readonly failed: number
}

/**
 * The stored form of the configuration of an index. A configuration with functions, `code`, is not
 * stored: the program provides it at each opening of the indexes.
 */
export type StoredConfiguration =
  | {
      /** Stored as it was given, without functions. */
      readonly kind: 'json'
      /** The configuration. */
      readonly json: IndexConfiguration
    }
  | {
      /** Stored as it was given, as text. */
      readonly kind: 'xml'
      /** The text. */
      readonly xml: string
    }
  | {
      /** Not stored. */
      readonly kind: 'code'
    }

/** The definition of an index. */
export interface IndexDefinition {
  /** Unique in the repository manager. */
  readonly name: string
  /** Increases with every change of the definition, including those by a build. */
  readonly version: number
  /** Name of the repository whose records are indexed. */
  readonly repository: string
  /** `DELETE_REQUESTED` until the documents and rows of the index are gone. */
  readonly state: 'ACTIVE' | 'DELETE_REQUESTED'
  /** Whether documents follow the writes of records. */
  readonly incremental: IncrementalState
  /** `BUILDING` from the request to the end of a build. */
  readonly build: 'INACTIVE' | 'BUILDING'
  /** Which records become documents, and with which fields. */
  readonly configuration: StoredConfiguration
  /** Ids of the types that the configuration names, resolved when the configuration was given. */
  readonly names?: StoredNames | undefined
  /** Settings for the program's function that opens the search server. Plain JSON. */
  readonly backend: unknown
  /** Arguments of builds that are requested without arguments. */
  readonly defaultBuild: BuildArguments
  /** Arguments of the build in progress; undefined: the default ones. */
  readonly buildArguments?: BuildArguments | undefined
  /** The outcome of the last finished build; absent before the first. */
  readonly lastBuild?: BuildReport | undefined
}

/** Makes an `ERR_INDEX_NOT_FOUND`. */
export function indexNotFound(name: string): CellarError {
  return repositoryError('indexNotFound', `there is no index ${name}`)
}

/** The name of the subscription of an index. */
export function subscriptionOf(name: string): string {
  return `Indexer_${name}`
}

const family = 'd'
const definitionColumn = `${family}:d`
const progressColumn = `${family}:b`

/** The table of the definitions. */
export class IndexDefinitions {
  readonly #database: Database
  readonly #name: string

  constructor(database: Database, name: string) {
    this.#database = database
    this.#name = name
  }

  async create(): Promise<void> {
    const families = { [family]: { newVersionBehavior: true } }
    await this.#database.admin.ensureTable(this.#name, { families })
  }

  /** All definitions, by name. `ERR_CORRUPTION`. */
  async list(): Promise<IndexDefinition[]> {
    const rows = await this.#table.scan({ columns: [definitionColumn] }).all()
    return rows.map(definitionIn)
  }

  /** The names of all indexes, also of those whose definitions are damaged. */
  async names(): Promise<string[]> {
    const rows = await this.#table.scan({ columns: [definitionColumn] }).all()
    return rows.map(({ row }) => row!.toString('utf8'))
  }

  /** The definition of a name. `ERR_INDEX_NOT_FOUND`, `ERR_CORRUPTION`. */
  async get(name: string): Promise<IndexDefinition> {
    return (await this.#read(name)).definition
  }

  /** Adds a definition. `ERR_INDEX_EXISTS`. */
  async add(definition: IndexDefinition): Promise<void> {
    if (await this.#put(definition, null)) return
    throw repositoryError('indexExists', `there is an index ${definition.name} already`)
  }

  /**
   * Changes a definition. `ERR_INDEX_NOT_FOUND`; `ERR_INDEX_STATE` if the version is no longer
   * `version`.
   */
  async change(
    name: string,
    version: number | undefined,
    change: (before: IndexDefinition) => Partial<IndexDefinition>,
  ): Promise<IndexDefinition> {
    for (;;) {
      const { bytes, definition } = await this.#read(name)
      if (version !== undefined && definition.version !== version) {
        const message = `the index ${name} has the version ${definition.version}, not ${version}`
        throw repositoryError('indexState', message)
      }
      const changed = { ...definition, ...change(definition), version: definition.version + 1 }
      if (await this.#put(changed, bytes)) return changed
    }
  }

  /** The checkpoint of a build; undefined if none is stored. */
  async progress(name: string): Promise<unknown> {
    const row = await this.#table.get({ row: name, columns: [progressColumn] })
    return storedJson(row, progressColumn, `the progress of a build of ${name}`, isProgress)
  }

  async setProgress(name: string, progress: unknown): Promise<void> {
    if (progress === undefined) {
      const columns = [{ family, qualifier: 'b', timestamp: 1 }]
      await this.#table.delete({ row: name, columns })
      return
    }
    const cells = { [progressColumn]: JSON.stringify(progress) }
    await this.#table.put({ row: name, cells, timestamp: 1 })
  }

  async remove(name: string): Promise<void> {
    await this.#table.delete({ row: name, families: [{ family, timestamp: 1 }] })
  }

  get #table(): Table {
    return this.#database.table(this.#name)
  }

  async #read(
    name: string,
  ): Promise<{ readonly bytes: Buffer; readonly definition: IndexDefinition }> {
    const row = await this.#table.get({ row: name, columns: [definitionColumn] })
    const bytes = row.value(definitionColumn)
    if (bytes === undefined) throw indexNotFound(name)
    return { bytes, definition: definitionIn(row) }
  }

  /** Stores a definition in place of the one with these bytes; false if that is stored no more. */
  async #put(definition: IndexDefinition, equals: Buffer | null): Promise<boolean> {
    const check = { row: definition.name, column: definitionColumn, equals }
    const put = { cells: { [definitionColumn]: JSON.stringify(definition) }, timestamp: 1 }
    return (await this.#table.checkAndMutate(check, { put })).success
  }
}

function definitionIn(row: Result): IndexDefinition {
  return storedJson(row, definitionColumn, 'the definition of an index', isDefinition)!
}

function isDefinition(value: unknown): value is IndexDefinition {
  const texts = { name: 'string', repository: 'string', state: 'string', incremental: 'string' }
  const members = { version: 'number', build: 'string', configuration: 'object' }
  return hasMembers(value, { ...texts, ...members, defaultBuild: 'object' })
}

function isProgress(value: unknown): value is object {
  const numbers = { started: 'number', records: 'number', failed: 'number' }
  if (!hasMembers(value, { ...numbers, arguments: 'object', ranges: 'array' })) return false
  const { ranges } = value as { readonly ranges: readonly unknown[] }
  return ranges.every((range) => hasMembers(range, { table: 'string' }))
}
