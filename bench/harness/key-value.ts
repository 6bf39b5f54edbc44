/**
 * What a key-value engine supplies; layouts.ts makes rows with columns of it.
 *
 * Six calls are enough. Each may answer at once or with a native promise.
 */
import type { Awaitable } from './engine.js'

/** One write of a batch. */
export interface KeyValuePut {
  readonly key: Buffer
  readonly value: Buffer
}

/** Keys a scan visits, in byte order. */
export interface KeyRange {
  /** Inclusive; empty = the first key (the last if reversed). */
  readonly start: Buffer
  /** Exclusive; undefined = to the end. */
  readonly stop: Buffer | undefined
  /** Most keys; 0 = no limit. */
  readonly limit: number
  readonly reversed: boolean
}

/** Called for each key; false ends the scan. */
export type KeyVisitor = (key: Buffer, value: Buffer) => boolean

/** Bytes by bytes, in byte order. */
export interface KeyValueStore {
  /** The value as a Buffer that belongs to the caller, or undefined. */
  get(key: Buffer): Awaitable<Buffer | undefined>
  put(key: Buffer, value: Buffer): Awaitable<void>
  /** All of them, acknowledged together. */
  putMany(puts: readonly KeyValuePut[]): Awaitable<void>
  /** Removes keys, atomically. */
  deleteMany(keys: readonly Buffer[]): Awaitable<void>
  /** Resolves when the range, or the visitor, has ended. */
  scan(range: KeyRange, visit: KeyVisitor): Awaitable<void>
  /**
   * Replaces the value of a key by what `change` makes of it, atomically under concurrent calls. If
   * `change` returns undefined nothing is written and the call resolves to false; an empty array
   * removes the key.
   */
  update(
    key: Buffer,
    change: (value: Buffer | undefined) => Buffer | readonly [] | undefined,
  ): Awaitable<boolean>
  /** Several gets at once, where that is cheaper than one after the other. */
  getMany?(keys: readonly Buffer[]): Awaitable<(Buffer | undefined)[]>
}
