/** Arguments of the indexes of records. All checks throw `ERR_INVALID_ARGUMENT`. */
import {
  checkArray,
  checkChoice,
  checkFunction,
  checkObject,
  checkText,
  OptionNames,
  readArguments,
  shown,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { RecordId } from '../record-id.js'
import type { SearchBackend } from '../search/search-backend.js'
import type { Blob } from '../values/blob-value.js'
import type { Formatter, IndexConfiguration } from './definition/configuration.js'
import type { ContentExtractor } from './documents/content-extraction.js'
import type { BuildArguments, IncrementalState, IndexDefinition } from './index-definition.js'

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
const incrementalStates: readonly IncrementalState[] = [
  'SUBSCRIBE_AND_CONSUME',
  'SUBSCRIBE_DO_NOT_CONSUME',
  'DO_NOT_SUBSCRIBE',
]

/** Levels of objects and lists in arguments. */
const levelsMax = 100

/**
 * Arguments as of the call: JSON, and the functions in it. `ERR_INVALID_ARGUMENT` for anything
 * else, since a definition is stored.
 */
function copyOf<T>(value: T, levels = levelsMax): T {
  if (typeof value === 'function' || value === undefined || value === null) return value
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw noJson(value)
  if (levels === 0) throw invalidArgument(`arguments of an index have ${levelsMax} levels at most`)
  // Also of arrays with holes, which JSON does not have.
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

/** The options of all indexes. */
export function indexesOptions(options: SearchIndexesOptions): SearchIndexesOptions {
  return readArguments(() => readOptions(options))
}

/** What an index is created from, as of the call. */
export function indexInput(given: SearchIndexInput): SearchIndexInput {
  return readArguments(() => inputNames.check(copyOf(given)))
}

/** A change of an index, as of the call. */
export function indexUpdate(given: SearchIndexUpdate): SearchIndexUpdate {
  return readArguments(() => updateNames.check(copyOf(given)))
}

function readOptions(options: SearchIndexesOptions): SearchIndexesOptions {
  const copy = optionNames.copy(options)
  if (typeof copy.backend !== 'function') {
    throw invalidArgument('the indexes need a function that opens the search server')
  }
  const { lanes, retryMilliseconds, commitMilliseconds, textMilliseconds } = copy
  const numbers = { lanes, retryMilliseconds, commitMilliseconds, textMilliseconds }
  for (const [name, value] of Object.entries(numbers)) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue
    throw invalidArgument(`${name} must be a whole number, 0 or more, got ${shown(value)}`)
  }
  checkFunction(copy.extract, 'extract')
  checkFunction(copy.onExtractionFailure, 'onExtractionFailure')
  const formatters = { ...checkObject(copy.formatters ?? {}, 'formatters') }
  for (const [name, each] of Object.entries(formatters)) checkFormatter(each, name)
  const configurations = copyOf(checkObject(copy.configurations ?? {}, 'configurations'))
  return { ...copy, formatters, configurations }
}

function checkFormatter(formatter: unknown, name: string): void {
  if (typeof formatter === 'function') return
  throw invalidArgument(`the formatter ${name} must be a function, got ${shown(formatter)}`)
}

/** The name of an index. */
export function checkIndexName(name: string): void {
  if (typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,79}$/.test(name)) return
  throw invalidArgument(`an index cannot have the name ${shown(name)}`)
}

/** Whether an index follows writes. */
export function checkIncremental(state: unknown): void {
  checkChoice(state, 'incremental', incrementalStates)
}

/** Whether a build is wanted. */
export function checkFlag(build: unknown): void {
  if (typeof build !== 'boolean') throw invalidArgument('build must be true or false')
}

/** The arguments of a build. */
export function checkBuild(args: BuildArguments): void {
  buildNames.check(args)
  const { clear = false, tables, startId, stopId } = args
  checkFlag(clear)
  if (tables !== undefined) {
    for (const table of checkArray(tables, 'tables')) checkText(table, 'the name of a record table')
  }
  for (const id of [startId, stopId]) if (id !== undefined) RecordId.parse(id)
}
