/** Rules about the targets of links: they must exist, and for `typed` links have the named type. */
import { concurrentUpdate, invalidRecord } from '../errors.js'
import type { Link } from '../link.js'
import type { FieldType } from '../schema/types.js'
import { leafOf } from '../schema/type-contents.js'
import { eachValue } from '../values/nested-types.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from './writes/commit.js'
import { decodeField } from './field-values.js'
import { decodeHead, headColumn, newestCell } from './record-state.js'

interface Target {
  readonly changed: TableChange
  readonly field: FieldType
  readonly link: Link
  readonly isTyped: boolean
}

/** The links that a change sets and whose targets are checked. */
function targetsOf(changed: TableChange): Target[] {
  const { context, change } = changed
  const { schema } = context
  const { after, before } = change
  if (after.isDeleted) return []
  const type = schema.recordTypeAt(after.type.ordinal)
  if (type === undefined) return []
  const targets: Target[] = []
  for (const { field: id, linkTarget } of schema.ruledFields(type).linked) {
    const field = schema.fieldById(id)
    const cell = newestCell(after, field.ordinal)
    const old = newestCell(before, field.ordinal)
    if (cell === undefined || old?.value.equals(cell.value) === true) continue
    eachValue(field.type, decodeField(field, cell.value, schema), (link) => {
      targets.push({ changed, field, link: link as Link, isTyped: linkTarget === 'typed' })
    })
  }
  return targets
}

/** The commit part that checks the targets of links, in the state that the batch is applied to. */
export const linkTargetsPart: CommitPart = (changes) => {
  const targets = changes.flatMap(targetsOf)
  if (targets.length === 0) return undefined
  const checking = async (): Promise<PartWrites> => {
    const checks: CommitCheck[] = []
    for (const target of targets) checks.push(...(await checksOf(target, changes)))
    return { checks, mutations: [] }
  }
  return checking()
}

async function checksOf(
  { changed: { context, change }, field, link, isTyped }: Target,
  changes: readonly TableChange[],
): Promise<CommitCheck[]> {
  const { schema } = context
  const id = link.resolve(change.id)
  const name = link.table ?? context.name
  const inBatch = changes.find((other) => {
    return other.context.name === name && other.change.id.equals(id)
  })
  const table = context.tableOf(name)
  const stored = inBatch
    ? undefined
    : (await table.get({ row: id.bytes, columns: [headColumn] })).value(headColumn)
  const state = inBatch?.change.after ?? (stored === undefined ? undefined : decodeHead(stored, id))
  if (state === undefined || state.isDeleted) {
    throw invalidRecord(`${field.name} links to ${id.text}, which does not exist`)
  }
  const wanted = leafOf(field).recordType
  const type = schema.recordTypeAt(state.type.ordinal)
  if (isTyped && wanted !== undefined && type !== undefined) {
    const base = schema.recordType(wanted)
    if (type.id !== base.id && !schema.subtypes(base.id).has(type.id)) {
      throw invalidRecord(`${field.name} links to ${id.text}, which is no ${wanted}`)
    }
  }
  if (stored === undefined) return []
  const check = { table, row: id.bytes, column: headColumn, equals: stored }
  return [{ check, failure: () => concurrentUpdate(`the record ${id.text}`) }]
}
