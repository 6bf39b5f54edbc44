/**
 * Bytes of files that are not on the disk, or not only there, and open files over them. The file
 * systems in memory (memory-fs.ts) and over a captured directory (overlay-fs.ts) share both.
 */
import { assert } from '../../base/assert.js'
import { fileError, syntheticError } from './errors.js'
import type { File } from './types.js'

/** The bytes of a file. Counts its users; the last one gives the bytes back. */
export interface Content {
  /** Length in bytes. */
  readonly size: number
  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number
  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number>
  writeSync(source: Uint8Array, start: number, end: number, position: number): void
  truncateSync(length: number): void
  acquire(): this
  releaseSync(): void
}

/** Settles in a later turn, as calls on a disk do, so that the event loop does other work too. */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

let contentsMade = 0

/** Bytes in memory. */
export class MemoryContent implements Content {
  /** No other content of the process has it. */
  readonly contentNumber = ++contentsMade
  private bytes: Buffer
  size: number

  /** The bytes belong to the content from now on. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.size = bytes.length
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    const end = Math.min(this.size, position + length)
    return end <= position ? 0 : this.bytes.copy(target, targetStart, position, end)
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    await laterTurn()
    return this.readSync(target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    if (end === start) return
    this.truncateSync(Math.max(this.size, position + end - start))
    this.bytes.set(source.subarray(start, end), position)
  }

  truncateSync(length: number): void {
    if (length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.bytes.length))
      this.bytes.copy(larger, 0, 0, this.size)
      this.bytes = larger
    } else if (length < this.size) {
      this.bytes.fill(0, length, this.size)
    }
    this.size = length
  }

  acquire(): this {
    return this
  }

  releaseSync(): void {
    // The collector takes the bytes.
  }
}

/** An open file over a content. */
export class ContentFile implements File {
  readonly path: string
  private readonly content: Content
  private readonly writable: boolean
  private closed = false

  /** The file releases the content when it is closed. */
  constructor(path: string, content: Content, writable: boolean) {
    this.path = path
    this.content = content
    this.writable = writable
  }

  readSync(target: Uint8Array, targetStart: number, length: number, position: number): number {
    return this.readable(target, targetStart, length).readSync(
      target,
      targetStart,
      length,
      position,
    )
  }

  async read(
    target: Uint8Array,
    targetStart: number,
    length: number,
    position: number,
  ): Promise<number> {
    return this.readable(target, targetStart, length).read(target, targetStart, length, position)
  }

  writeSync(source: Uint8Array, start: number, end: number, position: number): void {
    const content = this.changeable('write')
    assert(start >= 0 && start <= end && end <= source.length, 'write outside of its source')
    content.writeSync(source, start, end, position)
  }

  /** Does nothing, since nothing is to survive the process. */
  syncSync(): void {
    this.opened('sync')
  }

  async sync(): Promise<void> {
    this.syncSync()
    await laterTurn()
  }

  sizeSync(): number {
    return this.opened('stat').size
  }

  truncateSync(length: number): void {
    this.changeable('truncate').truncateSync(length)
  }

  closeSync(): void {
    if (this.closed) return
    this.closed = true
    this.content.releaseSync()
  }

  private readable(target: Uint8Array, targetStart: number, length: number): Content {
    const content = this.opened('read')
    assert(
      targetStart >= 0 && length >= 0 && targetStart + length <= target.length,
      'read outside of its target',
    )
    return content
  }

  private changeable(operation: string): Content {
    if (!this.writable) throw fileError(operation, this.path, syntheticError('EBADF'))
    return this.opened(operation)
  }

  private opened(operation: string): Content {
    if (this.closed) throw fileError(operation, this.path, syntheticError('EBADF'))
    return this.content
  }
}
