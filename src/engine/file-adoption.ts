/**
 * Brings finished SSTables into the database directory under new numbers, by hard links (copies
 * where there are none), on their way into an edit.
 *
 * Until an edit names them, the new names are garbage that the next open removes, so a crash at any
 * step leaves nothing behind; before the edit, {@link FileAdoption.abandon} takes them back.
 */
import { linkOrCopy } from '../fs/copy-file.js'
import { checksumNumberOf, type FileMetadata } from '../version/file-metadata.js'
import type { StoreFile } from '../version/version-edit.js'
import type { Engine } from './engine.js'

export class FileAdoption {
  private readonly engine: Engine
  private readonly numbers: number[] = []
  private readonly added: StoreFile[] = []

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** The files so far, for the edit. */
  get filesAdded(): readonly StoreFile[] {
    return this.added
  }

  /** Gives a file of the database a second name, for the store. */
  async share(file: FileMetadata, storeId: number): Promise<void> {
    const { fileSystem, readers } = this.engine
    const fileNumber = this.allocate()
    await linkOrCopy(fileSystem, readers.pathOf(file.fileNumber), readers.pathOf(fileNumber))
    const writtenAs = checksumNumberOf(file)
    this.added.push({ storeId, file: { ...file, fileNumber, writtenAs } })
  }

  /** A number whose file is removed by {@link abandon}. */
  allocate(): number {
    const fileNumber = this.engine.versions.allocateFileNumber()
    this.numbers.push(fileNumber)
    return fileNumber
  }

  /** Adds a file that is in the directory already, under a number of {@link allocate}. */
  add(file: FileMetadata, storeId: number): void {
    this.added.push({ storeId, file })
  }

  /** Makes the names durable and opens the readers: all that can fail before the edit. */
  prepare(withReaders: boolean): void {
    const { fileSystem, directory, readers } = this.engine
    if (this.added.length > 0) fileSystem.syncDirectorySync(directory)
    if (withReaders) for (const { file } of this.added) readers.open(file)
  }

  /** Takes everything back. REQUIRES that no edit with the files was begun. */
  abandon(): void {
    for (const fileNumber of this.numbers) {
      try {
        this.engine.readers.close(fileNumber)
        this.engine.fileSystem.unlinkSync(this.engine.readers.pathOf(fileNumber))
      } catch {
        // The error that led here is the one that counts; the next open removes the file.
      }
    }
  }
}
