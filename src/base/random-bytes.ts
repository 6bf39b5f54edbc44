/**
 * Randomness is injected: only {@link systemRandomBytes} asks the operating system for it.
 *
 * The bytes are read from the system's device. The module `node:crypto` takes its place where there
 * is no such device: loading it costs an open 2 ms.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Returns `length` unpredictable random bytes. */
export type RandomBytes = (length: number) => Uint8Array

/** The generator of the operating system. */
export const systemRandomBytes: RandomBytes = (length) => {
  return deviceBytes('/dev/urandom', length) ?? cryptoBytes(length)
}

/** The generator of `node:crypto`, which every system has. */
export const cryptoBytes: RandomBytes = (length) => {
  return process.getBuiltinModule('node:crypto').randomBytes(length)
}

/** Bytes of a character device; undefined if there is none at the path, or if it gives too few. */
export function deviceBytes(path: string, length: number): Uint8Array | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    if (!fstatSync(descriptor).isCharacterDevice()) return undefined
    const bytes = Buffer.allocUnsafeSlow(length)
    let filled = 0
    while (filled < length) {
      const count = readSync(descriptor, bytes, filled, length - filled, null)
      if (count === 0) return undefined
      filled += count
    }
    return bytes
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
