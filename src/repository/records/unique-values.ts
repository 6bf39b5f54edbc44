/**
 * Unique fields: a row for each value, which holds the id of its record. It is written in the batch
 * that writes the record, behind a check that nobody has the value.
 */
import type { AtomicMutation } from '../../api/index.js'
import { RepositoryError, RepositoryErrorCode } from '../errors.js'
import type { FieldType } from '../schema/field-type.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from './commit.js'
import { concurrentUpdate } from './commit.js'
import { fieldPrefix, rowKinds } from './ordered-row.js'
import { decodeField } from './prepared-input.js'
import type { RecordState } from './record-state.js'

const column = 'i:r'

interface Claim {
  readonly changed: TableChange
  readonly field: FieldType
  readonly row: Buffer
  readonly isTaken: boolean
}

function notUnique(field: FieldType, id: string): RepositoryError {
  const message = `another record has the value that ${id} would have in ${field.name}`
  return new RepositoryError(RepositoryErrorCode.notUnique, message)
}

const none: ReadonlyMap<FieldType, Buffer> = new Map()

/** The encoded values of the unique fields that a state has. */
function valuesOf(
  { context }: TableChange,
  state: RecordState | undefined,
): ReadonlyMap<FieldType, Buffer> {
  if (state === undefined || state.isDeleted) return none
  const { schema } = context
  const type = schema.recordTypeAt(state.type.ordinal, state.type.version)
  const entries = type === undefined ? [] : schema.ruledFields(type).unique
  if (entries.length === 0) return none
  const found = new Map<FieldType, Buffer>()
  for (const { field: id } of entries) {
    const field = schema.fieldById(id)
    const cell = state.fields.get(field.ordinal) ?? state.latest?.fields.get(field.ordinal)
    if (cell !== undefined) found.set(field, cell.value)
  }
  return found
}

function claimsOf(changed: TableChange): Claim[] {
  const { context, change } = changed
  const before = valuesOf(changed, change.before)
  const after = valuesOf(changed, change.after)
  const claims: Claim[] = []
  if (before.size === 0 && after.size === 0) return claims
  const add = (field: FieldType, bytes: Buffer, isTaken: boolean): void => {
    const value = decodeField(field, bytes, context.schema)
    const ordered = field.type.orderedBytes!(value as never)
    const row = Buffer.concat([fieldPrefix(rowKinds.unique, context.key, field.ordinal), ordered])
    claims.push({ changed, field, row, isTaken })
  }
  for (const [field, bytes] of before) {
    if (after.get(field)?.equals(bytes) !== true) add(field, bytes, false)
  }
  for (const [field, bytes] of after) {
    if (before.get(field)?.equals(bytes) !== true) add(field, bytes, true)
  }
  return claims
}

/** The part of commits that keeps unique values. */
export class UniqueValues implements CommitPart {
  prepare(changes: readonly TableChange[]): Promise<PartWrites | undefined> | undefined {
    const claims = changes.flatMap(claimsOf)
    return claims.length === 0 ? undefined : this.#prepare(changes, claims)
  }

  async #prepare(changes: readonly TableChange[], claims: readonly Claim[]): Promise<PartWrites> {
    const { database, indexTable } = changes[0].context
    const rows = claims.map(({ row }) => ({ row, columns: [column] }))
    const stored = await database.table(indexTable).getList(rows)
    const checks: CommitCheck[] = []
    const puts = new Map<string, AtomicMutation>()
    const frees = new Map<string, AtomicMutation>()
    claims.forEach(({ changed, field, row, isTaken }, index) => {
      const { id } = changed.change
      const owner = stored[index].value(column)
      const isOwn = owner?.equals(id.bytes) === true
      // A value that was there before the field became unique has no row, or that of another.
      if (!isTaken && !isOwn) return
      const key = row.toString('latin1')
      const check = { table: indexTable, row, column, equals: owner ?? null }
      const failure = (): Error => concurrentUpdate(`a unique value of ${id.text}`)
      checks.push({ check, failure })
      if (!isTaken) {
        const mutations = [{ delete: { columns: [{ family: 'i', qualifier: 'r', timestamp: 1 }] } }]
        frees.set(key, { table: indexTable, row, mutations })
      } else {
        if (puts.has(key)) throw notUnique(field, id.text)
        const isFreed = claims.some((other) => !other.isTaken && other.row.equals(row))
        if (owner !== undefined && !isOwn && !isFreed) throw notUnique(field, id.text)
        const mutations = [{ put: { cells: { [column]: id.bytes }, timestamp: 1 } }]
        puts.set(key, { table: indexTable, row, mutations })
      }
    })
    for (const key of puts.keys()) frees.delete(key)
    return { checks, mutations: [...frees.values(), ...puts.values()] }
  }
}
