/** Arguments of the indexes of records. All checks throw `ERR_INVALID_ARGUMENT`. */
import {
  callback,
  checkArray,
  checkChoice,
  checked,
  checkObject,
  checkText,
  declareOptions,
  integer,
  OptionNames,
  readArguments,
  shown,
  type Option,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { RecordId } from '../record-id.js'
import type { SearchBackend } from '../search/search-backend.js'
import type { Blob } from '../values/blob-value.js'
import type { Formatter, IndexConfiguration } from './definition/configuration.js'
import type { ContentExtractor } from './documents/content-extraction.js'
import type { BuildArguments, IncrementalState, IndexDefinition } from './index-definition.js'

type OpenBackend = (definition: IndexDefinition) => SearchBackend | Promise<SearchBackend>

type Formatters = Readonly<Record<string, Formatter>>

type Configurations = Readonly<Record<string, IndexConfiguration>>

/** The only option that must be given. */
const backendOption: Option<OpenBackend, OpenBackend> = {
  read(value) {
    if (typeof value === 'function') return value as OpenBackend
    throw invalidArgument('the indexes need a function that opens the search server')
  },
}

function readFormatters(given: Formatters, what: string): Formatters {
  const formatters = { ...checkObject(given, what) }
  for (const [name, each] of Object.entries(formatters)) {
    if (typeof each === 'function') continue
    throw invalidArgument(`the formatter ${name} must be a function, got ${shown(each)}`)
  }
  return formatters
}

const openOptions = declareOptions('the indexes', {
  backend: backendOption,
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
  commitMilliseconds: integer({ min: 0, default: 200 }),
  /**
   * Milliseconds that a document waits for the texts of its blobs. After that the document is
   * indexed without the missing texts, and again once they are extracted. Default 1,000.
   */
  textMilliseconds: integer({ min: 0, default: 1000 }),
})

/** Options of `SearchIndexes.open`. */
export interface SearchIndexesOptions extends OptionsOf<typeof openOptions> {
  /** Opens the search server of an index. The server is closed together with the indexes. */
  readonly backend: OpenBackend
}

/** The options with their defaults. */
export type SearchIndexesSettings = SettingsOf<typeof openOptions>

/** Arguments for the creation of an index. */
export interface SearchIndexInput {
  /** Letters, digits, `_`, `-` and `.`; at most 80 characters. */
  readonly name: string
  /** Default 'default'. */
  readonly repository?: string | undefined
  /** Exactly one of `configuration` and `xml` is given. */
  readonly configuration?: IndexConfiguration | undefined
  /** The configuration as XML; needs the package `saxes`. */
  readonly xml?: string | undefined
  /** Default 'SUBSCRIBE_AND_CONSUME'. */
  readonly incremental?: IncrementalState | undefined
  /** Plain JSON for the function that opens the search server. */
  readonly backend?: unknown
  /** Arguments of builds that are requested without arguments. */
  readonly defaultBuild?: BuildArguments | undefined
  /** Whether existing records are indexed at once. Default false. */
  readonly build?: boolean | undefined
}

/** A change of an index; absent properties stay unchanged. */
export interface SearchIndexUpdate {
  /** The version of the definition that the change is based on. */
  readonly version?: number | undefined
  /** A new configuration; existing documents change with a build. Excludes `xml`. */
  readonly configuration?: IndexConfiguration | undefined
  /** A new configuration as XML. Excludes `configuration`. */
  readonly xml?: string | undefined
  /** Whether documents follow the writes of records. */
  readonly incremental?: IncrementalState | undefined
  /** Plain JSON for the function that opens the search server. */
  readonly backend?: unknown
  /** Arguments of builds that are requested without arguments. */
  readonly defaultBuild?: BuildArguments | undefined
  /** Requests a build. */
  readonly build?: boolean | undefined
  /** Arguments of the requested build only. */
  readonly buildArguments?: BuildArguments | undefined
}

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
const incrementalStates: readonly IncrementalState[] = [
  'SUBSCRIBE_AND_CONSUME',
  'SUBSCRIBE_DO_NOT_CONSUME',
  'DO_NOT_SUBSCRIBE',
]

/** Maximum nesting of objects and lists in arguments. */
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

/** Checks the options of all indexes, and fills in defaults. */
export function indexesSettings(options: SearchIndexesOptions): SearchIndexesSettings {
  return openOptions.read(options)
}

/** Checks and copies the arguments of a creation. */
export function indexInput(given: SearchIndexInput): SearchIndexInput {
  return readArguments(() => inputNames.check(copyOf(given)))
}

/** Checks and copies a change of an index. */
export function indexUpdate(given: SearchIndexUpdate): SearchIndexUpdate {
  return readArguments(() => updateNames.check(copyOf(given)))
}

/** Checks the name of an index. */
export function checkIndexName(name: string): void {
  if (typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,79}$/.test(name)) return
  throw invalidArgument(`an index cannot have the name ${shown(name)}`)
}

/** Checks whether an index follows writes. */
export function checkIncremental(state: unknown): void {
  checkChoice(state, 'incremental', incrementalStates)
}

/** Checks whether a build is requested. */
export function checkFlag(build: unknown): void {
  if (typeof build !== 'boolean') throw invalidArgument('build must be true or false')
}

/** Checks the arguments of a build. */
export function checkBuild(args: BuildArguments): void {
  buildNames.check(args)
  const { clear = false, tables, startId, stopId } = args
  checkFlag(clear)
  if (tables !== undefined) {
    for (const table of checkArray(tables, 'tables')) checkText(table, 'the name of a record table')
  }
  for (const id of [startId, stopId]) if (id !== undefined) RecordId.parse(id)
}
