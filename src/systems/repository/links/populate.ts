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

interface Step {
  readonly field: string
  readonly next: Map<string, Step>
}

function stepsOf(paths: readonly LinkPath[], schema: SchemaCache): Map<string, Step> {
  const first = new Map<string, Step>()
  for (const given of checkArray(paths, 'paths')) {
    const path = checkArray(given, 'a path')
    if (path.length === 0 || path.length > stepsMax) {
      throw invalidArgument(`a path has 1 to ${stepsMax} fields, got ${shown(path)}`)
    }
    let steps = first
    for (const field of path) {
      schema.field(field)
      const step = steps.get(field) ?? { field, next: new Map<string, Step>() }
      steps.set(field, step)
      steps = step.next
    }
  }
  return first
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
  const steps = readArguments(() => stepsOf(paths, schema))
  const found = checkArray(records, 'records').map((record): Growing => {
    return { record: checkStored(record), links: {} }
  })
  let left = recordsMax
  const follow = async (from: readonly Growing[], at: ReadonlyMap<string, Step>): Promise<void> => {
    for (const { field, next } of at.values()) {
      const targets = readArguments(() => from.flatMap((each) => targetsOf(each, field, schema)))
      left -= targets.length
      if (left < 0) throw invalidArgument(`the paths lead to more than ${recordsMax} records`)
      await fetchTargets(targets, tableOf)
      const reached = targets.flatMap(({ list, at: place }) => list[place] ?? [])
      if (next.size > 0 && reached.length > 0) await follow(reached, next)
    }
  }
  await follow(found, steps)
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
