/** Arguments of the indexes of records. All checks throw `ERR_INVALID_ARGUMENT`. */
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
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { RecordId } from '../record-id.js'
import type { RecordFilter } from '../records/reads/record-filters.js'
import { defaultRepository } from '../manager/repository-rows.js'
import type { SearchBackend } from '../../search/search-backend.js'
import type { Blob } from '../values/blob-value.js'
import type { Formatter, IndexConfiguration } from './definition/configuration.js'
import type { ContentExtractor } from './documents/content-extraction.js'
import type { BuildArguments, IndexDefinition } from './index-definition.js'

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

/** States of an index that follows the writes of records, or does not. */
export const incrementalStates = [
  /** Documents are updated by writes. */
  'SUBSCRIBE_AND_CONSUME',
  /** Writes are queued, and indexed when the state changes back. */
  'SUBSCRIBE_DO_NOT_CONSUME',
  /** Writes are not recorded for the index, which needs a build afterwards. */
  'DO_NOT_SUBSCRIBE',
] as const

/** Whether an index follows the writes of records. */
export type IncrementalState = (typeof incrementalStates)[number]

/** The declaration of {@link BuildArguments}. */
export const buildOptions = declareOptions('a build of an index', {
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
