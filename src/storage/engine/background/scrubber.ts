/**
 * The scrub: reads all SSTables and value files again and again at a gentle rate, and reports
 * damage before a reader meets it.
 *
 * A file is read as by `SsTableReader.verify`, past the block cache, in the event loop: each step
 * is one block. A file that compactions replace meanwhile stays until it is read. Damage is
 * reported once for each file, and changes nothing: reads of other blocks go on. The scrub never
 * keeps the process alive.
 */
import type { CellarError } from '../../../base/errors.js'
import { formatFileName } from '../../version/file-names.js'
import type { FileMetadata } from '../../version/file-metadata.js'
import { forEachFile, valueFilesOf } from '../../version/version.js'
import type { OpenedParts } from '../engine.js'
import { isDamage } from '../inspection/findings.js'
import { Pace } from '../inspection/pace.js'

/** Time between two passes. */
const restMilliseconds = 1000

/** A file to be read; several stores may name a value file. */
interface ScrubbedFile {
  readonly fileNumber: number
  readonly fileBytes: number
  /** The description of an SSTable; undefined for a value file. */
  readonly table: FileMetadata | undefined
}

type ScrubberParts = Pick<OpenedParts, 'options' | 'readers' | 'reports' | 'versions'>

export class Scrubber {
  /** Whole passes over all files. */
  passes = 0
  filesRead = 0
  bytesRead = 0
  /** Names of the files in which damage was found. */
  readonly damagedFiles = new Set<string>()
  private readonly parts: ScrubberParts
  private readonly end = new AbortController()
  private running: Promise<void> | undefined = undefined

  constructor(parts: ScrubberParts) {
    this.parts = parts
  }

  /** Starts the passes, if the options ask for them. */
  start(): void {
    const { scrubBytesPerSecond, readOnly } = this.parts.options
    if (scrubBytesPerSecond === 0 || readOnly) return
    this.running = this.run(scrubBytesPerSecond).catch((error: unknown) => {
      if (!this.end.signal.aborted) this.parts.reports.warn(error)
    })
  }

  /** Ends the passes. Resolves when no file is in use any more. */
  async stop(): Promise<void> {
    this.end.abort()
    await this.running
  }

  private async run(bytesPerSecondMax: number): Promise<void> {
    while (!this.end.signal.aborted) {
      try {
        await this.pass(bytesPerSecondMax)
      } catch (error) {
        if (this.end.signal.aborted) throw error
        // A lack of file descriptors, for example: the next pass tries again.
        this.parts.reports.warn(error)
      }
      await this.pace(bytesPerSecondMax).rest(restMilliseconds)
    }
  }

  private async pass(bytesPerSecondMax: number): Promise<void> {
    let after = 0
    for (let file = this.next(after); file !== undefined; file = this.next(after)) {
      after = file.fileNumber
      await this.read(file, this.pace(bytesPerSecondMax))
    }
    this.passes++
  }

  private pace(bytesPerSecondMax: number): Pace {
    return new Pace('the scrub', { bytesPerSecondMax, signal: this.end.signal, isUnref: true })
  }

  /** The file with the lowest number above `after`. */
  private next(after: number): ScrubbedFile | undefined {
    let next: ScrubbedFile | undefined
    const offer = (fileNumber: number, fileBytes: number, table?: FileMetadata): void => {
      if (fileNumber <= after || fileNumber >= (next?.fileNumber ?? Infinity)) return
      next = { fileNumber, fileBytes, table }
    }
    const { current } = this.parts.versions
    forEachFile(current, (file) => offer(file.fileNumber, file.fileBytes, file))
    for (const [fileNumber, fileBytes] of valueFilesOf(current)) offer(fileNumber, fileBytes)
    return next
  }

  private async read(file: ScrubbedFile, pace: Pace): Promise<void> {
    const { versions, readers, reports } = this.parts
    // The files of the version stay open and on the disk until it is released.
    const version = versions.current.acquire()
    const { fileNumber, fileBytes, table } = file
    // Files of snapshots are open only while they are cloned or restored.
    const apart = readers.apart()
    try {
      const reader =
        table === undefined
          ? (readers.values.find(fileNumber) ?? apart.values.openOne(file))
          : (readers.find(fileNumber) ?? apart.open({ ...table, valueFiles: undefined }))
      await pace.run(reader.verify(), fileBytes, fileBytes / blockBytesGuess)
      this.filesRead++
      this.bytesRead += fileBytes
    } catch (error) {
      if (!isDamage(error)) throw error
      const name = formatFileName(table === undefined ? 'values' : 'table', fileNumber)
      if (this.damagedFiles.has(name)) return
      this.damagedFiles.add(name)
      reports.damageFound(name, error satisfies CellarError)
    } finally {
      apart.closeAll()
      version.release()
      versions.removeObsoleteFiles()
    }
  }
}

/** Stored bytes of a block, as steps of the pace. */
const blockBytesGuess = 4096
