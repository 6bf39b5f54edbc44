/**
 * Reads a segment of the log frame by frame, while the segment may still grow.
 *
 * The caller says how far the reader may read. Everything before that limit was written whole, so
 * bytes that do not verify are damage (`ERR_CORRUPTION`), never a torn tail. Memory: one frame, or
 * 256 KiB.
 */
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import type { File, FileSystem } from '../fs/types.js'
import { decodeFileHeader, fileHeaderBytes, type RecordFileHeader } from '../record/file-header.js'
import {
  frameHeaderBytes,
  frameIsPlausible,
  frameKind,
  frameKindData,
  frameLength,
  frameOverheadBytes,
  frameSequence,
  frameVerifies,
} from '../record/frame.js'
import { forEachMutation, type OnMutation } from './recover-log.js'
import { segmentName } from './segment-name.js'

const windowBytes = 256 * 1024

export class SegmentReader {
  readonly fileNumber: number
  readonly header: RecordFileHeader
  /** Where the next frame starts. */
  position = fileHeaderBytes
  private readonly file: File
  /** The bytes of the file from `origin` on; the first `filled` bytes are valid. */
  private window: Buffer = Buffer.allocUnsafeSlow(windowBytes)
  private origin = fileHeaderBytes
  private filled = 0

  private constructor(file: File, fileNumber: number, header: RecordFileHeader) {
    this.file = file
    this.fileNumber = fileNumber
    this.header = header
  }

  /** Opens a segment and reads its header. */
  static async open(
    fileSystem: FileSystem,
    directory: string,
    databaseId: Buffer,
    fileNumber: number,
  ): Promise<SegmentReader> {
    const path = fileSystem.join(directory, segmentName(fileNumber))
    const file = fileSystem.openSync(path, 'read')
    try {
      const bytes = Buffer.alloc(fileHeaderBytes)
      const found = await file.read(bytes, 0, fileHeaderBytes, 0)
      const header = decodeFileHeader(bytes, found, path, { kind: 'log', fileNumber, databaseId })
      if (typeof header === 'string') {
        throw corruption('damaged log', {
          file: path,
          offset: 0,
          expected: 'a header',
          found: header,
        })
      }
      return new SegmentReader(file, fileNumber, header)
    } catch (error) {
      file.closeSync()
      throw error
    }
  }

  close(): void {
    this.file.closeSync()
  }

  /**
   * Reads the next frame with mutations that ends at or before `limit`, and calls `onMutation` for
   * each mutation. Returns false if there is no such frame yet.
   */
  async nextFrame(limit: number, onMutation: OnMutation): Promise<boolean> {
    while (this.position + frameHeaderBytes <= limit) {
      await this.fill(frameHeaderBytes, limit)
      const length = frameLength(this.window, this.position - this.origin)
      const frameBytes = frameOverheadBytes + length
      if (this.position + frameBytes > limit) throw this.damaged('a frame that ends in the file')
      await this.fill(frameBytes, limit)
      const { window, origin, filled, fileNumber, position } = this
      const at = position - origin
      const plausible = frameIsPlausible(window, at, filled, fileNumber, origin)
      if (!plausible || !frameVerifies(window, at, fileNumber, origin)) {
        throw this.damaged('a valid frame')
      }
      this.position += frameBytes
      if (frameKind(window, at) !== frameKindData) continue
      const start = at + frameHeaderBytes
      const sequence = frameSequence(window, at)
      forEachMutation(this.file.path, position, window, start, start + length, sequence, onMutation)
      return true
    }
    return false
  }

  /**
   * Reads until `bytes` bytes from `position` on are in the window. Bytes after `limit` may still
   * change, so none of them is kept.
   */
  private async fill(bytes: number, limit: number): Promise<void> {
    const at = this.position - this.origin
    if (this.filled - at >= bytes) return
    const kept = Math.max(0, this.filled - at)
    const target =
      bytes > this.window.length
        ? Buffer.allocUnsafeSlow(Math.max(bytes, windowBytes))
        : this.window
    this.window.copy(target, 0, at, at + kept)
    this.window = target
    this.origin = this.position
    this.filled = kept
    const wanted = Math.min(target.length, limit - this.origin) - kept
    const found = await this.file.read(target, kept, wanted, this.origin + kept)
    this.filled += found
    if (this.filled >= bytes) return
    const { path } = this.file
    throw new CellarError(ErrorCode.io, `${path} became shorter while it was read`)
  }

  private damaged(expected: string): CellarError {
    const { path } = this.file
    const found = 'bytes that are not a frame of this place'
    return corruption('damaged log', { file: path, offset: this.position, expected, found })
  }
}
