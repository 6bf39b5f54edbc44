/**
 * Reads the blocks of an HFile one after the other, and checks each: header, sizes, checksums,
 * compression.
 *
 * Ownership: a block is borrowed until the next read of the reader.
 *
 * Failure behaviour: any deviation from FORMAT.md is `ERR_CORRUPTION` with file and offset. Sizes
 * are compared with the file before memory is allocated for them.
 */
import { crc32 } from 'node:zlib'
import { corruption, ErrorCode, hasCode, type CellarError } from '../../base/errors.js'
import type { File } from '../../storage/fs/types.js'
import type { Compression } from './compression.js'
import { crc32c } from './bytes/crc32c.js'
import { BlockKind, checksumBytes, checksumCount, ChecksumKind, headerBytes } from './format.js'

const readAheadBytes = 1024 * 1024
/** Most bytes of a payload: a cell is limited to 32 MiB, and HBase's blocks are far smaller. */
const payloadBytesMax = 1024 * 1024 * 1024
const kinds: ReadonlySet<string> = new Set(Object.values(BlockKind))

/** A block that was checked. */
export interface Block {
  readonly kind: BlockKind
  readonly offset: number
  /** Bytes of the block with header and checksums. */
  readonly bytes: number
  readonly payload: Buffer
}

export class BlockReader {
  readonly path: string
  readonly #file: File
  readonly #compression: Compression
  readonly #end: number
  #offset: number
  /** The bytes of the file from `#aheadOffset` on. */
  #ahead: Buffer = Buffer.alloc(0)
  #aheadOffset = 0
  #aheadEnd = 0
  #memory = Buffer.allocUnsafeSlow(0)

  constructor(file: File, compression: Compression, offset: number, end: number) {
    this.path = file.path
    this.#file = file
    this.#compression = compression
    this.#offset = offset
    this.#end = end
  }

  get offset(): number {
    return this.#offset
  }

  next(): Block | undefined {
    const offset = this.#offset
    if (offset === this.#end) return undefined
    const header = this.#read(headerBytes)
    const kind = header.toString('latin1', 0, 8)
    if (!kinds.has(kind)) throw this.damaged('a block', JSON.stringify(kind))
    const storedBytes = header.readInt32BE(29)
    const each = header.readInt32BE(25)
    if (each < headerBytes) throw this.damaged(`${headerBytes} bytes a checksum`, `${each}`)
    const checksums = checksumCount(Math.max(0, storedBytes), each) * checksumBytes
    const bytes = headerBytes + header.readInt32BE(8)
    if (storedBytes < headerBytes || bytes !== storedBytes + checksums) {
      throw this.damaged(`${storedBytes} bytes and ${checksums} of checksums`, `${bytes}`)
    }
    const payloadBytes = header.readInt32BE(12)
    if (payloadBytes < 0 || payloadBytes > payloadBytesMax) {
      throw this.damaged(`at most ${payloadBytesMax} bytes`, `${payloadBytes}`)
    }
    const block = this.#read(bytes)
    this.#checkChecksums(block, storedBytes, each)
    const payload = this.#payload(block, storedBytes, payloadBytes)
    this.#offset += bytes
    return { kind: kind as BlockKind, offset, bytes, payload }
  }

  /** Makes an `ERR_CORRUPTION` about the next block, or about the one at an offset. */
  damaged(expected: string, found: string, offset = this.#offset): CellarError {
    return corruption('damaged HFile', { file: this.path, offset, expected, found })
  }

  /** The next bytes of the file, which stay the next ones. */
  #read(bytes: number): Buffer {
    if (bytes > this.#end - this.#offset) {
      throw this.damaged(`${bytes} bytes`, `${this.#end - this.#offset}`)
    }
    const at = this.#offset - this.#aheadOffset
    if (this.#offset + bytes <= this.#aheadEnd) return this.#ahead.subarray(at, at + bytes)
    const wanted = Math.min(Math.max(bytes, readAheadBytes), this.#end - this.#offset)
    if (this.#ahead.length < wanted) this.#ahead = Buffer.allocUnsafeSlow(wanted)
    const found = this.#file.readSync(this.#ahead, 0, wanted, this.#offset)
    if (found < wanted) throw this.damaged(`${wanted} bytes`, `${found}`)
    this.#aheadOffset = this.#offset
    this.#aheadEnd = this.#offset + wanted
    return this.#ahead.subarray(0, bytes)
  }

  /** Checks the checksums of the header and the stored payload, one for `each` bytes. */
  #checkChecksums(block: Buffer, storedBytes: number, each: number): void {
    const kind = block[24]
    let at = storedBytes
    for (let start = 0; start < storedBytes; start += each, at += checksumBytes) {
      const end = Math.min(storedBytes, start + each)
      let expected = 0
      if (kind === ChecksumKind.crc32c) expected = crc32c(block, start, end)
      else if (kind === ChecksumKind.crc32) expected = crc32(block.subarray(start, end))
      else if (kind !== ChecksumKind.none) throw this.damaged('a kind of checksum', `${kind}`)
      const found = block.readUInt32BE(at)
      if (expected !== found) {
        throw this.damaged(`checksum ${hex(expected)} of bytes ${start} to ${end}`, hex(found))
      }
    }
  }

  #payload(block: Buffer, storedBytes: number, payloadBytes: number): Buffer {
    if (this.#compression.name === 'NONE' && storedBytes - headerBytes === payloadBytes) {
      return block.subarray(headerBytes, storedBytes)
    }
    if (this.#memory.length < payloadBytes) this.#memory = Buffer.allocUnsafeSlow(payloadBytes)
    const payload = this.#memory.subarray(0, payloadBytes)
    try {
      this.#compression.decompress(block, headerBytes, storedBytes, payload)
    } catch (error) {
      if (!hasCode(error, ErrorCode.corruption)) throw error
      throw this.damaged(`${payloadBytes} bytes of ${this.#compression.name}`, error.message)
    }
    return payload
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}
