/** A live HBase as a backend of the suite of tables: each case has a table of its own. */
import type { Database } from '../../../../src/api/index.js'
import type { HBaseDatabase } from '../../../../src/entries/hbase.js'
import { refusals } from '../../../../src/hbase/thrift/refusals.js'
import { pause } from '../../../suites/kit.js'
import type { AnyTable, TableCase, TableSpace } from '../../../suites/table/case.js'

let spaces = 0

/** The database of one case: the names of its tables have a prefix. */
export function openLiveSpace(database: HBaseDatabase): TableSpace {
  const prefix = `run${process.pid}_${spaces++}_`
  const own: Database<AnyTable> = {
    capabilities: database.capabilities,
    cellBytesMax: database.cellBytesMax,
    admin: database.admin,
    createTable: (name, options) => database.createTable(prefix + name, options),
    table: (name) => paced(database.table(prefix + name)),
    snapshot: () => database.snapshot(),
    changes: () => database.changes(),
    atomic: () => database.atomic(),
    close: async () => undefined,
  }
  // The tables stay: HBase takes longer to drop a table than to stop for good.
  return { database: own, obstacle: obstacleOf, close: async () => undefined }
}

async function beforePause(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } finally {
    await pause(2)
  }
}

/**
 * A table whose operations take two milliseconds at least: in HBase a put stays hidden after a
 * delete of the same millisecond.
 */
function paced(table: AnyTable): AnyTable {
  return new Proxy(table, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...given: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(member, target, given)
        return answer instanceof Promise ? beforePause(answer) : answer
      }
    },
  })
}

const ownClock = "HBase goes by its servers' clocks"

/** Cases that cannot run on a live HBase: number, part of the title, and why. */
const obstacles: readonly (readonly [number: number, title: string, reason: string])[] = [
  [46, 'a put may carry', ownClock],
  [76, '', ownClock],
  [77, '', ownClock],
  [95, 'whatever their size', refusals.maxResultBytes[0]],
  [98, '', refusals.cellsPerFamily[0]],
  [130, '', refusals.checkTimeRange[0]],
  [133, 'with increment and append', refusals.updateInRow[0]],
  [136, '', ownClock],
  [142, '', refusals.updateTime[0]],
  [148, 'apply all or nothing', refusals.updateInRow[0]],
  [149, 'a batch of mixed', refusals.updateInRow[0]],
  [211, '', refusals.updateInRow[0]],
  [212, '', refusals.updateInRow[0]],
  [301, '', refusals.cellsPerFamily[0]],
]

function obstacleOf({
  number,
  title,
  steps,
  timestampSlopMilliseconds,
}: TableCase): string | undefined {
  if (timestampSlopMilliseconds !== undefined) return 'the limit is an option of the server'
  if (steps.some((step) => 'clock' in step || 'advance' in step)) return ownClock
  return obstacles.find(([known, part]) => known === number && title.includes(part))?.[2]
}
