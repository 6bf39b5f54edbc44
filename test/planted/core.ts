/**
 * Faults of the core, which every kind of the campaign runs through: one round of the seed 1 finds
 * each of them.
 */
import type { PlantedFault } from './planted-fault.js'

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'reads do not see a mutation that was applied',
    file: 'src/storage/engine/write/write-path.ts',
    find: `    readPoints.lastSequence = sequence
`,
    replace: `    readPoints.lastSequence = sequence - 1
`,
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'the last entry of a group does not reach the memtable',
    file: 'src/storage/engine/write/write-path.ts',
    find: `for (let i = 0; i < entryCount; i++) {
      const keyEnd`,
    replace: `for (let i = 0; i < Math.max(1, entryCount - 1); i++) {
      const keyEnd`,
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'versions beyond VERSIONS are kept',
    file: 'src/storage/scan/column-tracker.ts',
    find: 'if (this.count > this.versionsMax) return this.leaveColumn()',
    replace: 'if (this.count > this.versionsMax + 1) return this.leaveColumn()',
    tests: [],
    foundBy: 'model',
  },
  {
    name: 'equal cells of two files count twice',
    file: 'src/storage/scan/column-tracker.ts',
    find: `      return MatchCode.skip
`,
    replace: `      this.count += 0
`,
    tests: [],
    foundBy: 'options',
  },
  {
    name: 'a marker counts as a version',
    file: 'src/storage/scan/column-tracker.ts',
    find: 'if (!isDeleteMarker(cell.type)) this.count++',
    replace: 'this.count++',
    tests: [],
    foundBy: 'model',
  },
  {
    name: 'the column after a skipped one is lost',
    file: 'src/storage/scan/column-tracker.ts',
    find: 'if (order < 0) return MatchCode.seekNextColumn',
    replace: 'if (order < 0) return MatchCode.seekNextRow',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'a log sync passes by the current segment',
    file: 'src/storage/wal/open-segments.ts',
    find: '...(withCurrent ? [this.current] : [])',
    replace: '...(withCurrent ? [] : [])',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'the name of a segment is never synced',
    file: 'src/storage/wal/open-segments.ts',
    find: 'if (!this.nameIsDurable) syncs.push(this.syncName())',
    replace: 'if (!this.nameIsDurable) this.nameHasBecomeDurable()',
    tests: [],
    foundBy: 'log',
  },
  {
    name: 'a sync covers what was written while it ran',
    file: 'src/storage/record/record-writer.ts',
    find: 'if (length > this.syncedLength) this.syncedLength = length',
    replace: 'this.syncedLength = this.length',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'a record sync does not sync',
    file: 'src/storage/record/record-writer.ts',
    find: `      await this.file.sync()
`,
    replace: `      await Promise.resolve()
`,
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'a child of a merge that begins before the key is kept out',
    file: 'src/storage/cursor/merge-cursor.ts',
    find: 'return child.valid && (!this.within || this.hasPrefix(child))',
    replace: 'return child.valid && this.hasPrefix(child)',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'a family marker spares the puts of its own time',
    file: 'src/storage/scan/delete-tracker.ts',
    find: 'compareTimestamps(high, low, this.familyHigh, this.familyLow) <= 0',
    replace: 'compareTimestamps(high, low, this.familyHigh, this.familyLow) < 0',
    tests: [],
    foundBy: 'options',
  },
  {
    name: 'markers of the row before mask this row',
    file: 'src/storage/scan/delete-tracker.ts',
    find: `    this.hasFamilyMarker = false
    this.familyVersionCount = 0`,
    replace: '    this.familyVersionCount = 0',
    tests: [],
    foundBy: 'options',
  },
  {
    name: 'a marker of one version of a family masks none',
    file: 'src/storage/scan/delete-tracker.ts',
    find: `        return Masking.version
      }`,
    replace: `        return Masking.none
      }`,
    tests: [],
    foundBy: 'options',
  },
  {
    name: 'the marker of a column is taken for that of the next',
    file: 'src/storage/scan/delete-tracker.ts',
    find: `    if (!this.column.isOf(cell)) {
      this.columnType = 0`,
    replace: `    if (this.column.isOf(cell) === undefined) {
      this.columnType = 0`,
    tests: [],
    foundBy: 'model',
  },
  {
    name: 'a compaction drops what an open snapshot sees',
    file: 'src/storage/job/cell-judge.ts',
    find: 'if (cell.sequence <= this.scope.sequenceKept) return true',
    replace: '',
    tests: [],
    foundBy: 'views',
  },
  {
    name: 'a compaction goes on skipping in the next row',
    file: 'src/storage/job/cell-judge.ts',
    find: `    this.skippingColumn = false
    this.matcher.startRow()`,
    replace: '    this.matcher.startRow()',
    tests: [],
    foundBy: 'power-cut',
    seed: 2,
  },
  {
    name: 'a file is chosen by its newest sequence',
    file: 'src/storage/store/source-choice.ts',
    find: 'if (properties.minSequence > read.readPoint) return false',
    replace: 'if (properties.maxSequence > read.readPoint) return false',
    tests: [],
    foundBy: 'views',
  },
  {
    name: 'a file of deletes is left out by its times',
    file: 'src/storage/store/source-choice.ts',
    find: 'if (properties.deleteCount > 0 || settings.newVersionBehavior) return true',
    replace: '',
    tests: [],
    foundBy: 'views',
  },
  {
    name: 'an atomic batch is applied although a check fails',
    file: 'src/table/operations/atomic.ts',
    find: 'if (checks[i].operations.holds(checks[i].check, mode)) continue',
    replace: 'if (checks[i].operations.holds(checks[i].check, mode) || i === 0) continue',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'an increment may have the time of the cell before',
    file: 'src/table/operations/counters.ts',
    find: 'const newer = now > next ? now : next',
    replace: 'const newer = now > next ? now : next - 2n',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'an append puts its tail first',
    file: 'src/table/operations/counters.ts',
    find: 'Buffer.concat([stored.copyValue(), tail])',
    replace: 'Buffer.concat([tail, stored.copyValue()])',
    tests: [],
    foundBy: 'options',
  },
  {
    name: 'family markers of the row before count on',
    file: 'src/storage/scan/write-order-tracker.ts',
    find: `    this.familyMarkers.count = 0
    this.column.clear()`,
    replace: '    this.column.clear()',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'the names of flushed files are not synced',
    file: 'src/storage/job/flush-job.ts',
    find: `    fileSystem.syncDirectorySync(job.directory)
`,
    replace: '',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'the bytes of a file are not synced',
    file: 'src/storage/sstable/blocks/section-writer.ts',
    find: `    this.file.syncSync()
`,
    replace: '',
    tests: [],
    foundBy: 'histories',
  },
  {
    name: 'the name of a new manifest is not synced',
    file: 'src/storage/version/manifest.ts',
    find: `    fileSystem.syncDirectorySync(directory)
`,
    replace: '',
    tests: [],
    foundBy: 'power-cut',
  },
  {
    name: 'a flush forgets the last entry',
    file: 'src/storage/job/flush-job.ts',
    find: `  while (cursor.valid) {
`,
    replace: `  const last = total - 1
  while (cursor.valid && (last < 3 || done < last)) {
`,
    tests: [],
    foundBy: 'histories',
  },
]
