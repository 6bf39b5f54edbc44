/**
 * Changes that no feed shows, at any call of a move to its target: the target has them in the end.
 *
 * CELLAR_SEED: the seed; CELLAR_MOVE_STRIDE: the changes come at every so many calls.
 *
 * @runs campaign
 */
import t from 'tap'
import type { Database } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'
import { lengthOf } from '../../../helpers/length.js'
import { cellsOf, MovingSource } from '../../../helpers/moving-source.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

const stride = lengthOf('CELLAR_MOVE_STRIDE', 5, 1)
const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)

/** A target that waits for a change of the source before one of its calls. */
function withChange(
  database: Database,
  at: number,
  change: () => Promise<unknown>,
): { readonly target: Database; readonly calls: () => number } {
  let calls = 0
  const wrap = <T extends object>(object: T): T =>
    new Proxy(object, {
      get: (inner, name) => {
        const value: unknown = Reflect.get(inner, name, inner)
        if (typeof value !== 'function') return value
        if (name === 'scan' || name === 'describe') return value.bind(inner) as unknown
        return async (...given: unknown[]) => {
          if (++calls === at) await change()
          return await (value as (...all: unknown[]) => Promise<unknown>).apply(inner, given)
        }
      },
    })
  const target: Database = {
    ...database,
    admin: wrap(database.admin),
    table: (name) => wrap(database.table(name)),
  }
  return { target, calls: () => calls }
}

type Embedded = MovingSource['database']

/** Each changes the table `one` of a source whose snapshot `early` is older. */
const changes: Readonly<Record<string, (source: Embedded) => Promise<unknown>>> = {
  SKIP_WAL: async (source) => {
    const cells = { 'f:hidden': 'value' }
    return source.table('one').put({ row: 'hidden', cells, durability: 'SKIP_WAL' })
  },
  truncation: (source) => source.admin.truncateTable('one'),
  'truncation and import': async (source) => {
    const parts: Buffer[] = []
    for await (const part of source.admin.exportTable('one')) parts.push(part)
    await source.admin.truncateTable('one')
    await source.admin.importTable(parts)
  },
  import: (source) => source.admin.importTable(source.admin.exportTable('two'), { table: 'one' }),
  restore: (source) => source.admin.restoreSnapshot('early'),
  'families that come and go': async (source) => {
    await source.admin.modifyTable('one', { families: { h: {} }, dropFamilies: ['g'] })
    await source.table('one').put({ row: 'late', cells: { 'h:a': 'value' } })
  },
}

for (const [name, change] of Object.entries(changes)) {
  void t.test(`a move has what no feed shows: ${name} (seed ${seed})`, async (t) => {
    // At 0 the change is the last one before the writes have stopped.
    for (let at = 0; ; at += at === 0 ? 1 : stride) {
      const source = await MovingSource.open(seed + at)
      const { database } = source
      await database.admin.snapshot('early', 'one')
      for (let i = 0; i < 10; i++) source.write()
      const store = await openMemoryDatabase()
      let isLate = false
      let isChanged = false
      const { target, calls } = withChange(reduceToRows(store), at, async () => {
        if (isLate) return
        isChanged = true
        await change(database)
      })
      const stopWrites = async (): Promise<void> => {
        if (at === 0 && !isLate) await change(database)
        isLate = true
      }
      await moveDatabase(database, target, { stopWrites, retryMilliseconds: 0 })
      const isSame = t.strictSame(await cellsOf(store), await cellsOf(database), `call ${at}`)
      await database.close()
      await store.close()
      if (!isSame || (at > 0 && !isChanged) || calls() < at) break
    }
  })
}
