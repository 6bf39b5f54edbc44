/**
 * The LZ4 block codec as a WebAssembly kernel, for blocks of ordinary size. It has the algorithms
 * of lz4.ts and lz4-decompress.ts and the same output byte for byte, in a third of the time. In
 * these files JavaScript checks every load and store against the length of its buffer. In the
 * kernel the processor guards the memory, and words have eight bytes.
 *
 * The module is assembled from the expressions in lz4-kernel-code.ts when it is first used. Its
 * memory belongs to this file alone and does not grow: inputs are copied in, outputs are copied
 * out.
 *
 *   [0, tableEnd)    hash table of the compressor, see lz4.ts
 *   sourceStart      input, up to the compressed bound of `kernelBytesMax`
 *   targetStart      output, of the same size
 *
 * Invariants: those of lz4.ts and lz4-decompress.ts. Copies by words touch up to seven bytes after
 * the end of their range, which are within the slack of each area.
 */
import { assert } from '../src/base/assert.js'
import { assembleModule, instantiate } from './assembler.js'
import { compressFunction, decompressFunction } from './lz4-kernel-code.js'
import { distanceMax, hashShift, lz4CompressBound, lz4PrefixLength } from './lz4.js'

/** Longest uncompressed block in bytes for the kernel. */
export const kernelBytesMax = 256 * 1024

const slackBytes = 64
const tableEnd = 2 * 4 * 2 ** (32 - hashShift)
const areaBytes = lz4CompressBound(kernelBytesMax) + slackBytes
const sourceStart = tableEnd
const targetStart = sourceStart + areaBytes
const pages = Math.ceil((targetStart + areaBytes) / 65_536)

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
  if (length > kernelBytesMax || end - start > areaBytes - slackBytes) return false
  if (end - start < lz4PrefixLength || source.readUInt32LE(start) !== length) return false
  const { memory, decompress } = (kernel ??= startKernel())
  source.copy(memory, sourceStart, start, end)
  const sourceEnd = sourceStart + end - start
  if (decompress(sourceStart, sourceEnd, targetStart, targetStart + length) === 0) return false
  memory.copy(target, targetOffset, targetStart, targetStart + length)
  return true
}
