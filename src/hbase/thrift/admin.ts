/** Administration of a remote HBase. */
import type { Admin } from '../../api/index.js'
import type * as types from '../../api/index.js'
import { checkNamespaceName, newTableName, noSuchTable, plainTableName } from '../../api/names.js'
import { readArguments } from '../../base/arguments.js'
import { ErrorCode, hasCode } from '../../base/errors.js'
import { ensureTable } from '../../checks/ensure-table.js'
import { describeAlteration, describeNewTable } from '../../checks/schema.js'
import { HBaseErrorCode } from './wire/errors.js'
import { refuse } from './capabilities.js'
import type { Client } from './client.js'
import { methods, type Method } from './wire/methods.js'
import {
  descriptionOf,
  familyWithDefaults,
  refuseCoprocessors,
  tableNameOf,
  tableNameStruct,
  tableStruct,
  withHBaseDefaults,
  type TableStruct,
} from './schema.js'
import { TableCatalog } from './table-catalog.js'
import type { HBaseTable } from './table.js'

/** The administration of HBase, as far as its Thrift2 gateway has it. */
export class HBaseAdmin implements Admin {
  /** @internal The descriptions that were read. */
  readonly catalog: TableCatalog
  readonly #client: Client
  readonly #tableOf: (name: string) => HBaseTable

  /** @internal Made by `connectHBase`. */
  constructor(client: Client, tableOf: (name: string) => HBaseTable) {
    this.#client = client
    this.#tableOf = tableOf
    this.catalog = new TableCatalog(async (name) => descriptionOf(await this.#struct(name)))
  }

  /** As `Admin.createTable`. Absent options of families are HBase's, such as no compression. */
  async createTable(name: string, options: types.TableOptions): Promise<HBaseTable> {
    const plain = newTableName(name)
    const described = readArguments(() => {
      return describeNewTable(plain, withHBaseDefaults(options), refuseCoprocessors)
    })
    const descriptor = tableStruct(plain, described)
    await this.#ask(methods.createTable, { descriptor }, plain)
    await this.catalog.readChanged(plain)
    return this.#tableOf(plain)
  }

  async ensureTable(name: string, options: types.TableOptions): Promise<HBaseTable> {
    const plain = newTableName(name)
    await ensureTable(this, plain, options)
    await this.catalog.readChanged(plain)
    return this.#tableOf(plain)
  }

  /** Disables the table first, as HBase demands. */
  async deleteTable(name: string): Promise<void> {
    const plain = plainTableName(name)
    await this.#disabled(plain)
    await this.#ask(methods.deleteTable, { table: tableNameStruct(plain) }, plain)
    this.catalog.changed(plain)
  }

  /** Disables the table first, as HBase demands; HBase enables it again. Keeps its splits. */
  async truncateTable(name: string): Promise<void> {
    const plain = plainTableName(name)
    await this.#disabled(plain)
    const table = tableNameStruct(plain)
    await this.#ask(methods.truncateTable, { table, preserveSplits: true }, plain)
  }

  async tableExists(name: string): Promise<boolean> {
    const plain = plainTableName(name)
    const table = tableNameStruct(plain)
    return (await this.#ask(methods.tableExists, { table }, plain)) === true
  }

  async listTableNames(): Promise<string[]> {
    const method = methods.getTableNamesByPattern
    const answer = await this.#client.ask(method, { withSystemTables: false }, 'all tables')
    return (answer as NonNullable<TableStruct['tableName']>[]).map(tableNameOf).sort()
  }

  async getDescriptor(name: string): Promise<types.TableDescription> {
    return this.catalog.read(plainTableName(name))
  }

  async modifyTable(
    name: string,
    alteration: types.TableAlteration,
  ): Promise<types.TableDescription> {
    const plain = plainTableName(name)
    const before = await this.#struct(plain)
    const described = readArguments(() => {
      const present = descriptionOf(before)
      const { families, ...rest } = alteration
      const entries = Object.entries(families ?? {}).map((entry) => {
        return Object.hasOwn(present.families, entry[0]) ? entry : familyWithDefaults(entry)
      })
      const own = families === undefined ? rest : { ...rest, families: Object.fromEntries(entries) }
      return describeAlteration(present, own, refuseCoprocessors)
    })
    const descriptor = tableStruct(plain, described, before)
    await this.#ask(methods.modifyTable, { descriptor }, plain)
    return this.catalog.readChanged(plain)
  }

  /** Whether reads and writes of the table are served. Throws `ERR_TABLE_NOT_FOUND`. */
  async isTableEnabled(name: string): Promise<boolean> {
    return (await this.#askTable(methods.isTableEnabled, plainTableName(name))) === true
  }

  /** Ends the service of a table. Throws `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_NOT_ENABLED`. */
  async disableTable(name: string): Promise<void> {
    await this.#askTable(methods.disableTable, plainTableName(name))
  }

  /** Serves a disabled table again; an enabled one stays. Throws `ERR_TABLE_NOT_FOUND`. */
  async enableTable(name: string): Promise<void> {
    const plain = plainTableName(name)
    if (!(await this.isTableEnabled(plain))) await this.#askTable(methods.enableTable, plain)
  }

  /** Creates a namespace. Throws `ERR_NAMESPACE_EXISTS`, `ERR_INVALID_ARGUMENT`. */
  async createNamespace(name: string): Promise<void> {
    checkNamespaceName(name)
    await this.#client.ask(methods.createNamespace, { namespace: { name } }, `namespace '${name}'`)
  }

  /** Drops an empty namespace. Throws `ERR_NAMESPACE_NOT_FOUND`, `ERR_NAMESPACE_NOT_EMPTY`. */
  async deleteNamespace(name: string): Promise<void> {
    checkNamespaceName(name)
    await this.#client.ask(methods.deleteNamespace, { name }, `namespace '${name}'`)
  }

  /** Names of the namespaces, sorted; `default` and `hbase` are among them. */
  async listNamespaces(): Promise<string[]> {
    const answer = await this.#client.ask(methods.listNamespaces, {}, 'all namespaces')
    return (answer as Buffer[]).map((name) => name.toString('utf8')).sort()
  }

  /** Needs the capability `upkeep`: throws `ERR_UNSUPPORTED`. */
  async flush(): Promise<void> {
    refuse('upkeep', 'flush')
  }

  /** Needs the capability `upkeep`: throws `ERR_UNSUPPORTED`. */
  async compact(): Promise<void> {
    refuse('upkeep', 'compact')
  }

  /** Needs the capability `upkeep`: throws `ERR_UNSUPPORTED`. */
  async majorCompact(): Promise<void> {
    refuse('upkeep', 'majorCompact')
  }

  async #struct(name: string): Promise<TableStruct> {
    return (await this.#askTable(methods.getTableDescriptor, name)) as TableStruct
  }

  async #askTable(method: Method, name: string): Promise<unknown> {
    try {
      return await this.#ask(method, { table: tableNameStruct(name) }, name)
    } catch (error) {
      // For an absent table the message of the gateway is the name alone.
      if (hasCode(error, HBaseErrorCode.refused) && !(await this.tableExists(name))) {
        throw noSuchTable(name)
      }
      throw error
    }
  }

  async #ask(
    method: Method,
    parameters: Readonly<Record<string, unknown>>,
    name: string,
  ): Promise<unknown> {
    return this.#client.ask(method, parameters, `table '${name}'`)
  }

  async #disabled(name: string): Promise<void> {
    if (!(await this.tableExists(name))) throw noSuchTable(name)
    if (!(await this.isTableEnabled(name))) return
    try {
      await this.disableTable(name)
    } catch (error) {
      // Another caller has disabled it in between.
      if (!hasCode(error, ErrorCode.tableNotEnabled)) throw error
    }
  }
}
