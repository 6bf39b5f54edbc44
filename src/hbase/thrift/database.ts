/** A remote HBase as a database: the public entry `cellardb/hbase`. */
import type {
  AtomicResult,
  Capabilities,
  Change,
  Database,
  Snapshot,
  TableOptions,
} from '../../api/index.js'
import { plainTableName } from '../../api/names.js'
import { HBaseAdmin } from './admin.js'
import { hbaseCapabilities, refuse } from './capabilities.js'
import { Client } from './client.js'
import { methods } from './wire/methods.js'
import { hbaseOptions, type HBaseOptions } from './wire/options.js'
import { HBaseTable } from './table.js'

/**
 * Connects to Apache HBase through its Thrift2 gateway.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_MISSING_PACKAGE` without the package `thrift`;
 *   `ERR_UNAVAILABLE` if no gateway answers before the deadline, or something else does.
 */
export async function connectHBase(options: HBaseOptions): Promise<HBaseDatabase> {
  const client = new Client(hbaseOptions.read(options))
  try {
    await client.ask(methods.getThriftServerType, {}, 'the gateway')
  } catch (error) {
    client.close()
    throw error
  }
  return new HBaseDatabase(client)
}

/** The tables of a remote HBase. Made by {@link connectHBase}. */
export class HBaseDatabase implements Database<HBaseTable> {
  readonly capabilities: Capabilities = hbaseCapabilities
  readonly cellBytesMax: number
  readonly admin: HBaseAdmin
  readonly #client: Client

  /** @internal Made by {@link connectHBase}. */
  constructor(client: Client) {
    this.#client = client
    this.cellBytesMax = client.settings.cellBytesMax
    this.admin = new HBaseAdmin(client, (name) => this.table(name))
  }

  createTable(name: string, options: TableOptions): Promise<HBaseTable> {
    return this.admin.createTable(name, options)
  }

  table(name: string): HBaseTable {
    return new HBaseTable(plainTableName(name), this.#client, this.admin.catalog)
  }

  /** Needs the capability `snapshots`: throws `ERR_UNSUPPORTED`. */
  snapshot(): Snapshot {
    return refuse('snapshots', 'snapshot')
  }

  /** Needs the capability `changes`: throws `ERR_UNSUPPORTED`. */
  changes(): AsyncGenerator<Change, void> {
    return refuse('changes', 'changes')
  }

  /** Needs the capability `atomicAcrossTables`: throws `ERR_UNSUPPORTED`. */
  async atomic(): Promise<AtomicResult> {
    return refuse('atomicAcrossTables', 'atomic')
  }

  /** Closes all connections. Mutations that run end with `ERR_UNKNOWN_OUTCOME`. */
  async close(): Promise<void> {
    this.#client.close()
  }
}
