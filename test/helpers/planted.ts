/** Objects with planted bugs. */
import type { Database } from '../../src/api/index.js'

/** The target with some of its members replaced; the others work on the target itself. */
export function withMembers<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(target, name) {
      const planted = (members as Record<string | symbol, unknown>)[name]
      if (planted !== undefined) return planted
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

/** A call of a table, with its arguments. */
export type TableCall = (...given: unknown[]) => unknown

/** The database whose tables have other calls, made from their own and the names of these. */
export function withTableCalls(
  database: Database,
  make: (call: TableCall, name: string, table: string) => TableCall,
): Database {
  return withMembers<Database>(database, {
    table: (table) =>
      new Proxy(database.table(table), {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          return typeof member === 'function' && typeof name === 'string'
            ? make(member.bind(target) as TableCall, name, table)
            : member
        },
      }),
  })
}
