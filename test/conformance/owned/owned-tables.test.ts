/**
 * HBase's numbered cases on an owned database over the engine reduced to row atomicity.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import type { AnyTable, TableSpace } from '../../suites/table/case.js'
import { runTableSuite, type SuiteTest, type TableBackend } from '../../suites/table/suite.js'
import type { ManualClock } from '../../../src/base/clock.js'
import type { Database } from '../../../src/api/index.js'
import { ownDatabase } from '../../../src/hbase/owned/own-database.js'
import { TestDatabase } from '../../helpers/test-database.js'
import { reduceToRows } from '../../helpers/row-atomic.js'

const ownedBackend: TableBackend = {
  name: 'owned',
  open: async ({ clock, timestampSlopMilliseconds }): Promise<TableSpace> => {
    const options = { timestampSlopMilliseconds }
    const test = await TestDatabase.open({ clock: clock as ManualClock, options })
    const database = await ownDatabase(reduceToRows(test.database), {
      name: 'suite',
      clock,
      timestampSlopMilliseconds,
    })
    return {
      database: database as unknown as Database<AnyTable>,
      close: async () => {
        await database.close()
        await test.close()
      },
    }
  },
}

/** Cases that do not hold, and why. */
const reasons: readonly (readonly [name: RegExp, reason: string])[] = [
  [/limit of timestamps is one of what is written/, 'the store refuses what the owner has logged'],
  [/a counter keeps its TTL unless/, 'reads of the store do not show the TTL of a cell'],
]

void t.test('HBase cases on an owned database', async (t) => {
  const some: SuiteTest = {
    comment: (text) => t.comment(text),
    equal: (found, wanted, message) => t.equal(found, wanted, message),
    test: (name, options, run) => {
      const reason = reasons.find(([pattern]) => pattern.test(name))?.[1]
      return t.test(name, reason === undefined ? options : { skip: reason }, run)
    },
  }
  const { passed, failed, notApplicable } = await runTableSuite(some, ownedBackend)
  t.strictSame(failed, [])
  t.ok(passed.length >= 100, `${passed.length} cases pass`)
  t.comment(`left out: ${[...notApplicable.keys()].join(', ')}`)
})
