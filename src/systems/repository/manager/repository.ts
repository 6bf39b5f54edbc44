/**
 * One repository: its record tables by name. All repositories share one schema. `populate` adds the
 * targets of links, and the targets of those, in few reads.
 */
import { checkArray, checkObject, readArguments, shown } from '../../../api/index.js'
import { writeBatch, type BatchResult, type BatchWrite } from '../records/writes/record-writer.js'
import type { RecordTable } from '../tables/record-table.js'
import type { StoredRecord } from '../records/record.js'
import { checkTableName, defaultTable } from './repository-rows.js'
import type { RepositoryCatalog } from './repository-catalog.js'
import { invalidArgument } from '../errors.js'
import type { Link } from '../link.js'
import { RecordId } from '../record-id.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { eachLink } from '../links/link-index.js'

/** One write of a batch over several tables. */
export type RepositoryWrite = BatchWrite & {
  /** Name of the record table. Default 'record'. */
  readonly table?: string | undefined
}

/** A repository; made by `RepositoryManager.repository`. */
export class Repository {
  /** Unique in the repository manager. */
  readonly name: string
  readonly #catalog: RepositoryCatalog

  /** @internal */
  constructor(catalog: RepositoryCatalog, name: string) {
    this.#catalog = catalog
    this.name = name
  }

  /** A record table; default 'record'. `ERR_RECORD_TABLE_NOT_FOUND`. */
  table(name: string = defaultTable): RecordTable {
    return this.#catalog.getTable(this.name, name)
  }

  /**
   * Records with the targets of their links. The first field of a path belongs to the given
   * records, each next field to the records before. Each step reads each table once.
   * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT` for paths that are too long or lead to more
   * than 100,000 records.
   */
  populate(
    records: readonly StoredRecord[],
    paths: readonly LinkPath[],
  ): Promise<PopulatedRecord[]> {
    const { schema } = this.#catalog.types
    return populate(records, paths, schema, (name) => this.#catalog.findTable(this.name, name))
  }

  /**
   * Writes several different records of one or more tables, all or none. Results are by position.
   * If one write is a `CONFLICT`, nothing is written, and the other changes are `NOT_WRITTEN`.
   * Errors of the single writes, `ERR_RECORD_TABLE_NOT_FOUND`.
   */
  async batch(writes: readonly RepositoryWrite[]): Promise<BatchResult[]> {
    const parts = readArguments(() => {
      return checkArray(writes, 'the writes of a batch').map((each) => {
        const { table, ...write } = checkObject(each, 'a write of a batch')
        return { context: this.table(table).context, write }
      })
    })
    return writeBatch(parts)
  }

  /** Names of the record tables, sorted. */
  listTables(): string[] {
    return this.#catalog.tablesOf(this.name)
  }

  /**
   * Whether a record table of this name exists. `ERR_INVALID_ARGUMENT` for a name that no table can
   * have.
   */
  tableExists(name: string): boolean {
    checkTableName(name)
    return this.#catalog.findTable(this.name, name) !== undefined
  }

  /** Creates a record table. `ERR_RECORD_TABLE_EXISTS`, `ERR_INVALID_ARGUMENT`. */
  createTable(name: string): Promise<RecordTable> {
    return this.#catalog.createTable(this.name, name)
  }

  /**
   * Drops a record table with its records, their unique values and their blobs. The table `record`
   * stays. `ERR_RECORD_TABLE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`.
   */
  dropTable(name: string): Promise<void> {
    return this.#catalog.dropTable(this.name, name)
  }
}

/** A record, and the targets of the requested fields. */
export interface PopulatedRecord {
  /** The record itself. */
  readonly record: StoredRecord
  /** Targets by field, in the order of the links; undefined for a record that does not exist. */
  readonly links: Readonly<Record<string, (PopulatedRecord | undefined)[]>>
}

interface Growing extends PopulatedRecord {
  readonly links: Record<string, (Growing | undefined)[]>
}

/** Link fields to be followed one after the other. */
export type LinkPath = readonly string[]

const stepsMax = 8
const recordsMax = 100_000

function checkPaths(paths: readonly LinkPath[], schema: SchemaCache): LinkPath[] {
  return checkArray(paths, 'paths').map((given) => {
    const path = checkArray(given, 'a path')
    if (path.length === 0 || path.length > stepsMax) {
      throw invalidArgument(`a path has 1 to ${stepsMax} fields, got ${shown(path)}`)
    }
    for (const field of path) schema.field(field)
    return path
  })
}

interface Target {
  readonly table: string
  readonly id: string
  readonly list: (Growing | undefined)[]
  readonly at: number
}

/** Follows the links of records. Each step reads each target table once. */
async function populate(
  records: readonly StoredRecord[],
  paths: readonly LinkPath[],
  schema: SchemaCache,
  tableOf: (name: string) => RecordTable | undefined,
): Promise<PopulatedRecord[]> {
  const checked = readArguments(() => checkPaths(paths, schema))
  const found = readArguments(() => {
    return checkArray(records, 'records').map((record): Growing => {
      const { id, fields } = checkObject(record, 'a record')
      RecordId.of(id)
      checkObject(fields, 'the fields of a record')
      return { record, links: {} }
    })
  })
  let left = recordsMax
  const follow = async (from: readonly Growing[], along: readonly LinkPath[]): Promise<void> => {
    for (const field of new Set(along.flatMap((path) => path.slice(0, 1)))) {
      const targets = readArguments(() => from.flatMap((each) => targetsOf(each, field, schema)))
      left -= targets.length
      if (left < 0) throw invalidArgument(`the paths lead to more than ${recordsMax} records`)
      await fetchTargets(targets, tableOf)
      const reached = targets.flatMap(({ list, at: place }) => list[place] ?? [])
      const next = along.filter((path) => path[0] === field).map((path) => path.slice(1))
      await follow(reached, next)
    }
  }
  await follow(found, checked)
  return found
}

function targetsOf({ record, links }: Growing, field: string, schema: SchemaCache): Target[] {
  const value = record.fields[field]
  if (value === undefined) return []
  const list: (Growing | undefined)[] = []
  links[field] = list
  const targets: Target[] = []
  eachLink(schema.field(field).type, value, schema, (link: Link) => {
    const id = link.resolve(record.id).text
    targets.push({ table: link.table ?? record.table, id, list, at: list.length })
    list.push(undefined)
  })
  return targets
}

async function fetchTargets(
  targets: readonly Target[],
  tableOf: (name: string) => RecordTable | undefined,
): Promise<void> {
  const byTable = new Map<string, Set<string>>()
  for (const { table, id } of targets) {
    const ids = byTable.get(table) ?? new Set<string>()
    byTable.set(table, ids.add(id))
  }
  for (const [table, ids] of byTable) {
    const read = (await tableOf(table)?.readList([...ids])) ?? []
    const known = new Map(read.map((record) => [record.id.text, record]))
    for (const target of targets) {
      const record = target.table === table ? known.get(target.id) : undefined
      // One object per position, because paths differ in the fields that they follow from it.
      if (record !== undefined) target.list[target.at] = { record, links: {} }
    }
  }
}
