/** The results of an inspection of a directory, as data. */
import type { Problem } from './findings.js'

/** The structure of a database directory at one moment. Sizes are bytes. */
export interface Inspection {
  /** Path of the directory. */
  readonly directory: string
  /** Identity of the database, in hexadecimal digits; undefined if no file has it. */
  readonly databaseId: string | undefined
  /** The manifest that an open reads. */
  readonly manifest: InspectedManifest
  /** Sequence of the last mutation that the manifest or the log names. */
  readonly lastSequence: number
  /** All mutations up to this sequence are in SSTables. */
  readonly flushedSequence: number
  /** Segments of the log, the oldest first. */
  readonly log: readonly InspectedSegment[]
  /** The families of all tables and snapshots. */
  readonly families: readonly InspectedFamily[]
  /** Files of large values, by number. */
  readonly valueFiles: readonly InspectedValueFile[]
  /** Names of SSTables and value files that the manifest does not name. */
  readonly unknownFiles: readonly string[]
  /** The SSTable that was asked for. */
  readonly file: FileDetails | undefined
  /** Damage of manifest, log and the SSTable that was asked for. */
  readonly problems: readonly Problem[]
  /** Facts that are no damage, such as torn tails. */
  readonly remarks: readonly string[]
}

/** The manifest. */
export interface InspectedManifest {
  /** Name in the directory. */
  readonly name: string
  /** Size of the file. */
  readonly bytes: number
}

/** A segment of the log. */
export interface InspectedSegment {
  /** Name in the directory. */
  readonly name: string
  /** Size of the file. */
  readonly bytes: number
  /** Bytes up to the end of the last whole frame; undefined if an open would not take the file. */
  readonly validBytes: number | undefined
  /** Sequence of the last mutation; undefined if an open would not take the file. */
  readonly lastSequence: number | undefined
}

/** A family of a table or of a snapshot. */
export interface InspectedFamily {
  /** Name of the table. */
  readonly table: string
  /** Name of the snapshot, if the files are those of one. */
  readonly snapshot?: string
  /** Name of the family. */
  readonly family: string
  /** Number of the family in manifest and log. */
  readonly storeId: number
  /** All mutations of the family up to this sequence are in SSTables. */
  readonly flushedSequence: number
  /** SSTables by level: level 0 the newest first, deeper levels by key. */
  readonly levels: readonly (readonly InspectedFile[])[]
}

/** An SSTable as the manifest describes it. Bounds are inclusive. */
export interface InspectedFile {
  /** Name in the directory. */
  readonly name: string
  /** Number in the name. */
  readonly fileNumber: number
  /** Level in the tree. */
  readonly level: number
  /** Size of the file. */
  readonly bytes: number
  /** Cells and markers. */
  readonly entryCount: number
  /** Delete markers among them. */
  readonly deleteCount: number
  /** Lowest sequence of an entry. */
  readonly minSequence: number
  /** Highest sequence of an entry. */
  readonly maxSequence: number
  /** Lowest timestamp of an entry. */
  readonly minTimestamp: bigint
  /** Highest timestamp of an entry. */
  readonly maxTimestamp: bigint
  /** Time at which the file was written, in milliseconds since the Unix epoch. */
  readonly createdMilliseconds: number
  /** First row. */
  readonly firstRow: Buffer
  /** Last row. */
  readonly lastRow: Buffer
  /** Names of the value files that its cells refer to. */
  readonly valueFiles: readonly string[]
}

/** A file of large values. */
export interface InspectedValueFile {
  /** Name in the directory. */
  readonly name: string
  /** Size of the file. */
  readonly bytes: number
  /** Bytes of values that SSTables refer to; references of snapshots count again. */
  readonly bytesUsed: number
}

/** One SSTable with its blocks. */
export interface FileDetails {
  /** Name of the table. */
  readonly table: string
  /** Name of the snapshot, if only snapshots have the file. */
  readonly snapshot?: string
  /** Name of the family. */
  readonly family: string
  /** The file as the manifest describes it. */
  readonly described: InspectedFile
  /** Codec of its blocks; undefined if the file cannot be opened. */
  readonly codec: string | undefined
  /** Bytes of its keys. */
  readonly keyBytes: number
  /** Bytes of its values, without those in value files. */
  readonly valueBytes: number
  /** The blocks in order; none if the file cannot be opened. */
  readonly blocks: readonly InspectedBlock[]
}

/** A block of an SSTable. */
export interface InspectedBlock {
  /** Offset in the file. */
  readonly offset: number
  /** Stored bytes. */
  readonly bytes: number
  /** Cells and markers that can be read. */
  readonly entries: number
  /** First row; undefined if nothing can be read. */
  readonly firstRow: Buffer | undefined
  /** Last row; undefined if nothing can be read. */
  readonly lastRow: Buffer | undefined
}
