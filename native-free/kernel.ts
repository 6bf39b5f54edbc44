/**
 * The WebAssembly kernel for blocks of ordinary size: the LZ4 block codec, and XXH64 of stored
 * bytes. The codec has the algorithms of lz4.ts and lz4-decompress.ts and the same output byte for
 * byte, in a third of the time. In these files JavaScript checks every load and store against the
 * length of its buffer. In the kernel the processor guards the memory, and words have eight bytes.
 *
 * The module is assembled from the expressions in lz4-kernel-code.ts and xxh64-kernel-code.ts, in
 * the published package by its build, and compiled when it is first used. Its memory does not grow:
 *
 *   [0, tableEnd)    hash table of the compressor, see lz4.ts
 *   sourceStart      input, up to the compressed bound of `kernelBytesMax`
 *   targetStart      output, of the same size
 *
 * Inputs are copied in, and outputs are copied out. A caller may also place bytes in the input area
 * itself ({@link kernelInput}), for example by reading a file to there. A call with these bytes
 * copies nothing in. Every call with other bytes overwrites the input area.
 *
 * Invariants: those of lz4.ts and lz4-decompress.ts. Copies by words touch up to seven bytes after
 * the end of their range, which are within the slack of each area.
 */
import { assert } from '../src/base/assert.js'
import { kernelBytes } from './kernel-bytes.js'
import { distanceMax, hashShift, lz4CompressBound, lz4PrefixLength } from './lz4.js'

/** Longest uncompressed block in bytes for the kernel. */
export const kernelBytesMax = 256 * 1024

const slackBytes = 64
const tableEnd = 2 * 4 * 2 ** (32 - hashShift)
const areaBytes = lz4CompressBound(kernelBytesMax) + slackBytes
const sourceStart = tableEnd
const targetStart = sourceStart + areaBytes

/** Offset of the input area in {@link kernelInput}. */
export const kernelInputStart = sourceStart
/** Bytes of the input area. */
export const kernelInputBytesMax = areaBytes - slackBytes

const checksumBytes = 8
/** Pages of 64 KiB that the kernel's memory has. */
export const kernelPages = Math.ceil((targetStart + areaBytes) / 65_536)

/** The part of the global `WebAssembly` that is used; Node's types lack it. */
interface WebAssemblyCalls {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

interface KernelCalls {
  /** The end of the output, or -1 if there is no space for it. */
  readonly compress: (
    source: number,
    end: number,
    target: number,
    targetEnd: number,
    base: number,
  ) => number
  /** 1 for success, 0 for a malformed block. */
  readonly decompress: (source: number, end: number, target: number, targetEnd: number) => number
  /** 1 if the eight bytes at `end` are XXH64 of the bytes before them, else 0. */
  readonly checksumMatches: (
    start: number,
    end: number,
    seedLow: number,
    seedHigh: number,
  ) => number
}

interface KernelExports extends KernelCalls {
  readonly memory: { readonly buffer: ArrayBuffer }
}

interface Kernel extends KernelCalls {
  readonly memory: Buffer
}

let kernel: Kernel | undefined
/** See lz4.ts. */
let epoch = distanceMax + 1

function startKernel(): Kernel {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyCalls }
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(kernelBytes(kernelPages)))
  const { memory, compress, decompress, checksumMatches } = exports as KernelExports
  return { memory: Buffer.from(memory.buffer), compress, decompress, checksumMatches }
}

/**
 * The memory of the kernel, always the same Buffer. A caller may fill the input area of
 * {@link kernelInputBytesMax} bytes from {@link kernelInputStart} on. The content is good until the
 * next call of this file with other bytes.
 */
export function kernelInput(): Buffer {
  return (kernel ??= startKernel()).memory
}

/** The address of `source[start, end)`, which is copied to the input area unless it lies there. */
function placeInput(memory: Buffer, source: Buffer, start: number, end: number): number {
  if (source === memory) {
    const isInside = start >= sourceStart && end <= sourceStart + kernelInputBytesMax
    assert(isInside, 'kernel: outside of the input area')
    return start
  }
  source.copy(memory, sourceStart, start, end)
  return sourceStart
}

/**
 * Whether the last eight bytes of `source[start, end)` are XXH64 (little-endian) of the bytes
 * before them, by a seed of two halves. REQUIRES 8 to {@link kernelInputBytesMax} bytes.
 */
export function kernelChecksumMatches(
  source: Buffer,
  start: number,
  end: number,
  seedLow: number,
  seedHigh: number,
): boolean {
  const length = end - start
  assert(start >= 0 && end <= source.length, 'kernel: source range out of bounds')
  assert(length >= checksumBytes && length <= kernelInputBytesMax, 'kernel: length of a checksum')
  const { memory, checksumMatches } = (kernel ??= startKernel())
  const from = placeInput(memory, source, start, end)
  return checksumMatches(from, from + length - checksumBytes, seedLow, seedHigh) === 1
}

/**
 * As `lz4Compress`, with the same result. REQUIRES at most {@link kernelBytesMax} bytes of input.
 */
export function kernelCompress(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetOffset: number,
  targetLimit: number = target.length,
): number {
  const length = end - start
  assert(start >= 0 && length >= 0 && end <= source.length, 'lz4: source range out of bounds')
  assert(targetOffset >= 0 && targetLimit <= target.length, 'lz4: target range out of bounds')
  assert(length <= kernelBytesMax, 'lz4: input too long for the kernel')
  const room = Math.min(targetLimit - targetOffset, lz4CompressBound(length))
  if (room < lz4PrefixLength + 1) return -1
  const { memory, compress } = (kernel ??= startKernel())
  if (epoch > 0x7fff_ffff - distanceMax - 1 - length) {
    memory.fill(0, 0, tableEnd)
    epoch = distanceMax + 1
  }
  const from = placeInput(memory, source, start, end)
  const base = epoch - from
  epoch += length + distanceMax + 1
  const written = compress(from, from + length, targetStart, targetStart + room, base)
  if (written < 0) return -1
  return targetOffset + memory.copy(target, targetOffset, targetStart, written)
}

/**
 * Decompresses `source[start, end)`. Returns false if the block is malformed or too long for the
 * kernel; the target range is undefined then. `lz4Decompress` must then decide and describe the
 * error.
 */
export function kernelDecompress(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  targetOffset: number,
  targetLimit: number,
): boolean {
  const length = targetLimit - targetOffset
  assert(start >= 0 && start <= end && end <= source.length, 'lz4: source range out of bounds')
  assert(
    targetOffset >= 0 && length >= 0 && targetLimit <= target.length,
    'lz4: target range out of bounds',
  )
  if (length > kernelBytesMax || end - start > kernelInputBytesMax) return false
  if (end - start < lz4PrefixLength || source.readUInt32LE(start) !== length) return false
  const { memory, decompress } = (kernel ??= startKernel())
  const from = placeInput(memory, source, start, end)
  if (decompress(from, from + end - start, targetStart, targetStart + length) === 0) return false
  memory.copy(target, targetOffset, targetStart, targetStart + length)
  return true
}
