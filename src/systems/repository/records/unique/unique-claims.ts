/**
 * Adds a unique field to a type with existing records: their values are claimed, or the change of
 * the type is refused.
 *
 * From the start every write of such a record claims its value, in all managers. When earlier
 * writes have ended, the values of the existing records are claimed while writes continue. Only
 * then does the type change. A refused or interrupted change leaves stale claims, which are
 * ignored.
 */
import type { AtomicCheck, AtomicMutation, Database, Result } from '../../../../api/index.js'
import type { FieldType } from '../../schema/field-type.js'
import { RecordId } from '../../record-id.js'
import { decodeHead, headColumn } from '../record-state.js'
import type { TableContext } from '../table-context.js'
import { claimOf, notUnique, ownerColumn, ownerOf, uniqueRow } from './unique-rows.js'

const recordsPerStep = 200

const shared = new WeakMap<Database, Map<string, UniqueClaims>>()

/** A record of a step, and the row to be claimed for it. */
interface Wanted {
  readonly id: RecordId
  readonly head: Buffer
  readonly field: FieldType
  readonly row: Buffer
}

/** Fields that became unique; all managers of a database share one object. */
export class UniqueClaims {
  /** Ids of fields by the number of the record type. */
  readonly #added = new Map<number, Set<string>>()

  /** The claims whose rows are in this table of a database. */
  static of(database: Database, table: string): UniqueClaims {
    const byTable = shared.get(database) ?? new Map<string, UniqueClaims>()
    shared.set(database, byTable)
    const known = byTable.get(table) ?? new UniqueClaims()
    byTable.set(table, known)
    return known
  }

  /**
   * Ids of the fields that writes of a type must claim, even if a manager still has the old type.
   */
  added(ordinal: number): ReadonlySet<string> {
    return this.#added.get(ordinal) ?? none
  }

  /** Ends the claims of these fields by writes. */
  remove(ordinal: number, fields: readonly FieldType[]): void {
    for (const { id } of fields) this.#added.get(ordinal)?.delete(id)
  }

  /** Claims the values of all records of a type. `ERR_NOT_UNIQUE` if two records share a value. */
  async add(
    ordinal: number,
    fields: readonly FieldType[],
    tables: () => readonly TableContext[],
  ): Promise<void> {
    const added = this.#added.get(ordinal) ?? new Set<string>()
    this.#added.set(ordinal, added)
    for (const { id } of fields) added.add(id)
    try {
      for (const context of tables()) {
        await context.fieldIndexes.gate.turn()
        await this.#claimTable(context, ordinal, fields)
      }
    } catch (error) {
      this.remove(ordinal, fields)
      throw error
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
      const state = head === undefined ? undefined : decodeHead(head)
      if (state === undefined || state.isDeleted || state.type.ordinal !== ordinal) return []
      return fields.flatMap((field) => {
        const own = uniqueRow(context, state, field)
        if (own === undefined) return []
        return [{ id: RecordId.fromBytes(row.row!), head: head!, field, row: own }]
      })
    }
    let after: Buffer | undefined
    for (;;) {
      const span = after === undefined ? {} : { startRow: after, startInclusive: false }
      const scan = { columns: [headColumn], limit: recordsPerStep, ...span }
      const rows = await table.scan(scan).all()
      if (rows.length === 0) return
      if (!(await this.#claim(context, rows.flatMap(wantedOf)))) {
        // A record changed meanwhile. One by one, no record depends on others staying unchanged.
        for (const { row } of rows) {
          const get = { row: row!, columns: [headColumn] }
          while (!(await this.#claim(context, wantedOf(await table.get(get)))));
        }
      }
      after = rows[rows.length - 1].row!
    }
  }

  /** Claims the values of one step, all or none; false if a record or a claim changed meanwhile. */
  async #claim(context: TableContext, wanted: readonly Wanted[]): Promise<boolean> {
    if (wanted.length === 0) return true
    const { database, indexTable, table, durability } = context
    const gets = wanted.map(({ row }) => ({ row, columns: [ownerColumn] }))
    const stored = await database.table(indexTable).getList(gets)
    const checks: AtomicCheck[] = []
    const claims = new Map<string, { readonly id: RecordId; readonly mutation: AtomicMutation }>()
    for (const [index, { id, head, field, row }] of wanted.entries()) {
      const key = row.toString('latin1')
      const other = claims.get(key)
      if (other !== undefined) throw notUnique(field, id.text, other.id.text)
      const owner = stored[index].value(ownerColumn)
      checks.push({ table, row: id.bytes, column: headColumn, equals: head })
      checks.push({ table: indexTable, row, column: ownerColumn, equals: owner ?? null })
      if (owner !== undefined && !owner.equals(id.bytes)) {
        const state = await ownerOf(context, row, owner)
        if (!state.isStale) throw notUnique(field, id.text, RecordId.fromBytes(owner).text)
        checks.push({ table, row: owner, column: headColumn, equals: state.head ?? null })
      }
      claims.set(key, { id, mutation: claimOf(context, row, id) })
    }
    const mutations = [...claims.values()].map(({ mutation }) => mutation)
    const { success } = await database.atomic({ checks, mutations, durability })
    return success
  }
}

const none: ReadonlySet<string> = new Set()
