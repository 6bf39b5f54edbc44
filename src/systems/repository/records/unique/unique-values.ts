/**
 * Unique fields: one row for each value, with the id of its record. The row is written in the batch
 * of the record, with a check that no other record has the value.
 */
import type { AtomicMutation } from '../../../../api/index.js'
import { concurrentUpdate } from '../../errors.js'
import { RecordId } from '../../record-id.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from '../writes/commit.js'
import { headColumn } from '../record-state.js'
import {
  claimOf,
  freeOf,
  notUnique,
  ownerColumn,
  ownerOf,
  uniqueValues,
  type UniqueValue,
} from './unique-rows.js'

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
export class UniqueValues implements CommitPart {
  prepare(changes: readonly TableChange[]): Promise<PartWrites | undefined> | undefined {
    const claims = changes.flatMap(claimsOf)
    return claims.length === 0 ? undefined : this.#prepare(changes, claims)
  }

  async #prepare(changes: readonly TableChange[], claims: readonly Claim[]): Promise<PartWrites> {
    const { database, indexTable } = changes[0].context
    const rows = claims.map(({ row }) => ({ row, columns: [ownerColumn] }))
    const stored = await database.table(indexTable).getList(rows)
    const checks: CommitCheck[] = []
    const puts = new Map<string, AtomicMutation>()
    const frees = new Map<string, AtomicMutation>()
    for (const [index, { changed, field, row, isTaken }] of claims.entries()) {
      const { context, change } = changed
      const owner = stored[index].value(ownerColumn)
      const isOwn = owner?.equals(change.id.bytes) === true
      // A value older than the unique rule has no row, or the row belongs to another record.
      if (!isTaken && !isOwn) continue
      const key = row.toString('latin1')
      const failure = (): Error => concurrentUpdate(`a unique value of ${change.id.text}`)
      const check = { table: indexTable, row, column: ownerColumn, equals: owner ?? null }
      checks.push({ check, failure })
      if (!isTaken) {
        frees.set(key, freeOf(context, row))
        continue
      }
      if (puts.has(key)) throw notUnique(field, change.id.text)
      const isFreed = claims.some((other) => !other.isTaken && other.row.equals(row))
      if (owner !== undefined && !isOwn && !isFreed) {
        const { isStale, head } = await ownerOf(context, row, owner)
        if (!isStale) throw notUnique(field, change.id.text, RecordId.fromBytes(owner).text)
        const { table } = context
        const unchanged = { table, row: owner, column: headColumn, equals: head ?? null }
        checks.push({ check: unchanged, failure })
      }
      puts.set(key, claimOf(context, row, change.id))
    }
    for (const key of puts.keys()) frees.delete(key)
    return { checks, mutations: [...frees.values(), ...puts.values()] }
  }
}
