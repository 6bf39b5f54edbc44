/**
 * Filters of users whose hooks return values that no filter should return.
 *
 * @runs campaign
 */
import t from 'tap'
import {
  Database,
  FilterBase,
  FilterCode,
  FilterList,
  MemoryFileSystem,
  PageFilter,
} from '../../../src/entries/index.js'
import type { Filter } from '../../../src/entries/index.js'
import { hostileValues } from '../table/arguments/hostile-values.js'
import { isCellarError } from './check-entry.js'

const hooks = [
  'reset',
  'filterAllRemaining',
  'filterRowKey',
  'filterCell',
  'transformCell',
  'filterRowCells',
  'filterRow',
  'nextCellHint',
  'isFamilyEssential',
  'setReversed',
  'readsValue',
] as const

class Including extends FilterBase {
  override filterCell(): FilterCode {
    return FilterCode.include
  }
}

class Hinting extends FilterBase {
  override filterCell(): FilterCode {
    return FilterCode.seekUsingHint
  }
}

void t.test('a hook that returns nonsense fails the read with a CellarError', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const db = await Database.open('/db', { fileSystem, executor: 'inline' })
  t.teardown(() => db.close())
  const table = await db.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 20; i++) await table.put({ row: `r${i}`, cells: { 'f:a': '1', 'f:b': '2' } })
  let count = 0
  for (const hook of hooks) {
    for (const { name, make } of hostileValues) {
      const filterOf = (): Filter =>
        Object.assign(hook === 'nextCellHint' ? new Hinting() : new Including(), {
          [hook]: () => make(),
        })
      const reads: Record<string, () => unknown> = {
        scan: () => table.scanSync({ filter: filterOf(), limit: 5 }).all(),
        'scan backward': () => table.scanSync({ filter: filterOf(), reversed: true }).all(),
        get: () => table.getSync({ row: 'r1', filter: filterOf() }),
        'in a list': () => {
          const filter = new FilterList('MUST_PASS_ALL', [new PageFilter(9), filterOf()])
          return table.scanSync({ filter }).all()
        },
        exists: () => table.existsSync({ row: 'r1', filter: filterOf() }),
      }
      for (const [read, run] of Object.entries(reads)) {
        count++
        try {
          run()
        } catch (error) {
          if (isCellarError(error)) continue
          t.fail(`${hook} returns ${name}, ${read}: ${(error as Error).stack}`)
        }
      }
    }
  }
  t.ok(count > 1000, `${count} reads`)
  t.equal(table.getSync({ row: 'r1' }).size, 2, 'other reads go on')
})
