/** The backends that the messaging suite is run against. */
import type { MessagingBackend } from './case.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import { Database, type DatabaseOptions } from '../../../src/entries/index.js'
import { ModelDatabase } from '../../model/reference/model-database.js'

/** The embedded engine over files in memory. */
export const embeddedBackend: MessagingBackend = {
  name: 'the embedded engine',
  open: async (clock) => {
    let fileSystem = new SimulatedDisk()
    const options: DatabaseOptions = {
      clock,
      executor: 'inline',
      compactionEnabled: false,
      memtableBytesMax: 1 << 20,
      flushBytes: 256 * 1024,
    }
    const open = async (): Promise<Database> => {
      const opened = await Database.open('/database', { ...options, fileSystem })
      await opened.admin.ensureTable('torn', { families: { f: {} } })
      return opened
    }
    let database = await open()
    return {
      database,
      reopen: async () => {
        await database.close()
        database = await open()
        return database
      },
      openAgain: open,
      reopenTorn: async () => {
        // What was not written yet comes into one frame with this put.
        const table = database.table('torn')
        await table.put({ row: 'row', cells: { 'f:q': 'value' }, durability: 'SYNC_WAL' })
        const torn = fileSystem.crash('tornLastWrite', () => 0.5)
        await database.close()
        fileSystem = torn
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

/** The plain backend in memory: nothing outlives it, so a reopen is the same database. */
export const memoryBackend: MessagingBackend = {
  name: 'memory',
  open: async (clock) => {
    const database = await ModelDatabase.open({ clock })
    return { database, reopen: async () => database, close: () => database.close() }
  },
}
