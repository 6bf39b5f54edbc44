/** An LRU cache of decoded segment parts, bounded by their bytes. */

import { assert } from '../../../../api/index.js'

interface Entry {
  readonly value: unknown
  readonly bytes: number
}

/** A cache of values by key. */
export class ByteCache {
  readonly #entries = new Map<string, Entry>()
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Estimated bytes of the cached values. */
  get bytes(): number {
    return this.#bytes
  }

  get<T>(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Reinserts the entry: a map iterates in the order of insertion, so the oldest comes first.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value as T
  }

  set(key: string, value: unknown, bytes: number): void {
    this.#remove(key)
    if (bytes > this.#bytesMax) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) break
      this.#remove(oldest)
    }
  }

  /** Removes all keys with a prefix. */
  removePrefix(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#remove(key)
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
    assert(this.#bytes >= 0, 'a cache has the bytes of its entries')
  }
}
