/** The results of a verification and of a salvage, as data. */
import { CellarError, ErrorCode } from '../../../base/errors.js'
import { isShortage } from '../../fs/errors.js'

/** Rows that may have lost cells, both bounds included. */
export interface LostRows {
  /** First row, inclusive. */
  readonly firstRow: Buffer
  /** Last row, inclusive. */
  readonly lastRow: Buffer
  /** Offset in the file of the first damaged byte. */
  readonly offset: number
  /** Length of the damaged place. */
  readonly bytes: number
}

/** One thing that is wrong in a directory. */
export interface Problem {
  /** Path of the file. */
  readonly file: string
  /** The kind of the file. */
  readonly kind: 'manifest' | 'closing statement' | 'log' | 'SSTable' | 'value file' | 'backup'
  /** `ERR_CORRUPTION`, or `ERR_IO` for a file that the system cannot read. */
  readonly code: string
  /** Offset in bytes at which the damage was found; 0 for the file as a whole. */
  readonly offset: number
  /** The content that a sound file has there. */
  readonly expected: string
  /** The content that is there. */
  readonly found: string
  /** The same in a sentence. */
  readonly message: string
  /** Name of the table of the file, if it is of one. */
  readonly table?: string
  /** Name of the family of the file. */
  readonly family?: string
  /** Number of cells and markers of an SSTable that cannot be read. */
  readonly entriesLost?: number
  /** Rows of these cells. */
  readonly rows?: readonly LostRows[]
}

/** The result of a verification. */
export interface Verification {
  /** Path of the directory. */
  readonly directory: string
  /** Whether nothing is wrong. */
  readonly sound: boolean
  /** Everything that is wrong. */
  readonly problems: readonly Problem[]
  /** Facts that are no damage: torn tails, files that the manifest does not name. */
  readonly remarks: readonly string[]
  /** Number of SSTables and value files that were read. */
  readonly files: number
  /** Their bytes. */
  readonly bytes: number
  /** Cells and markers in these SSTables. */
  readonly entries: number
  /** Segments of the log that an open would take. */
  readonly logSegments: number
  /** Mutations in them. */
  readonly mutations: number
  /** Sequence of the last mutation that the manifest or the log names. */
  readonly lastSequence: number
}

/** The problem that an error shows. Other errors are thrown again. */
export function problemOf(error: unknown, file: string, kind: Problem['kind']): Problem {
  if (!isDamage(error)) throw error
  const { code, message, corruption } = error
  return {
    file: corruption?.file ?? file,
    kind,
    code,
    offset: corruption?.offset ?? 0,
    expected: corruption?.expected ?? 'a file that can be read',
    found: corruption?.found ?? message,
    message,
  }
}

/** Whether an error tells of damage, and not of a mistake, a newer format or a lack of memory. */
export function isDamage(error: unknown): error is CellarError {
  if (!(error instanceof CellarError)) return false
  if (error.code === ErrorCode.io) return !isShortage(error)
  return error.code === ErrorCode.corruption
}

/** Something that a salvage could not save. */
export interface Loss {
  /** Path of the file. */
  readonly file: string
  /** The kind of the file. */
  readonly kind: Problem['kind']
  /** Why, in a sentence. */
  readonly message: string
  /** Name of the table of the file, if it is of one. */
  readonly table?: string
  /** Name of the family of the file. */
  readonly family?: string
  /** Number of cells and markers of an SSTable that are lost. */
  readonly entriesLost?: number
  /** Rows of these cells. */
  readonly rows?: readonly LostRows[]
  /**
   * Mutations that are lost, of the log: those after the first sequence and before the second;
   * without the second those up to the end.
   */
  readonly sequences?: readonly [after: number, before: number | undefined]
}

/** The result of a salvage or of a repair. */
export interface Salvage {
  /** The directory that was read. */
  readonly from: string
  /** The directory that was written, or would be. */
  readonly to: string
  /** Whether files were written; false for the plan of a repair. */
  readonly written: boolean
  /** All problems of the directory. */
  readonly problems: readonly Problem[]
  /** Everything that could not be saved; empty if nothing is lost. */
  readonly losses: readonly Loss[]
  /** Names of SSTables that are kept as they are. */
  readonly filesKept: readonly string[]
  /** Names of files that came from the backup. */
  readonly filesFromBackup: readonly string[]
  /** Names of damaged SSTables whose readable cells went into new files. */
  readonly filesRebuilt: readonly string[]
  /** Names of files that were moved into the directory `damaged-…`; of a repair. */
  readonly filesMoved: readonly string[]
  /** Cells and markers of SSTables that were saved. */
  readonly entries: number
  /** Mutations of the log that were saved. */
  readonly mutations: number
}
