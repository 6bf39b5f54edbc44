/** Finds out which family an operation concerns, for the figures of families. */
import { parseColumn, type ColumnName } from '../../cell/column-name.js'

/** The members of operations that name families and columns. */
const members = ['columns', 'cells', 'families', 'familyVersions', 'columnVersions'] as const

/**
 * The only family of `families`, or the only one that a get, scan, put, delete, increment or append
 * names. Undefined for several, for operations of other forms, and for names that cannot be read.
 */
export function familyOf(operation: unknown, families: readonly string[]): string | undefined {
  if (families.length < 2) return families.at(0)
  try {
    const named = new Set<string>()
    for (const member of members) {
      const given = (operation as Readonly<Record<string, unknown>>)[member] ?? []
      const isList = Array.isArray(given)
      const columns: readonly unknown[] = isList ? given : Object.keys(given)
      for (const each of columns) named.add(parseColumn(columnOf(each)).family)
    }
    return named.size === 1 ? [...named][0] : undefined
  } catch {
    // A getter of the caller, or an operation that was refused.
    return undefined
  }
}

/** The column of a list element, which may be a cell or a target with more members. */
function columnOf(element: unknown): ColumnName {
  if (typeof element !== 'object' || element === null) return element as ColumnName
  const { column, family } = element as { column?: ColumnName; family?: string }
  if (column !== undefined) return column
  return family === undefined ? (element as ColumnName) : { family }
}
