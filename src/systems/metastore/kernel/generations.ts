/**
 * A cache in two generations: when the young generation is full, it replaces the old one. Entries
 * of the old generation are evicted unless they were used in the meantime.
 */
export class Generations<V> {
  readonly #bytesMax: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  #youngBytes = 0

  /** `bytesMax` is the size of a generation. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** `bytesOf` is the approximate size of an entry of the old generation. */
  get(key: string, bytesOf: (value: V) => number): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old, bytesOf(old))
    return old
  }

  /** `bytes` is the approximate size of the value. */
  set(key: string, value: V, bytes: number): void {
    this.#young.set(key, value)
    this.#youngBytes += bytes + 2 * key.length + entryBytes
    if (this.#youngBytes < this.#bytesMax) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngBytes = 0
  }
}

/** Approximate overhead of an entry. */
const entryBytes = 100
