/**
 * Writes the blocks of an HFile one after the other, compressed and with checksums.
 *
 * Written bytes are collected and go to the file in pieces of about a mebibyte.
 */
import type { File } from '../../storage/fs/types.js'
import type { Compression } from './compression.js'
import {
  BlockKind,
  checksumBytes,
  checksumCount,
  headerBytes,
  writeChecksums,
  writeHeader,
} from './format.js'

const pendingBytes = 1024 * 1024

/** Where a block lies: as indexes refer to it. */
export interface BlockPlace {
  readonly offset: number
  /** Bytes of the block with header and checksums. */
  readonly bytes: number
}

export class BlockWriter {
  offset = 0
  /** Headers and payloads so far, uncompressed. */
  uncompressedBytes = 0
  readonly #file: File
  readonly #compression: Compression
  readonly #previous = new Map<BlockKind, number>()
  #pending = Buffer.allocUnsafeSlow(pendingBytes)
  #pendingEnd = 0
  #written = 0

  constructor(file: File, compression: Compression) {
    this.#file = file
    this.#compression = compression
  }

  /** Writes a block whose payload is `block[headerBytes, end)`, and the header before it. */
  write(kind: BlockKind, block: Buffer, end: number): BlockPlace {
    let stored = block
    let storedBytes = end
    if (this.#compression.name !== 'NONE') {
      const packed = this.#compression.compress(block, headerBytes, end)
      storedBytes = headerBytes + packed.length
      stored = Buffer.allocUnsafe(storedBytes)
      packed.copy(stored, headerBytes)
    }
    const previousOffset = this.#previous.get(kind) ?? -1
    writeHeader(stored, kind, { payloadBytes: end - headerBytes, storedBytes, previousOffset })
    const bytes = storedBytes + checksumCount(storedBytes) * checksumBytes
    const at = this.#reserve(bytes)
    stored.copy(this.#pending, at, 0, storedBytes)
    writeChecksums(stored, storedBytes, this.#pending, at + storedBytes)
    const place = { offset: this.offset, bytes }
    this.#previous.set(kind, place.offset)
    this.offset += bytes
    this.uncompressedBytes += end
    return place
  }

  writeBytes(bytes: Buffer): void {
    const at = this.#reserve(bytes.length)
    bytes.copy(this.#pending, at)
    this.offset += bytes.length
  }

  /** Writes the collected bytes to the file. */
  flush(): void {
    this.#file.writeSync(this.#pending, 0, this.#pendingEnd, this.#written)
    this.#written += this.#pendingEnd
    this.#pendingEnd = 0
  }

  #reserve(bytes: number): number {
    if (this.#pendingEnd + bytes > this.#pending.length) {
      this.flush()
      if (bytes > this.#pending.length) this.#pending = Buffer.allocUnsafeSlow(bytes)
    }
    const at = this.#pendingEnd
    this.#pendingEnd += bytes
    return at
  }
}
