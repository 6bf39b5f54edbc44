/** Randomness is injected: nothing else in the engine asks the operating system for it. */
import { randomBytes } from 'node:crypto'

/** Returns `length` random bytes that nobody can guess. */
export type RandomBytes = (length: number) => Uint8Array

/** The generator of the operating system. */
export const systemRandomBytes: RandomBytes = (length) => randomBytes(length)
