/** Writes batches of the log into the tables of the database. */
import { performance } from 'node:perf_hooks'
import type { ColumnTarget, Database, Mutation, PutCell, RowMutations } from '../../api/index.js'
import { hasCode } from '../../base/errors.js'
import type { RowWrite } from './log/apply.js'
import type { Patience } from './log/log-store.js'
import type { LoggedCell } from './log/logged-batch.js'

/** Operations of one call. */
const operationsMax = 1_000

/** Whether cells have lost their place: the table or the family was dropped after the batch. */
function isDropped(error: unknown): boolean {
  return hasCode(error, 'ERR_TABLE_NOT_FOUND') || hasCode(error, 'ERR_NO_SUCH_COLUMN_FAMILY')
}

/**
 * Writes rows. `retry` waits after a failure, or throws to give up. `dropped` says whether cells of
 * tables and families that are not there are passed over, or are a failure.
 */
export async function writeRows(
  database: Database,
  writes: readonly RowWrite[],
  retry: Patience,
  dropped: 'passed over' | 'failure' = 'passed over',
): Promise<void> {
  const isPassed = (error: unknown): boolean => dropped === 'passed over' && isDropped(error)
  const byTable = groupBy(writes, ({ table }) => table)
  await Promise.all(
    Array.from(byTable, async ([name, rows]) => {
      for (let at = 0; at < rows.length; at += operationsMax) {
        await writeTable(database, name, rows.slice(at, at + operationsMax), retry, isPassed)
      }
    }),
  )
}

async function writeTable(
  database: Database,
  name: string,
  writes: readonly RowWrite[],
  retry: Patience,
  isPassed: (error: unknown) => boolean,
): Promise<void> {
  let left = writes.map(rowMutations)
  let since: number | undefined
  while (left.length > 0) {
    let error: unknown
    try {
      const outcomes = await database.table(name).batch(left.map((mutateRow) => ({ mutateRow })))
      const failed = outcomes.map((outcome) => (outcome.ok ? undefined : outcome.error))
      error = failed.find((each) => each !== undefined && !isPassed(each))
      left = left.filter((_, index) => failed[index] !== undefined && !isPassed(failed[index]))
    } catch (failure) {
      if (isPassed(failure)) return
      error = failure
    }
    if (left.length === 0) return
    since ??= performance.now()
    await retry(error, since)
  }
}

/** The cells of a row as mutations, with their own timestamps. */
function rowMutations({ row, cells }: RowWrite): RowMutations {
  const mutations: Mutation[] = []
  const puts = cells.filter(({ type }) => type === 'Put')
  for (const [ttl, group] of groupBy(puts, ({ ttlMilliseconds }) => ttlMilliseconds)) {
    const ttlMilliseconds = ttl === 0 ? undefined : ttl
    mutations.push({ put: { cells: group.map(putCell), ttlMilliseconds } })
  }
  if (puts.length < cells.length) {
    const targets = (wanted: string): LoggedCell[] => cells.filter(({ type }) => type === wanted)
    const families = targets('DeleteFamily').map(familyTarget)
    const familyVersions = targets('DeleteFamilyVersion').map(familyTarget)
    const columns = targets('DeleteColumn').map(columnTarget)
    const columnVersions = targets('Delete').map(columnTarget)
    mutations.push({ delete: { families, familyVersions, columns, columnVersions } })
  }
  return { row, mutations }
}

function putCell({ family, qualifier, timestamp, value }: LoggedCell): PutCell {
  return { column: { family, qualifier }, timestamp, value }
}

function familyTarget({ family, timestamp }: LoggedCell): { family: string; timestamp: bigint } {
  return { family, timestamp }
}

function columnTarget({ family, qualifier, timestamp }: LoggedCell): ColumnTarget {
  return { family, qualifier, timestamp }
}

function groupBy<T, K>(elements: readonly T[], keyOf: (element: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const element of elements) {
    const key = keyOf(element)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [element])
    else group.push(element)
  }
  return groups
}
