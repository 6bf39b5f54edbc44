/**
 * Opens a database directory in these steps: take the lock, judge manifest and log (recovery.ts),
 * begin a manifest, open the tables, replay the log, and begin a log segment. The rules of recovery
 * are in ../wal/FORMAT.md and ../version/FORMAT.md. A read-only open takes the same steps on a view
 * that keeps their changes in memory (frozen-directory.ts).
 *
 * After an error everything opened is closed and the lock is released. The directory is changed
 * only after manifest and log were found good.
 */
import { TurnBudget } from '../../../base/turn-budget.js'
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { loadChecksums } from '../../codec/checksum.js'
import { loadCodecs, type Codecs } from '../../codec/codec.js'
import type { JobCoprocessors } from '../../coprocessor/job-coprocessors.js'
import { FileRemover } from '../../fs/file-remover.js'
import { NodeFileSystem } from '../../fs/node-fs.js'
import type { DirectoryLock, FileSystem } from '../../fs/types.js'
import { DeferredExecutor, InlineExecutor, type JobExecutor } from '../../job/threads/executor.js'
import {
  canFindWorkerModule,
  hasPool,
  hasWorkerModule,
  inlineWarning,
  loadPool,
  WorkerExecutor,
} from '../../job/threads/worker-executor.js'
import { fileHeaderBytes } from '../../record/file-header.js'
import { ArenaPool } from '../../store/arena-pool.js'
import { BackupNote } from '../../version/backup-note.js'
import { backupMarkerName } from '../../version/file-names.js'
import { changeBytes, SpaceReserve } from '../../version/space-reserve.js'
import { VersionSet } from '../../version/version-set.js'
import { Log } from '../../wal/log.js'
import { replayLog, type InspectedLog, type RecoveredLog } from '../../wal/recover-log.js'
import { Catalog } from '../catalog/catalog.js'
import { ReadPoints } from '../catalog/read-points.js'
import { makeEngine, type Engine, type OpenedParts } from '../engine.js'
import { Lifecycle } from '../lifecycle.js'
import { Reports } from '../reports.js'
import { TimedOperation } from '../write/operation-times.js'
import { freezeDirectory } from '../catalog/frozen-directory.js'
import { makeDurableDirectory } from './make-directory.js'
import { MemoryBudget } from '../background/memory-budget.js'
import { hasVersionMarker, serverTimestampOf, visitEntries } from '../write/mutation-buffer.js'
import { resolveOptions, type DatabaseSettings, type ResolvedOptions } from '../options.js'
import { cutWarning, inspectDatabase, reportOf } from './recovery.js'
import type { Raise } from '../events.js'
import { ServerClock } from '../write/server-clock.js'
import { SsTableReaders } from '../../files/sstable-readers.js'
import { sequenceOf } from '../../cell/cell-key.js'

/** Threads for jobs: two for compactions, and one so that a flush never waits for them. */
const jobThreadsMax = 3

/** Opens the engine of `directory`. Errors: see `Database.open`. */
export async function openEngine(
  directory: string,
  settings: DatabaseSettings,
  raise: Raise,
  coprocessors: JobCoprocessors,
): Promise<Engine> {
  const options = resolveOptions(settings)
  const given = settings.fileSystem ?? new NodeFileSystem()
  await loadChecksums()
  const fileSystem = options.readOnly ? await freezeDirectory(given, directory) : given
  prepareDirectory(fileSystem, directory, options.createIfMissing)
  if (!options.readOnly) refuseBackup(fileSystem, directory)
  const lock = await fileSystem.lock(directory)
  try {
    // Again, since a backup may have ended there before the lock was taken.
    if (!options.readOnly) refuseBackup(fileSystem, directory)
    return openLocked(fileSystem.boundTo(lock), directory, options, lock, raise, coprocessors)
  } catch (error) {
    // Its own error would replace the reason.
    await lock.release().catch(() => undefined)
    throw error
  }
}

function prepareDirectory(fileSystem: FileSystem, directory: string, create: boolean): void {
  const found = fileSystem.statSync(directory)
  if (found !== undefined) {
    if (found.kind === 'directory') return makeDurableDirectory(fileSystem, directory)
    if (isListable(fileSystem, directory)) return
    throw new CellarError(ErrorCode.notADatabase, `${directory} is not a directory`)
  }
  if (!create) {
    const message = `${directory} does not exist and createIfMissing is false`
    throw new CellarError(ErrorCode.notADatabase, message)
  }
  makeDurableDirectory(fileSystem, directory)
}

/** A backup that was opened for writing would no longer be what it was. */
function refuseBackup(fileSystem: FileSystem, directory: string): void {
  const marker = fileSystem.join(directory, backupMarkerName)
  if (fileSystem.statSync(marker) === undefined) return
  const message = `${directory} holds a backup; restore it elsewhere, or open it with readOnly`
  throw new CellarError(ErrorCode.notADatabase, message)
}

/** Whether a path can be listed: true for a symbolic link to a directory. */
function isListable(fileSystem: FileSystem, directory: string): boolean {
  try {
    fileSystem.listSync(directory)
    return true
  } catch {
    return false
  }
}

function openLocked(
  fileSystem: FileSystem,
  directory: string,
  options: ResolvedOptions,
  lock: DirectoryLock,
  raise: Raise,
  coprocessors: JobCoprocessors,
): Engine {
  const inspected = inspectDatabase(fileSystem, directory, options)
  const { content, log, manifestProven } = inspected
  const codecs = loadCodecs({ nativeFree: options.nativeFree })
  const remover = new FileRemover(fileSystem, (error) => raise('warning', error))
  const reserve = new SpaceReserve(fileSystem, directory)
  if (options.readOnly) reserve.closeSync()
  let versions: VersionSet | undefined
  let readers: SsTableReaders | undefined
  let lifecycle: Lifecycle | undefined
  try {
    const versionOptions = {
      manifestBytesMax: options.manifestBytesMax,
      randomBytes: options.randomBytes,
      keepUnknownFiles: !manifestProven,
      onFailure: (failure: CellarError) => lifecycle?.poison(failure),
      onError: (error: unknown) => raise('warning', error),
      onObsolete: (fileNumber: number) => readers?.close(fileNumber),
      removeFile: (path: string) => remover.remove(path),
    }
    reserve.makeRoom(content.manifestLength + changeBytes)
    versions = new VersionSet(fileSystem, directory, versionOptions, content)
    const place = { directory, databaseId: versions.databaseId }
    const { blockCacheBytesMax, quickReads } = options
    readers = new SsTableReaders(fileSystem, place, codecs, blockCacheBytesMax, quickReads)
    const catalog = new Catalog(versions, readers, new ArenaPool(options.flushBytes))
    const clock = new ServerClock(options.clock)
    clock.raiseFloor(versions.current.lastServerTimestamp)
    const replayed = replay(versions, catalog, clock, log)
    const recovery = reportOf(inspected, replayed.mutations, versions.filesKept)
    const reports = new Reports(directory, options.slowOperationMilliseconds, catalog, raise)
    const turn = new TurnBudget()
    const kept = { fileSystem, directory, options, versions, remover, reports, turn }
    lifecycle = new Lifecycle(directory, options.readOnly, (error) => reports.poisoned(error))
    const engine = makeEngine({
      ...kept,
      ...{ catalog, clock, codecs, coprocessors, lifecycle, lock, readers, recovery, reserve },
      backupNote: new BackupNote(fileSystem, directory),
      budget: new MemoryBudget(options.memtableBytesMax, turn),
      executor: makeExecutor(fileSystem, codecs, options, raise),
      log: beginLog({ ...kept, lifecycle }, replayed),
      readPoints: new ReadPoints(versions, replayed.lastSequence),
    })
    reserve.restore(versions.durableManifest.length)
    // Listeners can be added only after the open has returned.
    setImmediate(() => recovery.cuts.forEach((cut) => raise('warning', cutWarning(cut))))
    engine.background.compactor.startWatch()
    engine.background.scrubber.start()
    return engine
  } catch (error) {
    readers?.closeAll()
    versions?.close()
    reserve.closeSync()
    throw error
  }
}

function makeExecutor(
  fileSystem: FileSystem,
  codecs: Codecs,
  options: ResolvedOptions,
  raise: Raise,
): JobExecutor {
  const inline = new InlineExecutor(fileSystem, codecs)
  if (options.executor === 'inline' || !fileSystem.shareable) return inline
  const workers = {
    hookMillisecondsMax: options.cellHookMillisecondsMax,
    binding: fileSystem.binding,
  }
  if (options.executor === 'worker') {
    if (!hasPool()) {
      const message = "executor 'worker' needs the package piscina: npm install piscina"
      throw new CellarError(ErrorCode.missingPackage, message)
    }
    if (!canFindWorkerModule()) throw inlineWarning()
    return new WorkerExecutor(loadPool, jobThreadsMax, workers)
  }
  return new DeferredExecutor(() => {
    const onInline = (warning: CellarError): void => raise('warning', warning)
    // A bundle that did not take the worker module along, probably unknowingly.
    if (!hasWorkerModule()) setImmediate(onInline, inlineWarning())
    else if (hasPool()) {
      return new WorkerExecutor(loadPool, jobThreadsMax, { ...workers, inline, onInline })
    }
    return inline
  })
}

/** What the log held. */
interface Replayed {
  /** Undefined if there was no log. */
  readonly recovered: RecoveredLog | undefined
  readonly mutations: number
  /** Sequence of the newest mutation of the log and of the files. */
  readonly lastSequence: number
}

/**
 * Inserts the mutations of the log into the memtables. Skips the entries of stores whose SSTables
 * hold the mutation already, and of stores that no longer exist (HBase ignores unknown families
 * too).
 */
function replay(
  versions: VersionSet,
  { stores }: Catalog,
  clock: ServerClock,
  log: InspectedLog | undefined,
): Replayed {
  let { lastSequence } = versions.current
  let mutations = 0
  if (log === undefined) return { recovered: undefined, mutations, lastSequence }
  const flushed = new Map<number, number>()
  for (const storeId of stores.keys()) {
    flushed.set(storeId, versions.current.stores.get(storeId)!.flushedSequence)
  }
  const recovered = replayLog(log, (source, start, end) => {
    mutations++
    const serverTimestamp = serverTimestampOf(source, start)
    clock.raiseFloor(serverTimestamp)
    const time = hasVersionMarker(source, start, end) ? 0 : serverTimestamp
    visitEntries(source, start, end, (storeId, buffer, keyStart, keyEnd, valueEnd) => {
      const sequence = sequenceOf(buffer, keyEnd)
      if (sequence > lastSequence) lastSequence = sequence
      const store = stores.get(storeId)
      if (store === undefined || sequence <= flushed.get(storeId)!) return
      store.insert(buffer, keyStart, keyEnd, keyEnd, valueEnd, sequence, time, 0)
    })
  })
  return { recovered, mutations, lastSequence: Math.max(lastSequence, recovered.lastSequence) }
}

type LogParts = Pick<
  OpenedParts,
  'directory' | 'fileSystem' | 'lifecycle' | 'options' | 'remover' | 'reports' | 'versions'
>

/** Bounds of the length of a segment. An open reads each one into memory as a whole. */
const segmentBytesFloor = 64 * 1024
const segmentBytesCeiling = 256 * 1024 * 1024

/** The length at which a segment ends: an eighth of the log's, within the bounds. */
export function segmentBytesFor(logBytesMax: number): number {
  return Math.min(segmentBytesCeiling, Math.max(segmentBytesFloor, Math.floor(logBytesMax / 8)))
}

/** Begins the first new segment after the recovered ones. */
function beginLog(parts: LogParts, { recovered, lastSequence }: Replayed): Log {
  const { directory, fileSystem, lifecycle, options, remover, reports, versions } = parts
  let isBegun = false
  const log = Log.createSync({
    fileSystem,
    directory,
    databaseId: versions.databaseId,
    allocateFileNumber: () => versions.allocateFileNumber(),
    durableManifest: () => versions.durableManifest,
    onSegmentBegun: (fileNumber) => {
      versions.noteSegment(fileNumber)
      // Later the lifecycle tells the writers; an open has nobody else to tell.
      if (!isBegun && versions.failure !== undefined) throw versions.failure
    },
    recovered: recovered?.segments,
    retained: recovered?.retained,
    retainedBytesMax: options.logRetentionBytes,
    predecessor: recovered?.predecessor ?? flushedPredecessor(versions, lastSequence),
    removeFile: (path) => remover.remove(path),
    segmentBytesMax: segmentBytesFor(options.logBytesMax),
    onError: (error) => reports.warn(error),
    onSyncing: () => reports.times.ofTable('').beginLong(TimedOperation.sync),
    onSynced: (startedAt) => reports.times.ofTable('').endLong(TimedOperation.sync, startedAt),
    onFailure: (failure) => lifecycle.poison(failure),
  })
  isBegun = true
  versions.addListener(() => log.noteManifest(versions.durableManifest))
  // After a failure of the manifest no write follows for which readers of the log could wait.
  lifecycle.onRefusal.push(() => log.wakeReaders())
  return log
}

/**
 * The predecessor of the first segment if recovery kept no segment because everything is flushed.
 * Without a predecessor, a change feed would take the segment for the beginning of the history.
 */
function flushedPredecessor(
  { current: { logFileNumberFloor } }: VersionSet,
  lastSequence: number,
): RecoveredLog['predecessor'] {
  if (lastSequence === 0 || logFileNumberFloor < 2) return undefined
  return { fileNumber: logFileNumberFloor - 1, length: fileHeaderBytes, lastSequence }
}

/**
 * Flushes the memtables that replay has filled. Called after the coprocessors of the tables are
 * loaded.
 */
export function flushRecovered({ background, catalog, lifecycle, options }: Engine): void {
  if (!lifecycle.isWritable) return
  for (const store of catalog.stores.values()) {
    if (store.active.memtable.bytesUsed >= options.flushBytes) background.relief.freeze(store)
  }
}
