/**
 * Finds the columns that puts name.
 *
 * The puts of a program name few columns, mostly the same in the same order. So each name is first
 * compared with the name at the same index of the previous put, at the cost of one comparison of
 * strings.
 */
import { noSuchFamily } from '../../api/names.js'
import { parseSingleColumn, type ColumnName } from '../../storage/cell/column-name.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'

/** A column of a table. */
export interface TableColumn {
  readonly family: FamilyState
  /** The qualifier as encoded in keys. */
  readonly escapedQualifier: Buffer
}

interface KnownColumn extends TableColumn {
  readonly name: string
}

/** Maximum number of remembered columns per put. */
const placesMax = 64

/** Finds columns of one table at a time. */
export class PutColumns {
  private table: TableState | undefined = undefined
  private known: KnownColumn[] = []

  /** Sets the table; forgets the columns of another one. */
  use(table: TableState): void {
    if (this.table === table) return
    this.table = table
    this.known = []
  }

  /**
   * The column with that name, at index `place` of its put; `ERR_INVALID_ARGUMENT`,
   * `ERR_NO_SUCH_COLUMN_FAMILY`. REQUIRES a table.
   */
  find(name: ColumnName, place: number): TableColumn {
    if (place < this.known.length) {
      const known = this.known[place]
      if (known.name === name) return known
    }
    const parsed = parseSingleColumn(name)
    const family = this.family(parsed.family)
    const { escapedQualifier } = parsed
    if (typeof name === 'string' && place <= this.known.length && place < placesMax) {
      this.known[place] = { name, family, escapedQualifier }
    }
    return { family, escapedQualifier }
  }

  /** Finds a family or throws `ERR_NO_SUCH_COLUMN_FAMILY`. REQUIRES a table. */
  family(name: string): FamilyState {
    const { familyByName, name: tableName, familyNames } = this.table!
    const family = familyByName.get(name)
    if (family === undefined) throw noSuchFamily(name, tableName, familyNames)
    return family
  }
}
