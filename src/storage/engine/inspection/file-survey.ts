/** Reads all SSTables and value files that a state names, and tells which are sound. */
import type { Codecs } from '../../codec/codec.js'
import { SsTableReaders } from '../../files/sstable-readers.js'
import type { FileSystem } from '../../fs/types.js'
import type { SsTableReader } from '../../sstable/reader.js'
import type { DatabasePlace } from '../../version/database-place.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { checkFileSync } from '../../version/open-directory.js'
import { forEachFile, valueFilesOf, type VersionState } from '../../version/version.js'
import { isDamage, problemOf, type LostRows, type Problem } from './findings.js'
import type { Pace } from './pace.js'
import { allRowsOf, checkTable, surveyTable, type OnCell } from './table-survey.js'

/** An SSTable and what can be read of it. */
export interface SurveyedTable {
  readonly storeId: number
  readonly file: FileMetadata
  /** The first problem of the file, or of a value file that it refers to. */
  readonly problem: Problem | undefined
  readonly entriesRead: number
  readonly lost: readonly LostRows[]
}

/** All files of a state. */
export interface FileSurvey {
  readonly tables: readonly SurveyedTable[]
  /** By number; undefined for a sound value file. */
  readonly valueFiles: ReadonlyMap<number, Problem | undefined>
}

/** The SSTables of a directory, each with as many value files as can be opened. */
export class SurveyedFiles {
  readonly readers: SsTableReaders
  private readonly fileSystem: FileSystem
  private readonly pace: Pace

  constructor(fileSystem: FileSystem, place: DatabasePlace, codecs: Codecs, pace: Pace) {
    this.fileSystem = fileSystem
    this.readers = new SsTableReaders(fileSystem, place, codecs, 0)
    this.pace = pace
  }

  /** Reads everything. The value files that can be opened stay open. */
  async survey(state: VersionState): Promise<FileSurvey> {
    const files: { file: FileMetadata; storeId: number }[] = []
    forEachFile(state, (file, storeId) => files.push({ file, storeId }))
    const valueFiles = valueFilesOf(state)
    for (const { file } of files) this.pace.bytesTotal += 2 * file.fileBytes
    for (const bytes of valueFiles.values()) this.pace.bytesTotal += bytes
    const problems = new Map<number, Problem | undefined>()
    for (const [fileNumber, fileBytes] of valueFiles) {
      problems.set(fileNumber, await this.checkValues(fileNumber, fileBytes))
    }
    const tables: SurveyedTable[] = []
    for (const { file, storeId } of files) tables.push(await this.surveyOne(file, storeId))
    return { tables, valueFiles: problems }
  }

  /** The open reader of a file, without a check of its cells. */
  open(file: FileMetadata): SsTableReader {
    const path = this.readers.pathOf(file.fileNumber)
    checkFileSync(this.fileSystem, path, file.fileBytes, 'SSTable')
    // Of the value files, those are open that can be opened.
    return this.readers.open({ ...file, valueFiles: undefined })
  }

  /** Calls `onCell` for each cell of the file that can be read. */
  async read(file: FileMetadata, onCell: OnCell): Promise<void> {
    const reader = this.open(file)
    try {
      const steps = surveyTable(reader, this.readers.values, file, onCell)
      await this.pace.run(steps, file.fileBytes, reader.index.blockCount)
    } finally {
      this.readers.close(file.fileNumber)
    }
  }

  /** The first problem of a value file. */
  async checkValues(fileNumber: number, fileBytes: number): Promise<Problem | undefined> {
    const { values } = this.readers
    const path = values.pathOf(fileNumber)
    try {
      checkFileSync(this.fileSystem, path, fileBytes, 'value file')
      values.open([{ fileNumber, fileBytes }])
      await this.pace.run(values.find(fileNumber)!.verify(), fileBytes, fileBytes / valueBytesGuess)
      return undefined
    } catch (error) {
      return problemOf(error, path, 'value file')
    }
  }

  async surveyOne(file: FileMetadata, storeId: number): Promise<SurveyedTable> {
    const { fileNumber, fileBytes, entryCount } = file
    const { values } = this.readers
    let reader: SsTableReader
    try {
      reader = this.open(file)
    } catch (error) {
      const problem = problemOf(error, this.readers.pathOf(fileNumber), 'SSTable')
      return { storeId, file, problem, entriesRead: 0, lost: [allRowsOf(file)] }
    }
    const { blockCount } = reader.index
    try {
      const steps = checkTable(reader, values, file)
      await this.pace.run(steps, 2 * fileBytes, 2 * blockCount)
      return { storeId, file, problem: undefined, entriesRead: entryCount, lost: [] }
    } catch (error) {
      if (!isDamage(error)) throw error
      const steps = surveyTable(reader, values, file, () => {})
      const survey = await this.pace.run(steps, fileBytes, blockCount)
      const isOfValues = error.corruption?.file.endsWith('.val') === true
      const problem = problemOf(error, reader.path, isOfValues ? 'value file' : 'SSTable')
      return { storeId, file, problem, ...survey }
    } finally {
      this.readers.close(fileNumber)
    }
  }

  /** Closes all files. */
  close(): void {
    this.readers.closeAll()
  }
}

/** Values take at least this many bytes in a value file, as steps of the pace. */
export const valueBytesGuess = 4096
