/**
 * Removes files in the background, one after another. Freeing the blocks of a large file can take a
 * file system many milliseconds.
 *
 * A file that cannot be removed is reported and skipped. The next open of the database removes all
 * files that the manifest does not name.
 */
import type { FileSystem } from './types.js'

export class FileRemover {
  private readonly fileSystem: FileSystem
  private readonly onError: (error: unknown) => void
  private readonly queue: string[] = []
  private running: Promise<void> | undefined = undefined

  /** `onError` is called for each file that cannot be removed; it must not throw. */
  constructor(fileSystem: FileSystem, onError: (error: unknown) => void) {
    this.fileSystem = fileSystem
    this.onError = onError
  }

  /** Queues a file for removal. REQUIRES that its name is not used again. */
  remove(path: string): void {
    this.queue.push(path)
    this.running ??= this.run()
  }

  /** Resolves when all queued files are removed or reported. Never rejects. */
  async idle(): Promise<void> {
    while (this.running !== undefined) await this.running
  }

  private async run(): Promise<void> {
    for (let path = this.queue.shift(); path !== undefined; path = this.queue.shift()) {
      try {
        await this.fileSystem.unlink(path)
      } catch (error) {
        this.onError(error)
      }
    }
    this.running = undefined
  }
}
