/** Names of tables, namespaces and snapshots. */
import { checkText, shown } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { checkTableName, defaultNamespace } from '../../cell/limits.js'

/** HBase's namespace of its own tables; nobody else's can be made in it. */
export const systemNamespace = 'hbase'

/** `default:name` is `name`; every other name stays as it is. Any text may be asked for. */
export function plainTableName(name: string): string {
  const prefix = `${defaultNamespace}:`
  checkText(name, 'table name')
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** Checks the name of a table that is to be made and returns it without `default:`. */
export function newTableName(name: string): string {
  checkTableName(name)
  const plain = plainTableName(name)
  if (plain.startsWith(`${systemNamespace}:`)) {
    throw invalidArgument(`namespace '${systemNamespace}' is reserved, so '${name}' cannot be made`)
  }
  return plain
}

/** Namespace names are letters, digits and underscores; `default` and `hbase` are taken. */
export function checkNamespaceName(name: string): void {
  if (typeof name !== 'string' || !/^[A-Za-z0-9_]+$/.test(name)) {
    throw invalidArgument(`namespace ${shown(name)} must consist of letters, digits and _`)
  }
  if (name === defaultNamespace || name === systemNamespace) {
    throw invalidArgument(`namespace '${name}' is reserved; it cannot be made, changed or dropped`)
  }
}

/** Snapshot names follow the rules of table names without a namespace. */
export function checkSnapshotName(name: string): void {
  if (typeof name === 'string' && /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,239}$/.test(name)) return
  throw invalidArgument(
    `snapshot ${shown(name)} must consist of 1 to 240 of A-Z a-z 0-9 _ . - ` +
      'and not begin with . or -',
  )
}

/** `ERR_TABLE_NOT_FOUND`. */
export function noSuchTable(name: string): CellarError {
  return new CellarError(ErrorCode.tableNotFound, `table '${name}' does not exist`)
}

/** `ERR_TABLE_EXISTS`. */
export function tableExists(name: string): CellarError {
  return new CellarError(ErrorCode.tableExists, `table '${name}' exists already`)
}
