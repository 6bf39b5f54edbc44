/**
 * Checksums of stored bytes: XXH64 (by xxhash-wasm), eight bytes little-endian, seeded with the
 * place where the bytes lie, so that a block read from the wrong file or offset does not pass.
 *
 * xxhash-wasm starts asynchronously only, so every thread awaits {@link loadChecksums} once before
 * its first checksum. Its memory grows to the longest input and never shrinks, so inputs over 1 MiB
 * are fed in steps, with the same result.
 *
 * Stored sections are checked by the kernel of native-free, in the memory in which lz4 blocks are
 * decompressed as well. A file that is read to that memory ({@link storedInput}) is checked and
 * decompressed without a copy in between.
 *
 * Nothing here keeps or changes the bytes that it is given.
 */
import start from 'xxhash-wasm'
import {
  kernelChecksumMatches,
  kernelInput,
  kernelInputBytesMax,
  kernelInputStart,
} from '../../../native-free/kernel.js'
import { assert } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'

/** Length of a stored checksum in bytes. */
export const checksumLength = 8

/** The part of xxhash-wasm's interface that Cellar uses. */
interface XxHash {
  h64Raw(input: Uint8Array, seed: bigint): bigint
  create64(seed: bigint): XxHashStream
}

interface XxHashStream {
  update(input: Uint8Array): XxHashStream
  digest(): bigint
}

/** Longest input that is copied into WebAssembly memory in one piece. */
const STEP_BYTES = 1024 * 1024

let hash: XxHash | undefined
let loading: Promise<void> | undefined

/**
 * Makes the functions below usable in this thread. Later calls return the first call's promise.
 * `ERR_UNSUPPORTED` where the runtime has no WebAssembly, or forbids it.
 */
export function loadChecksums(): Promise<void> {
  loading ??= load()
  return loading
}

async function load(): Promise<void> {
  try {
    hash = await start()
  } catch (cause) {
    loading = undefined
    const message =
      "Cellar's checksums need WebAssembly, which this runtime does not have or forbids; " +
      'run Node without --jitless'
    throw new CellarError(ErrorCode.unsupported, message, { cause })
  }
}

/** XXH64 of all of `bytes`. Throws an InvariantError before {@link loadChecksums} is done. */
export function xxh64(bytes: Uint8Array, seed: bigint): bigint {
  assert(hash !== undefined, 'checksum: loadChecksums has not finished in this thread')
  if (bytes.length <= STEP_BYTES) return hash.h64Raw(bytes, seed)
  const stream = hash.create64(seed)
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    stream.update(bytes.subarray(at, at + STEP_BYTES))
  }
  return stream.digest()
}

/** Writes the checksum of `bytes` at `target[offset, offset + 8)`, outside of `bytes`. */
export function writeChecksum(
  target: Buffer,
  offset: number,
  bytes: Uint8Array,
  seed: bigint,
): void {
  target.writeBigUInt64LE(xxh64(bytes, seed), offset)
}

/** Whether `source[offset, offset + 8)` holds the checksum of `bytes`. False if it is cut off. */
export function checksumMatches(
  source: Buffer,
  offset: number,
  bytes: Uint8Array,
  seed: bigint,
): boolean {
  if (offset < 0 || offset + checksumLength > source.length) return false
  return source.readBigUInt64LE(offset) === xxh64(bytes, seed)
}

/** Offset in {@link storedInput} from which on stored bytes may lie. */
export const storedInputStart = kernelInputStart
/** Bytes that have room there. */
export const storedInputBytesMax = kernelInputBytesMax

/**
 * The memory to which stored sections are best read, always the same Buffer in a thread. Its
 * content is good until the next call of this file or of a codec with bytes from elsewhere.
 */
export function storedInput(): Buffer {
  return kernelInput()
}

/**
 * Whether the last eight bytes of `stored[start, end)` are the checksum of the bytes before them,
 * seeded with the place. REQUIRES at least eight bytes. Bytes outside {@link storedInput} overwrite
 * that memory.
 */
export function storedChecksumMatches(
  stored: Buffer,
  start: number,
  end: number,
  fileNumber: number,
  offset: number,
): boolean {
  if (end - start <= kernelInputBytesMax) {
    const high = seedHigh(fileNumber, offset)
    return kernelChecksumMatches(stored, start, end, seedLow(fileNumber, offset), high)
  }
  const bytes = stored.subarray(start, end - checksumLength)
  return checksumMatches(stored, end - checksumLength, bytes, placeSeed(fileNumber, offset))
}

function seedLow(fileNumber: number, offset: number): number {
  return offset ^ Math.floor(fileNumber / 0x1_0000_0000)
}

function seedHigh(fileNumber: number, offset: number): number {
  return Math.floor(offset / 0x1_0000_0000) ^ Math.imul(fileNumber, 0x9e3779b1)
}

const seedWords = new DataView(new ArrayBuffer(8))

/**
 * The seed that binds a checksum to a file number and a byte offset in that file (safe integers,
 * not negative). On disk, never change:
 *
 *     low 32 bits  = low32(offset)  XOR high32(fileNumber)
 *     high 32 bits = high32(offset) XOR low32(low32(fileNumber) * 0x9E3779B1)
 *
 * Different places have different seeds as long as file numbers stay below 2^32 and files below
 * 4 GiB; beyond that two places can share a seed.
 */
export function placeSeed(fileNumber: number, offset: number): bigint {
  seedWords.setUint32(0, seedLow(fileNumber, offset), true)
  seedWords.setUint32(4, seedHigh(fileNumber, offset), true)
  return seedWords.getBigUint64(0, true)
}
