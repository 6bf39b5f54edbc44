/** Names of tables, namespaces and snapshots. */
import { checkText, shown } from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { checkTableName, defaultNamespace } from '../storage/cell/limits.js'

/** HBase's namespace for its own tables; users cannot create tables in it. */
export const systemNamespace = 'hbase'

/** The name without the prefix `default:`. Accepts any well-formed text. */
export function plainTableName(name: string): string {
  const prefix = `${defaultNamespace}:`
  checkText(name, 'table name')
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** Checks the name of a table to create, and returns it without `default:`. */
export function newTableName(name: string): string {
  checkTableName(name)
  const plain = plainTableName(name)
  if (plain.startsWith(`${systemNamespace}:`)) {
    throw invalidArgument(`namespace '${systemNamespace}' is reserved, so '${name}' cannot be made`)
  }
  return plain
}

/** Checks a namespace name: letters, digits and underscores; `default` and `hbase` are reserved. */
export function checkNamespaceName(name: string): void {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_]+$/.test(name)) {
    throw invalidArgument(`namespace ${shown(name)} must consist of letters, digits and _`)
  }
  if (name === defaultNamespace || name === systemNamespace) {
    throw invalidArgument(`namespace '${name}' is reserved; it cannot be made, changed or dropped`)
  }
}

/** Checks a snapshot name, by the rules for table names without a namespace. */
export function checkSnapshotName(name: string): void {
  if (typeof name === 'string' && /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,239}$/.test(name)) return
  throw invalidArgument(
    `snapshot ${shown(name)} must consist of 1 to 240 of A-Z a-z 0-9 _ . - ` +
      'and not begin with . or -',
  )
}

/** Makes an `ERR_TABLE_NOT_FOUND`. */
export function noSuchTable(name: string): CellarError {
  return new CellarError(ErrorCode.tableNotFound, `table '${name}' does not exist`)
}

/** Makes an `ERR_TABLE_EXISTS`. */
export function tableExists(name: string): CellarError {
  return new CellarError(ErrorCode.tableExists, `table '${name}' exists already`)
}

/** Makes an `ERR_NO_SUCH_COLUMN_FAMILY`, whose message lists the existing families. */
export function noSuchFamily(
  family: string,
  table: string,
  known: Iterable<string>,
  mayBeColumn = false,
): CellarError {
  const names = [...known]
  const hint = mayBeColumn ? `; a column is named with its family: '${names[0]}:${family}'` : ''
  return new CellarError(
    ErrorCode.noSuchColumnFamily,
    `table '${table}' has no column family '${family}'; it has: ${names.join(', ')}${hint}`,
  )
}
