/**
 * Unique fields: one row for each value, with the id of its record. The row is written in the batch
 * of the record, with a check that no other record has the value.
 */
import type { AtomicMutation } from '../../../../api/index.js'
import { concurrentUpdate } from '../../errors.js'
import { indexColumn, indexRemoval, indexRow } from '../ordered-row.js'
import type { CommitCheck, CommitPart, PartWrites, TableChange } from '../writes/commit.js'
import { claimChecks, notUnique, uniqueValues, type UniqueValue } from './unique-rows.js'

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
