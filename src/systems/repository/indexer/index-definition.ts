/** Definitions of indexes: their stored form, and changes that are conditional on the version. */
import type { CellarError, Database, OptionsOf, Result, Table } from '../../../api/index.js'
import { repositoryError } from '../errors.js'
import { hasMembers, storedJson } from '../stored-cells.js'
import type { StoredNames } from './definition/bound-names.js'
import type { IndexConfiguration } from './definition/configuration.js'
import type { buildOptions, IncrementalState } from './index-arguments.js'

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

  /** Stores the checkpoint of a build, or removes it. */
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
