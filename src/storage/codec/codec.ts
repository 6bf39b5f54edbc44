/**
 * The registry of block codecs: none, lz4, gz, zstd.
 *
 * A codec id stands in every block on disk; FORMAT.md defines each payload. The lz4 payload is the
 * size-prefixed block in each implementation, so files move freely between installations with and
 * without lz4-napi.
 *
 * Ownership: `compress` returns a view over scratch memory of the thread, borrowed until the next
 * call of any codec in the same thread. `decompress` fills memory of the caller.
 *
 * Failure behaviour: bytes that do not decompress to exactly the expected length are an
 * `ERR_CORRUPTION`, to which the caller adds file and offset. No call allocates more than the
 * expected length plus a constant.
 */
// Not by name: a bundler would make names of it that older versions of Node do not export.
import type * as nodeZlib from 'node:zlib'
import { assert } from '../../base/assert.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { Lz4Codec, probeLz4Napi, type Lz4Addon } from './lz4.js'
import { codecError, Scratch } from './scratch.js'

export { codecError } from './scratch.js'

/** Codec ids on disk. Never change or reuse one; 0 is invalid. */
export const CodecId = { none: 1, lz4: 2, gz: 3, zstd: 4 } as const

/** Names of the codecs as options spell them. */
export type CodecName = keyof typeof CodecId

/** Compresses and decompresses blocks. Both calls are synchronous. */
export interface Codec {
  /** The id on disk, one of {@link CodecId}. */
  readonly id: number
  readonly name: CodecName
  /**
   * Compresses `source[start, end)`. The result is borrowed until the next call of any codec in
   * this thread; undefined if it would not be smaller than the input.
   */
  compress(source: Buffer, start: number, end: number): Buffer | undefined
  /**
   * Decompresses `source[start, end)` so that it fills `target[0, uncompressedLength)` exactly, or
   * throws `ERR_CORRUPTION`; the range is then undefined, bytes after it are never touched.
   */
  decompress(
    source: Buffer,
    start: number,
    end: number,
    target: Buffer,
    uncompressedLength: number,
  ): void
}

/** The codecs of this thread. */
export interface Codecs {
  /** Undefined for ids that this version does not know, or whose library this Node lacks. */
  byId(id: number): Codec | undefined
  /** Throws `ERR_MISSING_PACKAGE` for zstd where Node's zlib has none. */
  byName(name: CodecName): Codec
  /** Whether lz4-napi takes part (lz4.ts says where), or TypeScript does it all. */
  readonly lz4Implementation: 'lz4-napi' | 'native-free'
}

/** How to choose implementations. */
export interface LoadCodecsOptions {
  /** True keeps native addons out. Default: whether the environment has `CELLAR_NATIVE_FREE=1`. */
  readonly nativeFree?: boolean
}

/** zlib's zstd calls, which Node has from 22.15 on; its types of Node 20 do not know them. */
interface ZstdFunctions {
  zstdCompressSync?: (source: Buffer) => Buffer
  zstdDecompressSync?: (source: Buffer, options: { maxOutputLength: number }) => Buffer
}

/** The module `node:zlib`, loaded with the first block that needs it: loading takes 2 ms. */
function zlib(): typeof nodeZlib & ZstdFunctions {
  return process.getBuiltinModule('node:zlib')
}

/** The zstd codec; undefined if Node's zlib has none. */
function zstdCodec(): Codec | undefined {
  const { zstdCompressSync, zstdDecompressSync } = zlib()
  if (zstdCompressSync === undefined || zstdDecompressSync === undefined) return undefined
  return new ZlibCodec(
    CodecId.zstd,
    'zstd',
    (source) => zstdCompressSync(source),
    (source, maxOutputLength) => zstdDecompressSync(source, { maxOutputLength }),
  )
}

/** Makes the codecs. Cheap to call again; a failed probe for lz4-napi is never an error. */
export function loadCodecs(options: LoadCodecsOptions = {}): Codecs {
  // The only place that reads this variable.
  const nativeFree = options.nativeFree ?? process.env['CELLAR_NATIVE_FREE'] === '1'
  // Loading the addon takes longer than the rest of an open, and few blocks need it.
  let probed: { readonly addon: Lz4Addon | undefined } | undefined = nativeFree
    ? { addon: undefined }
    : undefined
  const addon = (): Lz4Addon | undefined => (probed ??= { addon: probeLz4Napi() }).addon
  const scratch = new Scratch()
  const codecs: (Codec | undefined)[] = [undefined]
  codecs[CodecId.none] = noneCodec
  codecs[CodecId.lz4] = new Lz4Codec(CodecId.lz4, scratch, addon)
  codecs[CodecId.gz] = new ZlibCodec(
    CodecId.gz,
    'gz',
    (source) => zlib().deflateSync(source),
    (source, maxOutputLength) => zlib().inflateSync(source, { maxOutputLength }),
  )
  let zstd: Codec | undefined
  const codecOf = (id: number): Codec | undefined => {
    return id === CodecId.zstd ? (zstd ??= zstdCodec()) : codecs[id]
  }
  return {
    byId: codecOf,
    byName: (name) => {
      const codec = codecOf(CodecId[name])
      if (codec !== undefined) return codec
      const message = `codec ${name} needs a newer Node: its zlib has no ${name}`
      throw new CellarError(ErrorCode.missingPackage, message)
    },
    get lz4Implementation() {
      return addon() === undefined ? 'native-free' : 'lz4-napi'
    },
  }
}

const noneCodec: Codec = {
  id: CodecId.none,
  name: 'none',
  compress: () => undefined,
  decompress(source, start, end, target, uncompressedLength) {
    assert(uncompressedLength <= target.length, 'codec: target too short')
    if (end - start !== uncompressedLength) {
      throw codecError(`stored ${end - start} bytes, expected ${uncompressedLength}`)
    }
    source.copy(target, 0, start, end)
  },
}

/** A codec over one of zlib's pairs of synchronous calls. */
class ZlibCodec implements Codec {
  readonly id: number
  readonly name: CodecName
  private readonly pack: (source: Buffer) => Buffer
  private readonly unpack: (source: Buffer, maxOutputLength: number) => Buffer

  constructor(
    id: number,
    name: CodecName,
    pack: (source: Buffer) => Buffer,
    unpack: (source: Buffer, maxOutputLength: number) => Buffer,
  ) {
    this.id = id
    this.name = name
    this.pack = pack
    this.unpack = unpack
  }

  compress(source: Buffer, start: number, end: number): Buffer | undefined {
    const packed = this.pack(source.subarray(start, end))
    return packed.length < end - start ? packed : undefined
  }

  decompress(
    source: Buffer,
    start: number,
    end: number,
    target: Buffer,
    uncompressedLength: number,
  ): void {
    assert(uncompressedLength <= target.length, 'codec: target too short')
    let unpacked: Buffer
    try {
      // zlib refuses a limit of zero.
      unpacked = this.unpack(source.subarray(start, end), Math.max(1, uncompressedLength))
    } catch (cause) {
      throw codecError(`${this.name} block does not decompress`, cause)
    }
    if (unpacked.length !== uncompressedLength) {
      throw codecError(
        `${this.name} block holds ${unpacked.length} bytes, expected ${uncompressedLength}`,
      )
    }
    unpacked.copy(target, 0)
  }
}
