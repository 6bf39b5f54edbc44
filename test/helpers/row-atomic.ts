/**
 * A database reduced to what a store offers that is atomic per row: no synchronous calls, no
 * snapshots, no feed, no filters but those of `parseFilter`, no batches over rows or tables. Calls
 * of these fail with `ERR_UNSUPPORTED`.
 */
import {
  requireCapability,
  type Admin,
  type Capabilities,
  type Database,
  type Scan,
  type Table,
} from '../../src/api/index.js'
import { textOfFilter } from '../../src/storage/filter/parse/parse-filter.js'

/** The capabilities that are left. */
export const rowAtomic: Capabilities = Object.freeze({
  sync: false,
  snapshots: false,
  changes: false,
  atomicAcrossRows: false,
  atomicAcrossTables: false,
  coprocessors: false,
  filters: false,
  rawScans: true,
  upkeep: true,
})

/** Refuses whatever `rowAtomic` lacks. */
export function reduceToRows(database: Database): Database {
  const refuse = (capability: keyof Capabilities) => (): never => {
    requireCapability(rowAtomic, capability, 'this call')
    throw new Error('unreachable')
  }
  const tableOf = (table: Table): Table =>
    new Proxy(table, {
      get: (target, name) => {
        if (typeof name === 'string' && name.endsWith('Sync')) return undefined
        if (name === 'mutateRows') return refuse('atomicAcrossRows')
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...given: unknown[]): unknown => {
          for (const read of [given[0]].flat() as (Scan | undefined)[]) {
            if (read?.snapshot !== undefined) refuse('snapshots')()
            if (read?.filter !== undefined && textOfFilter(read.filter) === undefined)
              refuse('filters')()
          }
          return (value as (...all: unknown[]) => unknown).apply(target, given)
        }
      },
    })
  const admin: Admin = new Proxy(database.admin, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return {
    capabilities: rowAtomic,
    cellBytesMax: database.cellBytesMax,
    admin,
    createTable: async (name, options) => tableOf(await database.createTable(name, options)),
    table: (name) => tableOf(database.table(name)),
    snapshot: refuse('snapshots'),
    changes: refuse('changes'),
    atomic: async () => refuse('atomicAcrossTables')(),
    close: () => database.close(),
  }
}
