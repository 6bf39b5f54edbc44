/**
 * The partitions of a subscription: they run in parallel, and the steps of one partition one after
 * the other. All steps of one record are in one partition, so they stay in order.
 */

/** See the file header. */
export class Partitions {
  /** The end of the last step of each partition. */
  readonly #ends: Promise<void>[]

  constructor(count: number) {
    this.#ends = Array.from({ length: Math.max(1, count) }, () => Promise.resolve())
  }

  /** Runs a step after the earlier ones of its record. */
  add(record: string, step: () => Promise<void>): void {
    let hash = 0
    for (let i = 0; i < record.length; i++) hash = (Math.imul(hash, 31) + record.charCodeAt(i)) | 0
    const partition = (hash >>> 0) % this.#ends.length
    this.#ends[partition] = this.#ends[partition].then(step)
  }

  /** Resolves when all steps have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#ends)
  }
}
