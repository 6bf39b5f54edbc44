/** The embedded engine as a backend of the suite, with files in memory. */
import { ManualClock } from '../../../src/base/clock.js'
import type { AnyTable, CaseContext, TableSettings, TableSpace } from '../../suites/table/case.js'
import type { Database as BackendDatabase } from '../../../src/api/index.js'
import { TestDatabase } from '../../helpers/test-database.js'

/** A database of the embedded engine. */
class EmbeddedSpace implements TableSpace {
  readonly test: TestDatabase

  constructor(test: TestDatabase) {
    this.test = test
  }

  get database(): BackendDatabase<AnyTable> {
    return this.test.database
  }

  reopen(): Promise<void> {
    return this.test.reopen()
  }

  close(): Promise<void> {
    return this.test.close()
  }
}

/** Opens an empty database. */
export async function openEmbedded(settings: TableSettings): Promise<TableSpace> {
  const { clock, timestampSlopMilliseconds } = settings
  const options = {
    memtableBytesMax: 64 * 1024 * 1024,
    flushBytes: 32 * 1024 * 1024,
    timestampSlopMilliseconds,
  }
  return new EmbeddedSpace(await TestDatabase.open({ clock: clock as ManualClock, options }))
}

/** What cases of the embedded engine look into. */
export function embedded({ space }: CaseContext): TestDatabase {
  if (space instanceof EmbeddedSpace) return space.test
  throw new Error('the case is one of the embedded engine')
}
