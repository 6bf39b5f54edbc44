/**
 * Writes rows for a log that forgets them afterwards, or for a move that counts them as there. So
 * they are in the store's own log also where the durability of the table says less.
 */
import { performance } from 'node:perf_hooks'
import type {
  ColumnTarget,
  Database,
  DurabilityOption,
  Mutation,
  PutCell,
  RowMutations,
} from '../../api/index.js'
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

export class RowWriter {
  readonly #database: Database
  readonly #dropped: 'passed over' | 'failure'
  /** By name of the table: what its writes ask for. */
  readonly #durabilities = new Map<string, DurabilityOption>()

  /**
   * @param dropped whether cells of tables and families that are not there are passed over, or are
   *   a failure
   */
  constructor(database: Database, dropped: 'passed over' | 'failure') {
    this.#database = database
    this.#dropped = dropped
  }

  /** Writes rows. `retry` waits after a failure, or throws to give up. */
  async write(writes: readonly RowWrite[], retry: Patience): Promise<void> {
    const byTable = groupBy(writes, ({ table }) => table)
    await Promise.all(
      Array.from(byTable, async ([name, rows]) => {
        for (let at = 0; at < rows.length; at += operationsMax) {
          await this.#writeTable(name, rows.slice(at, at + operationsMax), retry)
        }
      }),
    )
  }

  forget(table: string): void {
    this.#durabilities.delete(table)
  }

  async #writeTable(name: string, writes: readonly RowWrite[], retry: Patience): Promise<void> {
    let left = writes.map(rowMutations)
    let since: number | undefined
    while (left.length > 0) {
      let error: unknown
      try {
        const durability = await this.#durabilityOf(name)
        const table = this.#database.table(name)
        const rows = left.map((row) => ({ mutateRow: { ...row, durability } }))
        const outcomes = await table.batch(rows)
        const failed = outcomes.map((outcome) => (outcome.ok ? undefined : outcome.error))
        error = failed.find((each) => each !== undefined && !this.#isPassed(each))
        left = left.filter((_, i) => failed[i] !== undefined && !this.#isPassed(failed[i]))
      } catch (failure) {
        if (this.#isPassed(failure)) return
        error = failure
      }
      if (left.length === 0) return
      since ??= performance.now()
      await retry(error, since)
    }
  }

  #isPassed(error: unknown): boolean {
    return this.#dropped === 'passed over' && isDropped(error)
  }

  async #durabilityOf(name: string): Promise<DurabilityOption> {
    const known = this.#durabilities.get(name)
    if (known !== undefined) return known
    const { durability } = await this.#database.admin.getDescriptor(name)
    const isWeak = durability === 'SKIP_WAL' || durability === 'ASYNC_WAL'
    const asked = isWeak ? 'SYNC_WAL' : 'USE_DEFAULT'
    this.#durabilities.set(name, asked)
    return asked
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
