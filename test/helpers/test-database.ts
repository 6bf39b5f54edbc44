/**
 * A database for tests: small budgets, a clock set by hand, and a file system that survives
 * reopening.
 */
import { ManualClock } from '../../src/base/clock.js'
import { checkInvariants } from '../../src/base/invariants.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import type { FileSystem } from '../../src/storage/fs/types.js'
import { Database, type OpenOptions } from '../../src/entries/index.js'

// Every test with such a database also checks the contracts of the engine's parts.
checkInvariants(true)

/** A database that may offer compaction, which arrives later than this helper. */
interface Compacting {
  compact?(table?: string, options?: { major?: boolean }): Promise<void>
}

export class TestDatabase {
  readonly clock: ManualClock
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: OpenOptions
  database: Database

  private constructor(
    database: Database,
    clock: ManualClock,
    fileSystem: FileSystem,
    directory: string,
    options: OpenOptions,
  ) {
    this.database = database
    this.clock = clock
    this.fileSystem = fileSystem
    this.directory = directory
    this.options = options
  }

  /** Opens a fresh database; without file system in a new one in memory. */
  static async open(
    settings: {
      readonly fileSystem?: FileSystem
      readonly directory?: string
      readonly clock?: ManualClock
      readonly options?: OpenOptions
    } = {},
  ): Promise<TestDatabase> {
    const clock = settings.clock ?? new ManualClock()
    const fileSystem = settings.fileSystem ?? new SimulatedDisk()
    const directory = settings.directory ?? '/database'
    const options: OpenOptions = {
      executor: 'inline',
      memtableBytesMax: 256 * 1024,
      flushBytes: 64 * 1024,
      blockCacheBytesMax: 64 * 1024,
      compactionEnabled: false,
      // Awaited reads of missing blocks take their turn, which more can happen in.
      quickReads: false,
      ...settings.options,
      clock,
      fileSystem,
    }
    const database = await Database.open(directory, options)
    return new TestDatabase(database, clock, fileSystem, directory, options)
  }

  /** Closes and opens again, on the same files. */
  async reopen(): Promise<void> {
    await this.database.close()
    this.database = await Database.open(this.directory, this.options)
  }

  async flush(): Promise<void> {
    await this.database.flush()
  }

  /** Whether the engine can compact yet. */
  get canCompact(): boolean {
    return typeof (this.database as unknown as Compacting).compact === 'function'
  }

  /** Flushes are not part of it. REQUIRES `canCompact`. */
  async compact(major: boolean): Promise<void> {
    await (this.database as unknown as Required<Compacting>).compact(undefined, { major })
  }

  async close(): Promise<void> {
    await this.database.close()
  }
}
