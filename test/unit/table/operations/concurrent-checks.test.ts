/** Nothing comes between a check and the writes that depend on it. */
import t from 'tap'
import { Database, MemoryFileSystem, type EmbeddedTable } from '../../../../src/entries/index.js'

const callers = 20

async function open(more: object = {}): Promise<{ database: Database; table: EmbeddedTable }> {
  const options = { executor: 'inline', compactionEnabled: false, ...more } as const
  const database = await Database.open('/db', { ...options, fileSystem: new MemoryFileSystem() })
  return { database, table: await database.createTable('t', { families: { f: {} } }) }
}

const check = { row: 'lock', column: 'f:owner', notExists: true } as const

type Attempt = (table: EmbeddedTable, caller: string) => Promise<boolean>

/** Each takes the lock if nobody has it, and says whether the caller has won. */
const attempts: Readonly<Record<string, Attempt>> = {
  checkAndMutate: async (table, caller) => {
    const { success } = await table.checkAndMutate(check, { put: { cells: { 'f:owner': caller } } })
    return success
  },
  'checkAndMutate with several mutations': async (table, caller) => {
    const { success } = await table.checkAndMutate(check, {
      mutations: [
        { put: { cells: { 'f:owner': caller } } },
        { increment: { columns: { 'f:n': 1 } } },
      ],
    })
    return success
  },
  mutateRows: (table, caller) => {
    const rows = ['lock', 'log'].map((row) => {
      return { row, mutations: [{ put: { cells: { 'f:owner': caller } } }] }
    })
    return table.mutateRows({ checks: [check], rows })
  },
  'the check of a batch': async (table, caller) => {
    const action = { put: { cells: { 'f:owner': caller } } }
    const [outcome] = await table.batch([{ checkAndMutate: { check, action } }])
    return outcome.ok && outcome.success === true
  },
}

const observer = { preBatchMutate: () => undefined, preCheckAndMutate: () => undefined }

const settings: Readonly<Record<string, object>> = {
  'in memory': {},
  'whose row is on disk': { blockCacheBytesMax: 0 },
  'of an observed table': { coprocessors: [{ name: 'watching', observer }] },
}

for (const [name, attempt] of Object.entries(attempts)) {
  for (const [where, more] of Object.entries(settings)) {
    void t.test(`${name} ${where}: one of ${callers} callers at a time wins`, async (t) => {
      const { database, table } = await open(more)
      await table.put({ row: 'lock', cells: { 'f:other': 'x' } })
      await database.flush()
      const outcomes = await Promise.all(
        Array.from({ length: callers }, (_, i) => attempt(table, `caller ${i}`)),
      )
      const winners = outcomes.flatMap((won, i) => (won ? [`caller ${i}`] : []))
      t.equal(winners.length, 1)
      t.equal(table.getSync({ row: 'lock' }).value('f:owner')?.toString(), winners[0])
      await database.close()
    })
  }
}
