/**
 * The engine: one open database directory, as the parts that share the directory.
 *
 * `openEngine` opens the parts from the lock to the log, and {@link makeEngine} adds the parts that
 * work on them: `Publisher`, `Background` and `WritePath`. A part is given the parts that it uses.
 * Only code that opens, closes, administers or describes the database as a whole takes an engine.
 */
import type { TurnBudget } from '../../base/turn-budget.js'
import type { Codecs } from '../codec/codec.js'
import type { JobCoprocessors } from '../coprocessor/job-coprocessors.js'
import type { SsTableReaders } from '../files/sstable-readers.js'
import type { FileRemover } from '../fs/file-remover.js'
import type { DirectoryLock, FileSystem } from '../fs/types.js'
import type { JobExecutor } from '../job/threads/executor.js'
import type { BackupNote } from '../version/backup-note.js'
import type { SpaceReserve } from '../version/space-reserve.js'
import type { VersionSet } from '../version/version-set.js'
import type { Log } from '../wal/log.js'
import { Background } from './background/background.js'
import type { MemoryBudget } from './background/memory-budget.js'
import { Publisher } from './background/publisher.js'
import type { Catalog } from './catalog/catalog.js'
import type { ReadPoints } from './catalog/read-points.js'
import type { Lifecycle } from './lifecycle.js'
import { closeEngine } from './open/close-engine.js'
import type { Recovery } from './open/recovery.js'
import type { ResolvedOptions } from './options.js'
import type { Reports } from './reports.js'
import type { ServerClock } from './write/server-clock.js'
import { WritePacer } from './write/write-pacer.js'
import { WritePath } from './write/write-path.js'

/** The parts that `openEngine` opens, and the options. */
export interface OpenedParts {
  readonly directory: string
  readonly options: ResolvedOptions
  readonly fileSystem: FileSystem
  readonly lock: DirectoryLock
  readonly codecs: Codecs
  readonly remover: FileRemover
  readonly reserve: SpaceReserve
  readonly backupNote: BackupNote
  readonly versions: VersionSet
  readonly readers: SsTableReaders
  readonly catalog: Catalog
  readonly readPoints: ReadPoints
  readonly log: Log
  readonly lifecycle: Lifecycle
  readonly reports: Reports
  readonly recovery: Recovery
  readonly clock: ServerClock
  /** Operations that awaited calls may still do in this turn of the event loop. */
  readonly turn: TurnBudget
  readonly budget: MemoryBudget
  readonly executor: JobExecutor
  readonly coprocessors: JobCoprocessors
}

/** The parts of an engine that the operations of tables use. */
export type TableParts = Pick<
  Engine,
  'catalog' | 'clock' | 'lifecycle' | 'readers' | 'readPoints' | 'reports' | 'versions' | 'writes'
>

/** All parts of an open database. */
export interface Engine extends OpenedParts {
  readonly background: Background
  readonly pacer: WritePacer
  readonly publisher: Publisher
  readonly writes: WritePath
  /**
   * Flushes large memtables and unlogged mutations, then releases everything. The next open replays
   * the other mutations from the log. Calling it again returns the same promise.
   */
  close(): Promise<void>
}

/** Makes the engine of opened parts. */
export function makeEngine(opened: OpenedParts): Engine {
  const { budget, options, reports } = opened
  const publisher = new Publisher(opened)
  const pacer = new WritePacer(
    options,
    (pressure) => reports.pressureChanged(pressure),
    () => budget.bytesPerWriter,
  )
  const background = new Background({ ...opened, pacer, publisher })
  const { relief } = background
  const writes = new WritePath({ ...opened, pacer, relief })
  relief.account()
  let closing: Promise<void> | undefined
  const engine: Engine = {
    ...opened,
    ...{ background, pacer, publisher, writes },
    close: () => (closing ??= closeEngine(engine)),
  }
  return engine
}
