/** The segments of a log: what is known of them, and how one is begun. */
import type { FileSystem } from '../fs/types.js'
import { RecordWriter } from '../record/record-writer.js'
import type { DurableFile, RecordFilePredecessor } from '../record/format.js'
import { segmentName } from './segment-name.js'

/** A segment of the log. */
export interface LogSegment {
  readonly fileNumber: number
  /** Bytes. */
  readonly length: number
  /** Sequence of its last mutation, or of the segments before it if it holds none. */
  readonly lastSequence: number
}

/** An older segment; `writer` is there until its data is durable. */
export interface OlderSegment extends LogSegment {
  readonly writer: RecordWriter | undefined
}

/** Where segments are. */
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

/** One shape for all, so that the list stays monomorphic. */
export function olderSegment(segment: LogSegment, writer: RecordWriter | undefined): OlderSegment {
  const { fileNumber, length, lastSequence } = segment
  return { fileNumber, length, lastSequence, writer }
}

/** Path of a segment. */
export function segmentPath(options: SegmentPlace, fileNumber: number): string {
  return options.fileSystem.join(options.directory, segmentName(fileNumber))
}

/** Creates a segment; its name is not durable yet. */
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
