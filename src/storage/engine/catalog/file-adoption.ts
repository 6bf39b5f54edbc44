/**
 * Brings finished SSTables into the database directory under new numbers, by hard links, or by
 * copies where the file system has no links.
 *
 * Until an edit names the new files, the next open removes them, so a crash at any step leaves
 * nothing. Before the edit, {@link FileAdoption.abandon} removes them.
 */
import { quietly } from '../../fs/quietly.js'
import { linkOrCopy } from '../../fs/copy-file.js'
import { checksumNumberOf, type FileMetadata, type StoreFile } from '../../version/file-metadata.js'
import type { OpenedParts } from '../engine.js'

type AdoptionParts = Pick<OpenedParts, 'directory' | 'fileSystem' | 'readers' | 'versions'>

export class FileAdoption {
  private readonly parts: AdoptionParts
  private readonly numbers: number[] = []
  private readonly added: StoreFile[] = []

  constructor(parts: AdoptionParts) {
    this.parts = parts
  }

  /** The adopted files, for the edit. */
  get filesAdded(): readonly StoreFile[] {
    return this.added
  }

  /** Adds a file of the database under a new number, for the store `storeId`. */
  async share(file: FileMetadata, storeId: number): Promise<void> {
    const { fileSystem, readers } = this.parts
    const fileNumber = this.allocate()
    await linkOrCopy(fileSystem, readers.pathOf(file.fileNumber), readers.pathOf(fileNumber))
    const writtenAs = checksumNumberOf(file)
    this.added.push({ storeId, file: { ...file, fileNumber, writtenAs } })
  }

  /** Returns a number for a new file. {@link abandon} removes the file. */
  allocate(): number {
    const fileNumber = this.parts.versions.allocateFileNumber()
    this.numbers.push(fileNumber)
    return fileNumber
  }

  /** Adds a file that is in the directory under a number of {@link allocate}. */
  add(file: FileMetadata, storeId: number): void {
    this.added.push({ storeId, file })
  }

  /**
   * Makes the names durable and, with `withReaders`, opens the readers. Nothing before the edit can
   * fail after that.
   */
  prepare(withReaders: boolean): void {
    const { fileSystem, directory, readers } = this.parts
    if (this.added.length > 0) fileSystem.syncDirectorySync(directory)
    if (withReaders) for (const { file } of this.added) readers.open(file)
  }

  /** Removes the adopted files. REQUIRES that no edit with the files was begun. */
  abandon(): void {
    const { fileSystem, readers } = this.parts
    for (const fileNumber of this.numbers) {
      readers.close(fileNumber)
      // The next open removes a file that stays.
      quietly(() => fileSystem.unlinkSync(readers.pathOf(fileNumber)))
    }
  }
}
