/** Records with the targets of their links, and the targets of those, in few reads. */
import { checkArray, checkObject, readArguments, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { Link } from '../link.js'
import { RecordId } from '../record-id.js'
import type { RecordTable } from '../tables/record-table.js'
import type { StoredRecord } from '../records/record.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { eachLink } from './link-index.js'

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
export async function populate(
  records: readonly StoredRecord[],
  paths: readonly LinkPath[],
  schema: SchemaCache,
  tableOf: (name: string) => RecordTable | undefined,
): Promise<PopulatedRecord[]> {
  const checked = readArguments(() => checkPaths(paths, schema))
  const found = checkArray(records, 'records').map((record): Growing => {
    return { record: checkStored(record), links: {} }
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

function checkStored(record: StoredRecord): StoredRecord {
  return readArguments(() => {
    const { id, fields } = checkObject(record, 'a record')
    RecordId.of(id)
    checkObject(fields, 'the fields of a record')
    return record
  })
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
