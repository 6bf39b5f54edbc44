/** A coprocessor module for tests, as the schema of a table names it. */
import type { Endpoint, Observer } from '../../../../../src/entries/index.js'

export { createCellHook } from './scripted-hook.js'

/** Names the table and the options in every value that is put. */
export function createObserver(setup: {
  readonly table: string
  readonly options: Readonly<Record<string, unknown>>
}): Observer {
  const value = `${setup.table} ${String(setup.options['stamp'])}`
  return {
    prePut: (_context, put) => ({ ...put, cells: { ...put.cells, 'f:stamp': value } }),
  }
}

export const endpoints: Readonly<Record<string, Endpoint>> = {
  hello: (table) => `hello from ${table.name}`,
}
