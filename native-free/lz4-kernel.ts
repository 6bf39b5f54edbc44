/**
 * The LZ4 block codec as a WebAssembly kernel for blocks of ordinary size: the same algorithms as
 * in lz4.ts and lz4-decompress.ts, byte for byte the same output, in a third of the time. There
 * every load and store is checked against the length of its buffer; here the memory is guarded by
 * the processor, and words have eight bytes.
 *
 * The module is assembled from the expressions in lz4-kernel-code.ts when it is first used. Its
 * memory belongs to this file alone: inputs are copied in, outputs are copied out. It does not
 * grow.
 *
 *   [0, tableEnd)    hash table of the compressor, see lz4.ts
 *   sourceStart      input, up to `kernelBytesMax` and the bound of what that compresses to
 *   targetStart      output, as much
 *
 * Invariants: as those of lz4.ts and lz4-decompress.ts. Copies by words touch up to seven bytes
 * behind the end they are asked for, which stay within the slack of each area.
 */
import { assert } from '../src/base/assert.js'
import { assembleModule, instantiate } from './assembler.js'
import { compressFunction, decompressFunction } from './lz4-kernel-code.js'
import { distanceMax, hashShift, lz4CompressBound, lz4PrefixLength } from './lz4.js'

/** Longest uncompressed block in bytes that the kernel takes. */
export const kernelBytesMax = 256 * 1024

const slackBytes = 64
const tableEnd = 2 * 4 * 2 ** (32 - hashShift)
const areaBytes = lz4CompressBound(kernelBytesMax) + slackBytes
const sourceStart = tableEnd
const targetStart = sourceStart + areaBytes
const pages = Math.ceil((targetStart + areaBytes) / 65_536)

interface KernelCalls {
  /** Where the output ends, or -1 if there is no room for it. */
  readonly compress: (
    source: number,
    end: number,
    target: number,
    targetEnd: number,
    base: number,
  ) => number
  /** 1, or 0 for a malformed block. */
  readonly decompress: (source: number, end: number, target: number, targetEnd: number) => number
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
  const bytes = assembleModule([compressFunction(), decompressFunction()], pages)
  const { exports } = instantiate<KernelExports>(bytes)
  const { memory, compress, decompress } = exports
  return { memory: Buffer.from(memory.buffer), compress, decompress }
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
  source.copy(memory, sourceStart, start, end)
  const base = epoch - sourceStart
  epoch += length + distanceMax + 1
  const written = compress(sourceStart, sourceStart + length, targetStart, targetStart + room, base)
  if (written < 0) return -1
  return targetOffset + memory.copy(target, targetOffset, targetStart, written)
}

/**
 * Decompresses `source[start, end)`, or returns false if that is malformed or too long for the
 * kernel; `lz4Decompress` then decides and says what is wrong. The target range is undefined then.
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
  if (length > kernelBytesMax || end - start > areaBytes - slackBytes) return false
  if (end - start < lz4PrefixLength || source.readUInt32LE(start) !== length) return false
  const { memory, decompress } = (kernel ??= startKernel())
  source.copy(memory, sourceStart, start, end)
  const sourceEnd = sourceStart + end - start
  if (decompress(sourceStart, sourceEnd, targetStart, targetStart + length) === 0) return false
  memory.copy(target, targetOffset, targetStart, targetStart + length)
  return true
}
