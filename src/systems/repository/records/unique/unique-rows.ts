/** Rows of unique values: the rows of a record, and the owner of a row. */
import type { AtomicCheck, CellarError } from '../../../../api/index.js'
import { repositoryError } from '../../errors.js'
import { type RecordId, storedRecordId } from '../../record-id.js'
import type { FieldType } from '../../schema/field-type.js'
import { fieldPrefix, indexColumn, rowKinds } from '../ordered-row.js'
import { decodeField } from '../field-values.js'
import { decodeHead, headColumn, newestCell, type RecordState } from '../record-state.js'
import type { TableContext } from '../table-context.js'

/** A unique value of a record. */
export interface UniqueValue {
  readonly field: FieldType
  readonly row: Buffer
}

/** Makes an `ERR_NOT_UNIQUE`. */
export function notUnique(field: FieldType, id: string, owner?: string): CellarError {
  const other = owner === undefined ? 'another record' : owner
  return repositoryError(
    'notUnique',
    `${other} has the value that ${id} would have in ${field.name}`,
  )
}

/**
 * The unique values of a state, by the newest version of its type and by the fields that are being
 * made unique. With `older`, also by the version of the type that the state refers to.
 */
export function uniqueValues(
  context: TableContext,
  state: RecordState | undefined,
  older = false,
): UniqueValue[] {
  if (state === undefined || state.isDeleted) return []
  const { schema, uniqueClaims } = context
  const { ordinal, version } = state.type
  const ids = new Set(uniqueClaims.added(ordinal))
  for (const at of older ? [undefined, version] : [undefined]) {
    const type = schema.recordTypeAt(ordinal, at)
    if (type === undefined) continue
    for (const { field } of schema.ruledFields(type).unique) ids.add(field)
  }
  const found: UniqueValue[] = []
  for (const id of ids) {
    const field = schema.fieldById(id)
    const row = uniqueRow(context, state, field)
    if (row !== undefined) found.push({ field, row })
  }
  return found
}

/** The row of the value of a field; undefined without a value. */
export function uniqueRow(
  context: TableContext,
  state: RecordState,
  field: FieldType,
): Buffer | undefined {
  const { ordinal, type } = field
  const cell = newestCell(state, ordinal)
  if (cell === undefined) return undefined
  const ordered = type.orderedBytes!(decodeField(field, cell.value, context.schema) as never)
  return Buffer.concat([fieldPrefix(rowKinds.unique, context.key, ordinal), ordered])
}

/**
 * Whether the claim of a row is stale, and the head of its owner. A claim is stale if its owner no
 * longer has the value as a unique one. A crash while values are claimed, or a rule that was
 * withdrawn, leaves such rows.
 */
async function ownerOf(
  context: TableContext,
  row: Buffer,
  owner: RecordId,
): Promise<{ readonly isStale: boolean; readonly head: Buffer | undefined }> {
  const stored = await context.table.get({ row: owner.bytes, columns: [headColumn] })
  const head = stored.value(headColumn)
  const values = head === undefined ? [] : uniqueValues(context, decodeHead(head, owner))
  return { isStale: !values.some((value) => value.row.equals(row)), head }
}

/**
 * The checks under which a record may take the row of a value. `owner` is the stored owner.
 * `ERR_NOT_UNIQUE` if the value belongs to another record.
 */
export async function claimChecks(
  context: TableContext,
  { field, row }: UniqueValue,
  id: RecordId,
  owner: Buffer | undefined,
): Promise<AtomicCheck[]> {
  const { indexTable, table } = context
  const check = { table: indexTable, row, column: indexColumn, equals: owner ?? null }
  if (owner === undefined || owner.equals(id.bytes)) return [check]
  const other = storedRecordId(owner, `a unique value of ${field.name}`)
  const { isStale, head } = await ownerOf(context, row, other)
  if (!isStale) throw notUnique(field, id.text, other.text)
  return [check, { table, row: owner, column: headColumn, equals: head ?? null }]
}
