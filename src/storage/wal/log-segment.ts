/** Segments of a log: their description, and how a new one is created. */
import type { FileSystem } from '../fs/types.js'
import { RecordWriter } from '../record/record-writer.js'
import type { DurableFile, RecordFilePredecessor } from '../record/file-header.js'
import { segmentName } from './segment-name.js'

/** A segment of the log. */
export interface LogSegment {
  readonly fileNumber: number
  /** Length in bytes. */
  readonly length: number
  /** Sequence of its last mutation; if there is none, of the segments before it. */
  readonly lastSequence: number
}

/** Where segments are created. */
export interface SegmentPlace {
  readonly fileSystem: FileSystem
  readonly directory: string
  /** Identity of the database, written into every segment. */
  readonly databaseId: Buffer
  /** See `LogOptions`. */
  readonly durableManifest?: () => DurableFile
  /** See `LogOptions`. */
  readonly allocateFileNumber: () => number
}

/** Path of a segment. */
export function segmentPath(options: SegmentPlace, fileNumber: number): string {
  return options.fileSystem.join(options.directory, segmentName(fileNumber))
}

/** Creates a segment. The caller makes its name durable. */
export function createSegment(
  options: SegmentPlace,
  predecessor: RecordFilePredecessor | undefined,
  predecessorsSynced: boolean,
): RecordWriter {
  const fileNumber = options.allocateFileNumber()
  const path = segmentPath(options, fileNumber)
  const header = {
    kind: 'log' as const,
    databaseId: options.databaseId,
    fileNumber,
    predecessor,
    predecessorsSynced,
    manifest: options.durableManifest?.(),
  }
  return RecordWriter.createSync(options.fileSystem, path, header, true)
}
