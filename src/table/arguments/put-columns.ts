/**
 * Finds the columns that puts name.
 *
 * The puts of a program name few columns, and most of them the same in the same order; so what each
 * place of the put before held is looked at first, which costs no more than to compare two strings.
 */
import { parseSingleColumn, type ColumnName } from '../../storage/cell/column-name.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'
import { noSuchFamily } from '../../api/checks/reads.js'

/** A column of a table. */
export interface TableColumn {
  readonly family: FamilyState
  /** As the key encoding wants it. */
  readonly escapedQualifier: Buffer
}

interface KnownColumn extends TableColumn {
  readonly name: string
}

/** Places that are remembered. */
const placesMax = 64

/** Columns of one table at a time. */
export class PutColumns {
  private table: TableState | undefined = undefined
  private known: KnownColumn[] = []

  /** Sets the table, and forgets those of another one. */
  use(table: TableState): void {
    if (this.table === table) return
    this.table = table
    this.known = []
  }

  /**
   * The column of that name, the `place`-th (from 0) of its put; `ERR_INVALID_ARGUMENT`,
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
