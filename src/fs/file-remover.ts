/**
 * Removes files off the event loop, one after another: giving back the blocks of a large file takes
 * a file system many milliseconds.
 *
 * Failure behaviour: a file that cannot be removed is reported and forgotten; the next open of the
 * database removes what nothing names.
 */
import type { FileSystem } from './types.js'

/** See the file header. */
export class FileRemover {
  private readonly fileSystem: FileSystem
  private readonly onError: (error: unknown) => void
  private readonly queue: string[] = []
  private running: Promise<void> | undefined = undefined

  /** `onError` is told of each file that stays; it must not throw. */
  constructor(fileSystem: FileSystem, onError: (error: unknown) => void) {
    this.fileSystem = fileSystem
    this.onError = onError
  }

  /** Sees to it that a file goes. REQUIRES that nobody will use its name again. */
  remove(path: string): void {
    this.queue.push(path)
    this.running ??= this.run()
  }

  /** Resolves when everything that was handed over is gone or reported. Never rejects. */
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
