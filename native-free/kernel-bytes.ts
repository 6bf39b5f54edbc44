/**
 * The bytes of the kernel's WebAssembly module. The modules of the package hold them as a constant
 * in the place of this file: .ci/bundle.mjs calls {@link kernelBytes} when it makes them.
 */
import { assembleModule } from './assembler.js'
import { compressFunction, decompressFunction } from './lz4-kernel-code.js'
import { checksumMatchesFunction } from './xxh64-kernel-code.js'

/** Assembles the module, whose memory has `pages` times 64 KiB. */
export function kernelBytes(pages: number): Uint8Array<ArrayBuffer> {
  return assembleModule(
    [compressFunction(), decompressFunction(), checksumMatchesFunction()],
    pages,
  )
}
