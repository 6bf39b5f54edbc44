/** Faults of the engine: writes, flushes, compactions, views, backups, the feed, reads. */
import type { PlantedFault } from './planted-fault.js'

const atomic = ['test/unit/table/atomic-safety.test.ts']
const backups = ['test/unit/storage/engine/backup-safety.test.ts']
const feeds = ['test/unit/table/admin/feed-bounds.test.ts']
const kept = ['test/unit/storage/engine/kept-sources.test.ts']
const relief = ['test/unit/storage/engine/memory-relief.test.ts']
const plainReads = ['test/unit/table/plain-reads.test.ts']
const flushes = ['test/unit/storage/engine/overlapping-flushes.test.ts']

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'a failed sync of the log is kept back until the other syncs end',
    file: 'src/storage/wal/log.ts',
    find: 'await Promise.all(syncs.map((sync) => sync.catch(fail)))',
    replace:
      '(await Promise.allSettled(syncs)).forEach((e) => e.status === "rejected" && fail(e.reason))',
    tests: ['test/unit/storage/wal/log.test.ts'],
  },
  {
    name: 'the next read follows the hint that a filter gave in the empty column',
    file: 'src/storage/scan/rule-moves.ts',
    find: '  startRow(): void {\n    this.hintWaits = false\n',
    replace: '  startRow(): void {\n',
    tests: plainReads,
  },
  {
    name: 'an atomic batch has the durability of its last table',
    file: 'src/table/operations/atomic.ts',
    find: 'durability = stronger(durability, operations.durabilityOf(asked))',
    replace: 'durability = operations.durabilityOf(asked)',
    tests: atomic,
  },
  {
    name: 'a held batch does not wait for calls on rows that it only checks',
    file: 'src/table/calls/atomic-request.ts',
    find: 'of [checks, mutations].flat() as',
    replace: 'of [checks && [], mutations].flat() as',
    tests: atomic,
  },
  {
    name: 'a part that an observer has emptied ends the batch',
    file: 'src/table/operations/atomic.ts',
    find: 'if (rows.length === 0 || emptied?.has(part) === true) continue',
    replace: 'if (rows.length === 0 || emptied?.has(part) === true) break',
    tests: atomic,
  },
  {
    name: 'the manifest of a backup comes before the names of its files are synced',
    file: 'src/storage/fs/whole-file.ts',
    find: 'fileSystem.syncDirectorySync(directory)',
    replace: '',
    tests: backups,
  },
  {
    name: 'a checkpoint is released before its files are placed',
    file: 'src/storage/engine/transfer/backup.ts',
    find: 'return await run.place(checkpoint)',
    replace: `checkpoint.release()
        checkpoint.release = () => undefined
        return await run.place(checkpoint)`,
    tests: backups,
  },
  {
    name: 'the manifest of a backup may have a lower number than the one before',
    file: 'src/storage/engine/transfer/backup.ts',
    find: 'Math.max(state.logFileNumberFloor, earlier + 1)',
    replace: 'state.logFileNumberFloor',
    tests: backups,
  },
  {
    name: 'a failed restore leaves what it has placed',
    file: 'src/storage/engine/transfer/restore.ts',
    find: 'for (const name of placed) removeQuietly(fileSystem, fileSystem.join(directory, name))',
    replace: '',
    tests: backups,
  },
  {
    name: 'a durable feed shows bytes of an older segment that are not durable',
    file: 'src/storage/wal/older-segments.ts',
    find: 'if (durable && writer !== undefined && writer.syncedLength < length) {',
    replace: 'if (durable && writer !== undefined && writer.syncedLength < 0) {',
    tests: feeds,
  },
  {
    name: 'a feed begins one mutation before the log',
    file: 'src/storage/engine/transfer/change-feed.ts',
    find: 'if (fromSequence > before) return',
    replace: 'if (fromSequence >= before) return',
    tests: feeds,
  },
  {
    name: 'a view does not see what is flushed after a compaction',
    file: 'src/storage/store/kept-sources.ts',
    find: 'flattenTables([[...tables, ...newest], ...deeper])',
    replace: 'flattenTables([newest, ...deeper])',
    tests: kept,
  },
  {
    name: 'a view does not see the memtable of a flush that drops cells',
    file: 'src/storage/engine/background/flush-edits.ts',
    find: 'readPoints.memtableReplaced(store, slot, sequenceSame)',
    replace: '',
    tests: kept,
  },
  {
    name: 'memory relief does not start a failed flush again',
    file: 'src/storage/engine/background/memory-relief.ts',
    find: 'if (store.frozen.length > 0) flusher.schedule(store)',
    replace: '',
    tests: relief,
  },
  {
    name: 'a long log is not freed',
    file: 'src/storage/engine/background/memory-relief.ts',
    find: 'if (log.bytesTotal > options.logBytesMax) this.freeOldestSegment()',
    replace: '',
    tests: relief,
  },
  {
    name: 'a read-only open keeps the last segment open instead of its content',
    file: 'src/storage/engine/catalog/frozen-directory.ts',
    find: 'name === lastSegment || isStatement',
    replace: 'isStatement',
    tests: ['test/unit/storage/engine/frozen-directory.test.ts'],
  },
  {
    name: 'a close does not make the reserve whole',
    file: 'src/storage/engine/open/close-engine.ts',
    find: 'engine.reserve.restore(engine.versions.durableManifest.length)',
    replace: '',
    tests: ['test/unit/storage/engine/full-disk.test.ts'],
  },
  {
    name: 'a flush does not look again at its unit before it publishes',
    file: 'src/storage/engine/background/flusher.ts',
    find: 'if (!unit.isPending) return\n      const live',
    replace: 'const live',
    tests: flushes,
  },
  {
    name: 'a flush publishes before the log of its mutations is durable',
    file: 'src/storage/engine/background/flusher.ts',
    find: '      await logged\n',
    replace: '',
    tests: flushes,
  },
  {
    name: 'a poisoned database starts compactions',
    file: 'src/storage/engine/background/compactor.ts',
    find: '      if (!this.mayRun(store)) {',
    replace: '      if (this.isDropped(store)) {',
    tests: ['test/unit/storage/engine/poisoned-work.test.ts'],
  },
  {
    name: 'a failed flush is tried again in the same turn',
    file: 'src/storage/engine/background/flusher.ts',
    find: 'await new Promise<void>((resolve) => setImmediate(resolve))',
    replace: '',
    tests: ['test/unit/storage/engine/poisoned-work.test.ts'],
  },
  {
    name: 'a view does not keep the files of clones that a compaction replaces',
    file: 'src/storage/engine/catalog/read-points.ts',
    find: 'gone.filter((file) => read.has(readerOf(file)))',
    replace: 'gone.filter((file) => file.writtenAs === undefined && read.has(readerOf(file)))',
    tests: ['test/unit/storage/engine/views-of-links.test.ts'],
  },
  {
    name: 'stores with a common unlogged mutation are frozen one by one',
    file: 'src/storage/store/store.ts',
    find: 'const stores = [...(this.tied ?? [this])].filter',
    replace: 'const stores = [this as Store].filter',
    tests: ['test/crash/unlogged-families.test.ts'],
  },
  {
    name: 'a member of a list that gives hints is not asked behind one that rejects',
    file: 'src/storage/filter/filter-list.ts',
    find: 'if (!included && filter.givesHints !== true) continue',
    replace: 'if (!included) continue',
    tests: ['test/unit/storage/filter/filter-list.test.ts'],
  },
  {
    name: 'blocks that a cursor has read ahead are not held',
    file: 'src/storage/sstable/cursor.ts',
    find: 'for (let i = 0; i < blocks.length; i++) blocks[i].holders |= heldForGood',
    replace: '',
    tests: ['test/unit/storage/sstable/cache.test.ts'],
  },
  {
    name: 'a step that is repeated does not keep the blocks that were loaded for it',
    file: 'src/table/reads/block-loading.ts',
    find: 'pins.push({ loader: loader!, index })',
    replace: 'loader!.releaseBlock(index)',
    tests: ['test/unit/table/block-loading.test.ts'],
  },
  {
    name: 'a snapshot reads the whole row of an SSTable that is newer than the snapshot',
    file: 'src/storage/store/source-selection.ts',
    find: 'if (properties.maxSequence > this.readPoint) return false',
    replace: '',
    tests: ['test/unit/table/whole-rows.test.ts'],
  },
  {
    name: 'the address of a row outlives its block',
    file: 'src/storage/sstable/blocks/block-addresses.ts',
    find: 'if (mark >>> hitBits !== generation) return undefined',
    replace: '',
    tests: ['test/unit/storage/sstable/block-addresses.test.ts'],
  },
  {
    name: 'memory of a block that a read holds is lent to a job',
    file: 'src/storage/sstable/blocks/block-cache.ts',
    find: 'this.leaveSegment(block, keepsHot)) isHeld = true',
    replace: 'this.leaveSegment(block, keepsHot)) isHeld = false',
    tests: ['test/unit/storage/sstable/written-blocks.test.ts'],
  },
  {
    name: 'segments of a job that failed are lent again while its thread may write to them',
    file: 'src/storage/sstable/blocks/cache-segments.ts',
    find: 'if (hasFailed) this.count--',
    replace: 'if (false) this.count--',
    tests: ['test/unit/storage/sstable/written-blocks.test.ts'],
  },
  {
    name: 'a written block is found at the place of its neighbour',
    file: 'src/storage/sstable/blocks/written-blocks.ts',
    find: 'this.places[at + 1] = this.used',
    replace: 'this.places[at + 1] = this.used + length',
    tests: ['test/unit/storage/sstable/written-blocks.test.ts'],
  },
  {
    name: 'a row with older versions is remembered as a whole',
    file: 'src/storage/sstable/cursor.ts',
    find: 'if (this.slotAfterRow(located) !== slotEnd) return',
    replace: '',
    tests: ['test/unit/table/whole-rows.test.ts'],
  },
  {
    name: 'a feed that ends stops before the mutations of the turn of its call',
    file: 'src/storage/engine/transfer/change-feed.ts',
    find: 'sequence >= from && sequence <= to',
    replace: 'sequence >= from && sequence < to',
    tests: ['test/unit/table/admin/changes.test.ts'],
  },
  {
    name: 'a feed up to a later sequence ends at once',
    file: 'src/storage/engine/transfer/change-feed.ts',
    find: 'if (lastSequence >= span.to) return',
    replace: 'if (span.to < Infinity) return',
    tests: ['test/unit/table/admin/changes.test.ts'],
  },
  {
    name: 'a feed of families has the cells of all',
    file: 'src/table/changes.ts',
    find: 'if (wanted?.includes(family) === false) continue',
    replace: 'void wanted',
    tests: ['test/unit/table/admin/changes.test.ts'],
  },
]
