/** Definitions of indexes: what is stored of each, and changes that check the version before. */
import type { AtomicMutation, Database } from '../../../api/index.js'
import { RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { RecordFilter } from '../records/reads/record-filters.js'
import type { StoredNames } from './definition/bound-names.js'
import type { IndexConfiguration } from './definition/configuration.js'

/** Whether an index follows the writes of records. */
export type IncrementalState =
  /** Documents follow. */
  | 'SUBSCRIBE_AND_CONSUME'
  /** Documents stay; what is written meanwhile is indexed when the state changes back. */
  | 'SUBSCRIBE_DO_NOT_CONSUME'
  /** What is written meanwhile is not known to the index: it needs a build afterwards. */
  | 'DO_NOT_SUBSCRIBE'

/** Which records a build indexes, and what becomes of the documents before. Plain JSON. */
export interface BuildArguments {
  /** Whether all documents are removed first. Default false. */
  readonly clear?: boolean | undefined
  /** Record tables; default all of the repository. */
  readonly tables?: readonly string[] | undefined
  /** Text of the first id, and of the id to stop before. */
  readonly startId?: string | undefined
  /** Text of the id to stop before. */
  readonly stopId?: string | undefined
  /** Records that are indexed; default all. */
  readonly filter?: RecordFilter | undefined
}

/** What a build has done. */
export interface BuildReport {
  /** Milliseconds. */
  readonly started: number
  /** When the build ended, in milliseconds since the Unix epoch. */
  readonly ended: number
  /** What the build was asked for. */
  readonly arguments: BuildArguments
  /** Records that were looked at. */
  readonly records: number
  /** Records whose documents could not be built; they are among the refused documents. */
  readonly failed: number
}

/** How the configuration of an index is stored. */
export type StoredConfiguration =
  | {
      /** `json` and `xml` are stored, `code` is not. */
      readonly kind: 'json'
      /** The configuration, without functions. */
      readonly json: IndexConfiguration
    }
  | {
      /** `json` and `xml` are stored, `code` is not. */
      readonly kind: 'xml'
      /** The text as it was given. */
      readonly xml: string
    }
  /** It has functions, so the program gives it again whenever the indexes are opened. */
  | {
      /** `json` and `xml` are stored, `code` is not. */
      readonly kind: 'code'
    }

/** The definition of an index. */
export interface IndexDefinition {
  /** Unique in the repository manager. */
  readonly name: string
  /** Grows with every change of the definition, also with those by a build. */
  readonly version: number
  /** Name of the repository whose records are indexed. */
  readonly repository: string
  /** `DELETE_REQUESTED` until the documents and rows of the index are gone. */
  readonly state: 'ACTIVE' | 'DELETE_REQUESTED'
  /** Whether documents follow the writes of records. */
  readonly incremental: IncrementalState
  /** `BUILDING` from the request of a build to its end. */
  readonly build: 'INACTIVE' | 'BUILDING'
  /** Which records become documents, and with which fields. */
  readonly configuration: StoredConfiguration
  /** Ids of the types that the configuration names, as they were when it was given. */
  readonly names?: StoredNames | undefined
  /** Whatever the program's function needs to open the search server. Plain JSON. */
  readonly backend: unknown
  /** Arguments of builds that are given none. */
  readonly defaultBuild: BuildArguments
  /** Arguments of the build under way; undefined = the default ones. */
  readonly buildArguments?: BuildArguments | undefined
  /** What the last finished build did; absent before the first. */
  readonly lastBuild?: BuildReport | undefined
}

/** Makes an `ERR_INDEX_NOT_FOUND`. */
export function indexNotFound(name: string): RepositoryError {
  const message = `there is no index ${name}`
  return new RepositoryError(RepositoryErrorCode.indexNotFound, message)
}

/** Makes an `ERR_INDEX_STATE`. */
export function indexState(message: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.indexState, message)
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

  /** By name. */
  async list(): Promise<IndexDefinition[]> {
    const rows = await this.#table.scan({ columns: [definitionColumn] }).all()
    return rows.map((row) => row.value(definitionColumn, 'json') as IndexDefinition)
  }

  /** `ERR_INDEX_NOT_FOUND`. */
  async get(name: string): Promise<IndexDefinition> {
    return (await this.#read(name)).definition
  }

  /** `ERR_INDEX_EXISTS`. */
  async add(definition: IndexDefinition): Promise<void> {
    const { success } = await this.#database.atomic({
      checks: [{ table: this.#name, row: definition.name, column: definitionColumn, equals: null }],
      mutations: [this.#put(definition)],
    })
    if (success) return
    const message = `there is an index ${definition.name} already`
    throw new RepositoryError(RepositoryErrorCode.indexExists, message)
  }

  /**
   * Changes a definition. `ERR_INDEX_NOT_FOUND`; `ERR_INDEX_STATE` if it is not of `version` any
   * more.
   */
  async change(
    name: string,
    version: number | undefined,
    change: (before: IndexDefinition) => Partial<IndexDefinition>,
  ): Promise<IndexDefinition> {
    for (;;) {
      const { bytes, definition } = await this.#read(name)
      if (version !== undefined && definition.version !== version) {
        throw indexState(`the index ${name} has the version ${definition.version}, not ${version}`)
      }
      const changed = { ...definition, ...change(definition), version: definition.version + 1 }
      const { success } = await this.#database.atomic({
        checks: [{ table: this.#name, row: name, column: definitionColumn, equals: bytes }],
        mutations: [this.#put(changed)],
      })
      if (success) return changed
    }
  }

  /** The checkpoints of a build; undefined if none were stored. */
  async progress(name: string): Promise<unknown> {
    const row = await this.#table.get({ row: name, columns: [progressColumn] })
    return row.value(progressColumn, 'json')
  }

  /** Stores the checkpoints of a build, or forgets them. */
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

  get #table(): ReturnType<Database['table']> {
    return this.#database.table(this.#name)
  }

  async #read(
    name: string,
  ): Promise<{ readonly bytes: Buffer; readonly definition: IndexDefinition }> {
    const row = await this.#table.get({ row: name, columns: [definitionColumn] })
    const bytes = row.value(definitionColumn)
    if (bytes === undefined) throw indexNotFound(name)
    return { bytes, definition: row.value(definitionColumn, 'json') as IndexDefinition }
  }

  #put(definition: IndexDefinition): AtomicMutation {
    const put = { cells: { [definitionColumn]: JSON.stringify(definition) }, timestamp: 1 }
    return { table: this.#name, row: definition.name, mutations: [{ put }] }
  }
}
