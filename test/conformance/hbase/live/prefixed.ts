/** A part of a live HBase for one case: its tables have names with a prefix of their own. */
import type { Admin, Database, Table } from '../../../../src/api/index.js'
import type { HBaseDatabase } from '../../../../src/entries/hbase.js'
import type { OpenStore } from '../../owned/backends.js'

let stores = 0

/** A table under the name that its user gave it. */
function named(table: Table, name: string): Table {
  return new Proxy(table, {
    get: (target, member) => {
      if (member === 'name') return name
      const value: unknown = Reflect.get(target, member, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

/** An empty store on HBase, whose tables are dropped when it is closed. */
export async function openPrefixed(hbase: HBaseDatabase): Promise<OpenStore> {
  const prefix = `suite${process.pid}_${stores++}_`
  const names = async (): Promise<string[]> => {
    const all = await hbase.admin.listTableNames()
    return all.filter((name) => name.startsWith(prefix))
  }
  const admin = new Proxy(hbase.admin, {
    get: (target, member) => {
      if (member === 'listTableNames') {
        return async () => (await names()).map((name) => name.slice(prefix.length))
      }
      const value: unknown = Reflect.get(target, member, target)
      if (typeof value !== 'function') return value
      return async (...[name, ...rest]: unknown[]) => {
        const given = typeof name === 'string' ? [prefix + name, ...rest] : [name, ...rest]
        const answer: unknown = await Reflect.apply(value, target, given)
        return member === 'getDescriptor' ? { ...(answer as object), name } : answer
      }
    },
  }) as Admin
  const store: Database = {
    capabilities: hbase.capabilities,
    cellBytesMax: hbase.cellBytesMax,
    admin,
    createTable: async (name, options) =>
      named(await hbase.createTable(prefix + name, options), name),
    table: (name) => named(hbase.table(prefix + name), name),
    snapshot: () => hbase.snapshot(),
    changes: () => hbase.changes(),
    atomic: () => hbase.atomic(),
    close: async () => undefined,
  }
  const close = async (): Promise<void> => {
    for (const name of await names()) await hbase.admin.deleteTable(name)
  }
  return { store, close }
}
