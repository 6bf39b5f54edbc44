/**
 * Unique fields: one row for each value, with the id of its record. The row is written in the batch
 * of the record, with a check that no other record has the value. A field that becomes unique
 * claims the values of the records that exist.
 */
import {
  assert,
  type AtomicCheck,
  type AtomicMutation,
  type Result,
  type CellarError,
} from '../../../../api/index.js'
import { concurrentUpdate, repositoryError } from '../../errors.js'
import { fieldPrefix, indexColumn, indexRemoval, indexRow, rowKinds } from '../ordered-row.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from '../writes/commit.js'
import { storedRecordId, type RecordId } from '../../record-id.js'
import type { FieldType } from '../../schema/types.js'
import { decodeField } from '../field-values.js'
import { decodeHead, headColumn, newestCell, type RecordState } from '../record-state.js'
import type { TableContext } from '../table-context.js'
import { rowSteps } from '../../../../comfort/tables.js'

interface Claim extends UniqueValue {
  readonly changed: TableChange
  readonly isTaken: boolean
}

function claimsOf(changed: TableChange): Claim[] {
  const { context, change } = changed
  // Values that an older version of the type claimed are freed as well.
  const before = uniqueValues(context, change.before, true)
  const after = uniqueValues(context, change.after)
  if (before.length === 0 && after.length === 0) return []
  const without = (values: readonly UniqueValue[], others: readonly UniqueValue[]) => {
    return values.filter(({ row }) => !others.some((other) => other.row.equals(row)))
  }
  return [
    ...without(before, after).map((value) => ({ ...value, changed, isTaken: false })),
    ...without(after, before).map((value) => ({ ...value, changed, isTaken: true })),
  ]
}

/** The commit part that maintains unique values. */
export const uniqueValuesPart: CommitPart = (changes) => {
  const claims = changes.flatMap(claimsOf)
  return claims.length === 0 ? undefined : writesOf(changes, claims)
}

async function writesOf(
  changes: readonly TableChange[],
  claims: readonly Claim[],
): Promise<PartWrites> {
  const { database, indexTable } = changes[0].context
  const rows = claims.map(({ row }) => ({ row, columns: [indexColumn] }))
  const stored = await database.table(indexTable).getList(rows)
  const checks: CommitCheck[] = []
  const puts = new Map<string, AtomicMutation>()
  const frees = new Map<string, AtomicMutation>()
  for (const [index, claim] of claims.entries()) {
    const { changed, field, row, isTaken } = claim
    const { context, change } = changed
    const { id } = change
    const owner = stored[index].value(indexColumn)
    // A value older than the unique rule has no row, or the row belongs to another record.
    if (!isTaken && owner?.equals(id.bytes) !== true) continue
    const key = row.toString('latin1')
    if (isTaken && puts.has(key)) throw notUnique(field, id.text)
    const isFreed = claims.some((other) => {
      const isOwner = owner?.equals(other.changed.change.id.bytes) === true
      return !other.isTaken && isOwner && other.row.equals(row)
    })
    const own =
      isTaken && !isFreed
        ? await claimChecks(context, claim, id, owner)
        : [{ table: indexTable, row, column: indexColumn, equals: owner ?? null }]
    const failure = (): Error => concurrentUpdate(`a unique value of ${id.text}`)
    checks.push(...own.map((check) => ({ check, failure })))
    if (isTaken) puts.set(key, indexRow(context, row, id.bytes))
    else frees.set(key, indexRemoval(context, row))
  }
  for (const key of puts.keys()) frees.delete(key)
  return { checks, mutations: [...frees.values(), ...puts.values()] }
}

interface UniqueValue {
  readonly field: FieldType
  readonly row: Buffer
}

function notUnique(field: FieldType, id: string, owner?: string): CellarError {
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
function uniqueValues(
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
function uniqueRow(
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
 * The checks under which a record may take the row of a value. `owner` is the stored owner.
 * `ERR_NOT_UNIQUE` if the value belongs to another record.
 */
async function claimChecks(
  context: TableContext,
  { field, row }: UniqueValue,
  id: RecordId,
  owner: Buffer | undefined,
): Promise<AtomicCheck[]> {
  const { indexTable, table } = context
  const check = { table: indexTable, row, column: indexColumn, equals: owner ?? null }
  if (owner === undefined || owner.equals(id.bytes)) return [check]
  const other = storedRecordId(owner, `a unique value of ${field.name}`)
  const stored = await table.get({ row: owner, columns: [headColumn] })
  const head = stored.value(headColumn)
  const values = head === undefined ? [] : uniqueValues(context, decodeHead(head, other))
  // A crash while values are claimed, or a rule that was withdrawn, leaves stale claims, whose
  // owners no longer have the value as a unique one.
  const isStale = !values.some((value) => value.row.equals(row))
  if (!isStale) throw notUnique(field, id.text, other.text)
  return [check, { table, row: owner, column: headColumn, equals: head ?? null }]
}

const recordsPerStep = 200

/** A record of a step, and the row to be claimed for it. */
interface Wanted {
  readonly id: RecordId
  readonly head: Buffer
  readonly field: FieldType
  readonly row: Buffer
}

/**
 * Fields that became unique; all managers of a database share one object. The values of existing
 * records are claimed, or the change of the type is refused.
 *
 * From the start every write of such a record claims its value, in all managers. When earlier
 * writes have ended, the values of the existing records are claimed while writes continue. Only
 * then does the type change. A refused or interrupted change leaves stale claims, which are
 * ignored.
 */
export class UniqueClaims {
  /**
   * Number of changes that demand the claims, by the number of the record type and the id of the
   * field. Two managers may make one field unique at the same time.
   */
  readonly #added = new Map<number, Map<string, number>>()

  /**
   * Ids of the fields that writes of a type must claim, even if a manager still has the old type.
   */
  added(ordinal: number): Iterable<string> {
    return this.#added.get(ordinal)?.keys() ?? []
  }

  /**
   * Makes a change of the unique fields of a type, after the values of the added ones are claimed
   * for all records. `change` returns undefined if it was not made. `ERR_NOT_UNIQUE` if two records
   * share a value.
   */
  async change<T>(
    ordinal: number,
    { added, lost }: { readonly added: readonly FieldType[]; readonly lost: readonly FieldType[] },
    tables: readonly TableContext[],
    change: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const counts = this.#added.get(ordinal) ?? new Map<string, number>()
    this.#added.set(ordinal, counts)
    for (const { id } of added) counts.set(id, (counts.get(id) ?? 0) + 1)
    let changed: T | undefined
    try {
      if (added.length > 0) {
        for (const context of tables) {
          await context.gate.turn()
          await this.#claimTable(context, ordinal, added)
        }
      }
      changed = await change()
    } finally {
      // Takes the claims of this change back; those of other changes stay.
      for (const { id } of changed === undefined ? added : []) {
        const others = (counts.get(id) ?? 1) - 1
        assert(others >= 0, 'a claim is withdrawn once')
        if (others > 0) counts.set(id, others)
        else counts.delete(id)
      }
    }
    if (changed !== undefined) for (const { id } of lost) counts.delete(id)
    return changed
  }

  async #claimTable(
    context: TableContext,
    ordinal: number,
    fields: readonly FieldType[],
  ): Promise<void> {
    const { table } = context
    const wantedOf = (row: Result): Wanted[] => {
      const head = row.value(headColumn)
      if (head === undefined) return []
      const id = storedRecordId(row.row, `a row of ${context.keyText}`)
      const state = decodeHead(head, id)
      if (state.isDeleted || state.type.ordinal !== ordinal) return []
      return fields.flatMap((field) => {
        const own = uniqueRow(context, state, field)
        if (own === undefined) return []
        return [{ id, head, field, row: own }]
      })
    }
    for await (const rows of rowSteps(table, { columns: [headColumn] }, recordsPerStep)) {
      if (!(await this.#claim(context, rows.flatMap(wantedOf)))) {
        // A record changed meanwhile. One by one, no record depends on others staying unchanged.
        for (const { row } of rows) {
          const get = { row: row!, columns: [headColumn] }
          while (!(await this.#claim(context, wantedOf(await table.get(get)))));
        }
      }
    }
  }

  /** Claims the values of one step, all or none; false if a record or a claim changed meanwhile. */
  async #claim(context: TableContext, wanted: readonly Wanted[]): Promise<boolean> {
    if (wanted.length === 0) return true
    const { database, indexTable, table, durability } = context
    const gets = wanted.map(({ row }) => ({ row, columns: [indexColumn] }))
    const stored = await database.table(indexTable).getList(gets)
    const checks: AtomicCheck[] = []
    const claims = new Map<string, { readonly id: RecordId; readonly mutation: AtomicMutation }>()
    for (const [index, { id, head, field, row }] of wanted.entries()) {
      const key = row.toString('latin1')
      const other = claims.get(key)
      if (other !== undefined) throw notUnique(field, id.text, other.id.text)
      const owner = stored[index].value(indexColumn)
      checks.push({ table, row: id.bytes, column: headColumn, equals: head })
      checks.push(...(await claimChecks(context, { field, row }, id, owner)))
      claims.set(key, { id, mutation: indexRow(context, row, id.bytes) })
    }
    const mutations = [...claims.values()].map(({ mutation }) => mutation)
    const { success } = await database.atomic({ checks, mutations, durability })
    return success
  }
}
