/** The backends that the messaging suite is run against. */
import type { MessagingBackend } from '../../../src/conformance/messaging/suite.js'
import { Database, MemoryFileSystem } from '../../../src/index.js'

/** The embedded engine over files in memory. */
export const embeddedBackend: MessagingBackend = {
  name: 'the embedded engine',
  open: async (clock) => {
    const fileSystem = new MemoryFileSystem()
    const open = (): Promise<Database> =>
      Database.open('/database', {
        clock,
        fileSystem,
        executor: 'inline',
        compactionEnabled: false,
        memtableBytesMax: 1 << 20,
        flushBytes: 256 * 1024,
      })
    let database = await open()
    return {
      database,
      reopen: async () => {
        await database.close()
        database = await open()
        return database
      },
      close: () => database.close(),
      jobs: {
        register: (of, coprocessor) => (of as Database).registerCoprocessor(coprocessor),
        flush: (of) => (of as Database).flush(),
        compact: (of, table, major) => (of as Database).compact(table, { major }),
      },
    }
  },
}
