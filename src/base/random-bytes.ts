/**
 * Randomness is injected: only {@link systemRandomBytes} asks the operating system for it.
 *
 * The module `node:crypto` is loaded with the first call. Worker threads that run jobs never need
 * it, and loading takes 5 ms.
 */
import type * as nodeCrypto from 'node:crypto'

/** Returns `length` unpredictable random bytes. */
export type RandomBytes = (length: number) => Uint8Array

/** The generator of the operating system. */
export const systemRandomBytes: RandomBytes = (length) => {
  crypto ??= process.getBuiltinModule('node:crypto')
  return crypto.randomBytes(length)
}

let crypto: typeof nodeCrypto | undefined
