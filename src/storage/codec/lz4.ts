/**
 * The lz4 codec: the kernel of native-free for blocks of ordinary size, else its TypeScript, and
 * lz4-napi for what that does faster. See codec.ts for ownership and failure behaviour.
 *
 * Measured (x86-64, Node 20, 400 different blocks of 16 KiB in turn, µs, 10th percentile on a busy
 * machine; sorted keys with 100-byte values that compress to a half; with all copies that each
 * needs):
 *
 *                   kernel   TypeScript   lz4-napi
 *     compress        12         45          -
 *     decompress     3.2        8.1         3.7
 *
 * So the kernel does both, with and without the addon, and the bytes are the same. The addon
 * decompresses blocks that are too long for the kernel.
 */
import { kernelBytesMax, kernelCompress, kernelDecompress } from '../../../native-free/kernel.js'
import { lz4Compress } from '../../../native-free/lz4.js'
import { lz4Decompress, Lz4Error } from '../../../native-free/lz4-decompress.js'
import { assert } from '../../base/assert.js'
import { loadPackage } from '../../base/load-package.js'
import { codecError, type Scratch } from './scratch.js'

/** The function of lz4-napi that Cellar uses; the package and its types may be absent. */
export interface Lz4Addon {
  /** Allocates what the prefix says before it looks at the rest; throws on malformed blocks. */
  uncompressSync(source: Buffer): Buffer
}

/**
 * Loads lz4-napi, or returns undefined: the package may be absent, have no binary for the platform,
 * or addons may be forbidden. Synchronous, so that workers have it before their first job.
 */
export function probeLz4Napi(): Lz4Addon | undefined {
  try {
    const addon = loadPackage<Partial<Lz4Addon>>('lz4-napi')
    const { uncompressSync } = addon
    return typeof uncompressSync === 'function' ? { uncompressSync } : undefined
  } catch {
    return undefined
  }
}

/** A `Codec` (codec.ts); `addon` loads lz4-napi when it is first needed, or gives undefined. */
export class Lz4Codec {
  readonly id: number
  readonly name = 'lz4'
  private readonly scratch: Scratch
  private readonly addon: () => Lz4Addon | undefined

  constructor(id: number, scratch: Scratch, addon: () => Lz4Addon | undefined) {
    this.id = id
    this.scratch = scratch
    this.addon = addon
  }

  compress(source: Buffer, start: number, end: number): Buffer | undefined {
    const length = end - start
    if (length === 0) return undefined
    const target = this.scratch.take(length)
    const compress = length > kernelBytesMax ? lz4Compress : kernelCompress
    const written = compress(source, start, end, target, 0, length - 1)
    return written < 0 ? undefined : target.subarray(0, written)
  }

  decompress(
    source: Buffer,
    start: number,
    end: number,
    target: Buffer,
    uncompressedLength: number,
  ): void {
    assert(uncompressedLength <= target.length, 'codec: target too short')
    if (uncompressedLength <= kernelBytesMax) {
      if (kernelDecompress(source, start, end, target, 0, uncompressedLength)) return
    } else {
      const addon = this.addon()
      if (
        addon !== undefined &&
        decompressWith(addon, source, start, end, target, uncompressedLength)
      )
        return
    }
    try {
      lz4Decompress(source, start, end, target, 0, uncompressedLength)
    } catch (cause) {
      if (!(cause instanceof Lz4Error)) throw cause
      throw codecError(cause.message, cause)
    }
  }
}

/**
 * False if the addon refuses the block; the TypeScript decompressor then
 * decides and words the error.
 */
function decompressWith(
  addon: Lz4Addon,
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  uncompressedLength: number,
): boolean {
  // Before the call: the addon allocates as many bytes as the prefix says.
  if (end - start < 4 || source.readUInt32LE(start) !== uncompressedLength) return false
  let block: Buffer
  try {
    block = addon.uncompressSync(source.subarray(start, end))
  } catch {
    return false
  }
  if (block.length !== uncompressedLength) return false
  block.copy(target, 0)
  return true
}
