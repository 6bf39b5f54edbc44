/**
 * Adds a unique field to a type with existing records: their values are claimed, or the change of
 * the type is refused.
 *
 * From the start every write of such a record claims its value, in all managers. When earlier
 * writes have ended, the values of the existing records are claimed while writes continue. Only
 * then does the type change. A refused or interrupted change leaves stale claims, which are
 * ignored.
 */
import {
  assert,
  type AtomicCheck,
  type AtomicMutation,
  type Result,
} from '../../../../api/index.js'
import { rowSteps } from '../../../../comfort/tables.js'
import type { FieldType } from '../../schema/field-type.js'
import { type RecordId, storedRecordId } from '../../record-id.js'
import { indexColumn, indexRow } from '../ordered-row.js'
import { decodeHead, headColumn } from '../record-state.js'
import type { TableContext } from '../table-context.js'
import { claimChecks, notUnique, uniqueRow } from './unique-rows.js'

const recordsPerStep = 200

/** A record of a step, and the row to be claimed for it. */
interface Wanted {
  readonly id: RecordId
  readonly head: Buffer
  readonly field: FieldType
  readonly row: Buffer
}

/** Fields that became unique; all managers of a database share one object. */
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
    return this.#added.get(ordinal)?.keys() ?? none
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
      if (changed === undefined) this.#withdraw(counts, added)
    }
    if (changed !== undefined) for (const { id } of lost) counts.delete(id)
    return changed
  }

  /** Takes the claims of one change back; those of other changes stay. */
  #withdraw(counts: Map<string, number>, fields: readonly FieldType[]): void {
    for (const { id } of fields) {
      const others = (counts.get(id) ?? 1) - 1
      assert(others >= 0, 'a claim is withdrawn once')
      if (others > 0) counts.set(id, others)
      else counts.delete(id)
    }
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

const none: readonly string[] = []
