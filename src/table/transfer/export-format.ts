/**
 * The chunks of an exported table (EXPORT.md): frames with checksums bound to their offset in the
 * stream, so damage, loss, repetition and exchange of chunks are all detected.
 *
 * Failure behaviour: any deviation from the format is `ERR_CORRUPTION` with the offset of the
 * chunk. Lengths are compared with limits before memory is allocated for them.
 */
import { CellarError, corruption, ErrorCode, hasCode } from '../../base/errors.js'
import { readVarint, varintLength } from '../../base/varint.js'
import {
  checksumLength,
  placeSeed,
  writeChecksum,
  checksumMatches,
} from '../../storage/codec/checksum.js'
import type { Codec, Codecs } from '../../storage/codec/codec.js'
import { BlockMemory, wordSlackBytes } from '../../storage/sstable/blocks/block-memory.js'

/** Kinds of chunks. Part of the disk format: never change. */
export const ChunkKind = { head: 1, cells: 2, end: 3 } as const

/** The beginning of a stream, before the first chunk. */
export const exportMagic = Buffer.from('CELLAREX', 'latin1')
const headerBytes = 16
/** Maximum size of a payload; one cell may have 32 MiB. */
const payloadBytesMax = 64 * 1024 * 1024
/** Memory up to this size is reused for the next chunk. */
const keptBytesMax = 1024 * 1024

/** One chunk of a stream. */
export interface Chunk {
  readonly kind: number
  /** The uncompressed payload, `memory.buffer[0, length)`; borrowed until the next chunk. */
  readonly payload: Buffer
  readonly memory: BlockMemory
  /** Offset of the chunk in the stream. */
  readonly offset: number
}

/** Gets a cell of a chunk by the position of its family and its place in the memory. */
export type TakeCell = (family: number, keyStart: number, keyEnd: number, valueEnd: number) => void

/** Encodes chunks; keeps the offset in the stream. */
export class ChunkEncoder {
  private readonly codec: Codec
  private offset = exportMagic.length

  constructor(codec: Codec) {
    this.codec = codec
  }

  /** Encodes a chunk into memory of its own. */
  encode(kind: number, payload: Buffer): Buffer {
    const compressed = this.codec.compress(payload, 0, payload.length)
    const stored = compressed ?? payload
    const end = headerBytes + stored.length
    const chunk = Buffer.allocUnsafe(end + checksumLength)
    chunk.writeUInt32LE(stored.length, 0)
    chunk.writeUInt32LE(payload.length, 4)
    chunk.writeUInt8(kind, 8)
    chunk.writeUInt8(compressed === undefined ? 0 : this.codec.id, 9)
    chunk.fill(0, 10, headerBytes)
    stored.copy(chunk, headerBytes)
    writeChecksum(chunk, end, chunk.subarray(0, end), placeSeed(0, this.offset))
    this.offset += chunk.length
    return chunk
  }
}

/** Decodes chunks from pieces of any size. */
export class ChunkDecoder {
  private readonly codecs: Codecs
  private readonly name: string
  private pieces: Buffer[] = []
  private waiting = 0
  /** Bytes consumed so far. */
  private offset = 0
  private kept: BlockMemory | undefined = undefined

  /** `name` names the stream in errors. */
  constructor(codecs: Codecs, name: string) {
    this.codecs = codecs
    this.name = name
  }

  /** Adds the next piece, which must not be changed afterwards. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return
    this.pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length))
    this.waiting += piece.length
  }

  /** The next chunk; undefined if more pieces are needed. */
  next(): Chunk | undefined {
    if (this.offset === 0) {
      const magic = this.peek(exportMagic.length)
      if (magic === undefined) return undefined
      if (!magic.equals(exportMagic)) throw this.damaged('an exported table', 'something else')
      this.consume(exportMagic.length)
    }
    const header = this.peek(headerBytes)
    if (header === undefined) return undefined
    const storedBytes = header.readUInt32LE(0)
    const payloadBytes = header.readUInt32LE(4)
    if (storedBytes > payloadBytesMax || payloadBytes > payloadBytesMax) {
      throw this.damaged(`a chunk of at most ${payloadBytesMax} bytes`, 'a longer one')
    }
    const end = headerBytes + storedBytes
    const chunk = this.peek(end + checksumLength)
    if (chunk === undefined) return undefined
    const { offset } = this
    if (!checksumMatches(chunk, end, chunk.subarray(0, end), placeSeed(0, offset))) {
      throw this.damaged('a chunk of this place', 'one whose checksum does not match')
    }
    const memory = this.decompress(chunk, end, chunk[9], payloadBytes)
    this.consume(chunk.length)
    const payload = memory.buffer.subarray(0, payloadBytes)
    return { kind: chunk[8], payload, memory, offset }
  }

  /**
   * Calls `take` with each cell of a chunk: sections [varint family][u32 length], and in them cells
   * after the lengths of their keys and values. The lengths are checked, and nothing else.
   */
  forEachCell(
    { payload, memory: { buffer }, offset }: Chunk,
    families: number,
    take: TakeCell,
  ): void {
    const { length } = payload
    const unfilled = (at: number): CellarError =>
      this.damaged('cells that fill the chunk', `something else at ${at}`, offset)
    let at = 0
    while (at < length) {
      const family = readVarint(buffer, at, length)
      const start = at + varintLength(Math.max(0, family)) + 4
      if (family < 0 || family >= families || start > length) throw unfilled(at)
      const end = start + buffer.readUInt32LE(start - 4)
      if (end > length) throw unfilled(start)
      at = start
      while (at < end) {
        const keyBytes = readVarint(buffer, at, end)
        const valueLengthAt = at + varintLength(Math.max(0, keyBytes))
        const valueBytes = keyBytes < 0 ? -1 : readVarint(buffer, valueLengthAt, end)
        const keyStart = valueLengthAt + varintLength(Math.max(0, valueBytes))
        const keyEnd = keyStart + keyBytes
        const valueEnd = keyEnd + valueBytes
        if (valueBytes < 0 || valueEnd > end) throw unfilled(at)
        take(family, keyStart, keyEnd, valueEnd)
        at = valueEnd
      }
    }
  }

  /** Throws unless all bytes were consumed. */
  checkEnd(): void {
    if (this.waiting > 0) throw this.damaged('the end', `${this.waiting} further bytes`)
  }

  /** Makes the error for a stream that ends early. */
  endedEarly(): CellarError {
    return this.damaged('a further chunk', `the end after ${this.waiting} bytes of it`)
  }

  /** Makes an `ERR_CORRUPTION` at the offset, by default the current one. */
  damaged(expected: string, found: string, offset = this.offset): CellarError {
    return corruption('damaged export', { file: this.name, offset, expected, found })
  }

  private decompress(
    chunk: Buffer,
    end: number,
    codecId: number,
    payloadBytes: number,
  ): BlockMemory {
    const memory = this.takeMemory(payloadBytes)
    if (codecId === 0) {
      const found = end - headerBytes
      if (found !== payloadBytes) throw this.damaged(`${payloadBytes} bytes`, `${found}`)
      chunk.copy(memory.buffer, 0, headerBytes, end)
      return memory
    }
    const codec = this.codecs.byId(codecId)
    if (codec === undefined) {
      const message = `${this.name} is compressed with codec ${codecId}, which this Node lacks`
      throw new CellarError(ErrorCode.missingPackage, message)
    }
    try {
      codec.decompress(chunk, headerBytes, end, memory.buffer, payloadBytes)
    } catch (error) {
      if (!hasCode(error, ErrorCode.corruption)) throw error
      throw this.damaged(`${payloadBytes} bytes of ${codec.name}`, error.message)
    }
    return memory
  }

  /** Memory for a payload with slack; reused unless it is too short. */
  private takeMemory(bytes: number): BlockMemory {
    const { kept } = this
    if (kept !== undefined && bytes + wordSlackBytes <= kept.buffer.length) return kept
    const memory = new BlockMemory(bytes + wordSlackBytes)
    if (bytes <= keptBytesMax) this.kept = memory
    return memory
  }

  /** The next `bytes` bytes in one buffer, without consuming them. */
  private peek(bytes: number): Buffer | undefined {
    if (this.waiting < bytes) return undefined
    if (this.pieces[0].length < bytes) this.pieces = [Buffer.concat(this.pieces, this.waiting)]
    return this.pieces[0].subarray(0, bytes)
  }

  private consume(bytes: number): void {
    const [first] = this.pieces
    if (first.length === bytes) this.pieces.shift()
    else this.pieces[0] = first.subarray(bytes)
    this.waiting -= bytes
    this.offset += bytes
  }
}
