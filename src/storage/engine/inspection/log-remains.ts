/**
 * The mutations that the log still holds, and those that are lost.
 *
 * Of a log that an open would take, these are the mutations that the open would replay. Of a
 * damaged log these are all whole frames, also those after the damage, or only those before it.
 */
import { compareBytes } from '../../../base/bytes.js'
import { sequenceOf } from '../../cell/cell-key.js'
import type { FileSystem } from '../../fs/types.js'
import { readRemainsSync, type RecordRemains } from '../../record/record-remains.js'
import { formatFileName } from '../../version/file-names.js'
import { forEachMutation } from '../../wal/recover-log.js'
import { isWellFormedMutation, serverTimestampOf, visitEntries } from '../write/mutation-buffer.js'
import type { Evidence } from './evidence.js'
import type { Loss } from './findings.js'

/** A cell of the log: key and value in one buffer. */
export interface LoggedCell {
  readonly bytes: Buffer
  readonly keyBytes: number
}

/** See the file header. */
export interface LogRemains {
  /** Cells that are in no SSTable, by store, in the order of their keys. */
  readonly cells: ReadonlyMap<number, readonly LoggedCell[]>
  readonly mutations: number
  readonly lastSequence: number
  readonly lastServerTimestamp: number
  readonly losses: readonly Loss[]
}

/** Which mutations of a damaged log are taken. */
export type LogChoice = 'all' | 'prefix'

/** Reads the log of a view. Memory: the cells that are in no SSTable. */
export function readLogRemains(
  view: FileSystem,
  directory: string,
  evidence: Evidence,
  choice: LogChoice,
): LogRemains {
  const collector = new LogCollector(evidence)
  const { log } = evidence
  if (log !== undefined) {
    for (const { path, fileNumber, scan } of log.kept) {
      collector.read(view, path, fileNumber, scan.validLength)
    }
    return collector.finish([])
  }
  const losses: Loss[] = []
  const floor = evidence.state.logFileNumberFloor
  let before: { remains: RecordRemains; fileNumber: number } | undefined
  for (const fileNumber of evidence.segments) {
    if (fileNumber < floor) continue
    const path = view.join(directory, formatFileName('log', fileNumber))
    const known = collector.lastSequence
    const limit = choice === 'all' || losses.length === 0 ? Infinity : 0
    const remains = collector.read(view, path, fileNumber, limit, choice === 'prefix')
    const predecessor = remains.header?.predecessor
    const missing = Math.max(known, evidence.flushedSequence)
    if (predecessor !== undefined && predecessor.lastSequence > missing) {
      const file = view.join(directory, formatFileName('log', predecessor.fileNumber))
      const sequences = [missing, predecessor.lastSequence + 1] as const
      const isThere = before?.fileNumber === predecessor.fileNumber
      const message = isThere ? `the end of ${file} is lost` : `${file} is missing`
      losses.push({ file, kind: 'log', message, sequences })
    }
    for (const { start, end, sequenceBefore, sequenceAfter } of remains.gaps) {
      const message = `${path} is damaged from ${start} to ${end}`
      const sequences = [Math.max(known, sequenceBefore), sequenceAfter] as const
      losses.push({ file: path, kind: 'log', message, sequences })
    }
    before = { remains, fileNumber }
  }
  for (const { kind, file, message } of evidence.problems) {
    if (kind !== 'log' || losses.some((loss) => loss.file === file)) continue
    const found = Math.max(collector.lastSequence, evidence.flushedSequence)
    const sequences = [found, undefined] as const
    losses.push({ file, kind, message, sequences })
  }
  return collector.finish(losses)
}

class LogCollector {
  lastSequence = 0
  private mutations = 0
  private lastServerTimestamp = 0
  private readonly cells = new Map<number, LoggedCell[]>()
  private readonly evidence: Evidence

  constructor(evidence: Evidence) {
    this.evidence = evidence
  }

  /** Takes the frames of a segment before `limit`; with `untilGap` those before the first gap. */
  read(
    view: FileSystem,
    path: string,
    fileNumber: number,
    limit: number,
    untilGap = false,
  ): RecordRemains {
    const { databaseId } = this.evidence
    const expected = { kind: 'log' as const, fileNumber, ...(databaseId && { databaseId }) }
    const end = untilGap
      ? (readRemainsSync(view, path, expected, () => {}).gaps.at(0)?.start ?? limit)
      : limit
    return readRemainsSync(view, path, expected, (payload, from, to, sequence, offset) => {
      if (offset >= Math.min(limit, end)) return
      forEachMutation(path, offset, payload, from, to, sequence, (source, start, stop) => {
        if (isWellFormedMutation(source, start, stop)) this.take(source, start, stop)
      })
      this.lastSequence = Math.max(this.lastSequence, sequence)
    })
  }

  private take(source: Buffer, start: number, end: number): void {
    const { stores } = this.evidence.state
    const serverTimestamp = serverTimestampOf(source, start)
    this.lastServerTimestamp = Math.max(this.lastServerTimestamp, serverTimestamp)
    this.mutations++
    visitEntries(source, start, end, (storeId, buffer, keyStart, keyEnd, valueEnd) => {
      const sequence = sequenceOf(buffer, keyEnd)
      this.lastSequence = Math.max(this.lastSequence, sequence)
      const store = stores.get(storeId)
      if (store === undefined || sequence <= store.flushedSequence) return
      const bytes = Buffer.from(buffer.subarray(keyStart, valueEnd))
      const cells = this.cells.get(storeId) ?? []
      this.cells.set(storeId, cells)
      cells.push({ bytes, keyBytes: keyEnd - keyStart })
    })
  }

  finish(losses: readonly Loss[]): LogRemains {
    const { mutations, lastSequence, lastServerTimestamp, cells } = this
    for (const [storeId, list] of cells) {
      list.sort((a, b) => compareBytes(a.bytes, 0, a.keyBytes, b.bytes, 0, b.keyBytes))
      // An SSTable holds a key once.
      const distinct = list.filter((cell, i) => i === 0 || !hasSameKey(cell, list[i - 1]))
      cells.set(storeId, distinct)
    }
    return { cells, mutations, lastSequence, lastServerTimestamp, losses }
  }
}

function hasSameKey(a: LoggedCell, b: LoggedCell): boolean {
  return compareBytes(a.bytes, 0, a.keyBytes, b.bytes, 0, b.keyBytes) === 0
}
