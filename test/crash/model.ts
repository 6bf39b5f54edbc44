/**
 * What a user of a small database must see after any prefix of a history: tables, families, and the
 * newest value of each column. Values carry the number of the operation that wrote them.
 */
import { createHash } from 'node:crypto'
import type { Database } from '../../src/entries/index.js'

/** Column whose values are counters. */
export const counterQualifier = 'count'

/** Rows of this table are written without log and are left out of the state's text. */
export const unloggedTable = 'unlogged'

/** Cells of a family: `row:qualifier` to the shown value. */
type FamilyCells = Map<string, string>

/** A value that names its operation, `bytes` long or as long as it must be. */
export function valueOf(operation: number, bytes: number): string {
  const head = `${operation}.`
  return head.padEnd(bytes, `${operation}-`)
}

/** Short text of a value; long ones are digested. */
export function showValue(value: string): string {
  if (value.length <= 24) return value
  const digest = createHash('md5').update(value).digest('hex').slice(0, 8)
  return `${value.slice(0, 8)}~${value.length}~${digest}`
}

/** The state of a database, as simply as possible. */
export class Model {
  readonly tables = new Map<string, Map<string, FamilyCells>>()

  createTable(table: string, families: readonly string[]): void {
    this.tables.set(table, new Map(families.map((family) => [family, new Map<string, string>()])))
  }

  families(table: string): string[] {
    return [...(this.tables.get(table)?.keys() ?? [])]
  }

  put(table: string, family: string, row: string, qualifier: string, shown: string): void {
    this.cells(table, family).set(`${row}:${qualifier}`, shown)
  }

  get(table: string, family: string, row: string, qualifier: string): string | undefined {
    return this.tables.get(table)?.get(family)?.get(`${row}:${qualifier}`)
  }

  deleteRow(table: string, row: string): void {
    for (const family of this.families(table)) this.deleteFamily(table, family, row)
  }

  deleteFamily(table: string, family: string, row: string): void {
    const cells = this.cells(table, family)
    for (const key of [...cells.keys()]) if (key.startsWith(`${row}:`)) cells.delete(key)
  }

  truncate(table: string): void {
    for (const cells of this.tables.get(table)?.values() ?? []) cells.clear()
  }

  /** One line a table, one a cell; equal texts mean equal states. */
  text(): string {
    const lines: string[] = []
    for (const [table, families] of this.tables) {
      lines.push(`${table}[${[...families.keys()].sort().join(' ')}]`)
      if (table === unloggedTable) continue
      for (const [family, cells] of families) {
        for (const [key, shown] of cells) lines.push(`${table}/${family}/${key}=${shown}`)
      }
    }
    return lines.sort().join('\n')
  }

  private cells(table: string, family: string): FamilyCells {
    const cells = this.tables.get(table)?.get(family)
    if (cells === undefined) throw new Error(`the model has no ${table}/${family}`)
    return cells
  }
}

/** What a database really holds. Rows of {@link unloggedTable} are kept apart. */
export interface ObservedState {
  readonly text: string
  readonly unlogged: ReadonlyMap<string, string>
}

/** Reads a whole database by scans. */
export function observe(database: Database): ObservedState {
  const model = new Model()
  const unlogged = new Map<string, string>()
  for (const name of database.listTables()) {
    const table = database.table(name)
    model.createTable(name, Object.keys(table.describe().families))
    for (const result of table.scanSync()) {
      for (const cell of result.cells()) {
        const row = cell.row.toString()
        const qualifier = cell.qualifier.toString()
        const shown =
          qualifier === counterQualifier
            ? `counter ${cell.value.readBigInt64BE(0)}`
            : showValue(cell.value.toString())
        if (name === unloggedTable) unlogged.set(row, shown)
        else model.put(name, cell.family, row, qualifier, shown)
      }
    }
  }
  return { text: model.text(), unlogged }
}
