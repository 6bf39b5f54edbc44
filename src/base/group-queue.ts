/**
 * The queue of a group commit: while a group of items is being written, further items wait, and the
 * next group takes all of them. A write and its sync are therefore shared by all callers that wait,
 * and a single item waits for nothing.
 *
 * Order: items are written in the order of their calls, and no group starts before the one before
 * it is done.
 *
 * Failure behaviour: an error of `write` rejects the items of its group that are not settled yet.
 * Later groups are written all the same.
 */
import { assert } from './assert.js'

/** An item that waits for its group, or is part of the group that is being written. */
export interface Waiting<T> {
  readonly item: T
  /** Approximate bytes of the item. */
  readonly bytes: number
  /** Settles the promise of the caller, once; later calls do nothing. */
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The limits of a group, and its writer. */
export interface GroupQueueOptions<T> {
  /** Most bytes of a group; a larger item is a group of its own. */
  readonly bytesMax: number
  /** Writes a group and settles its items. Items that are left are resolved at its end. */
  readonly write: (group: readonly Waiting<T>[]) => Promise<void>
}

/** See the file header. */
export class GroupQueue<T> {
  private readonly options: GroupQueueOptions<T>
  private queue: Waiting<T>[] = []
  private bytesWaiting = 0
  private running: Promise<void> | undefined

  constructor(options: GroupQueueOptions<T>) {
    this.options = options
  }

  /** Bytes of the items that are not written yet. */
  get bytes(): number {
    return this.bytesWaiting
  }

  /** Adds an item of approximately `bytes` bytes; resolves when its group is written. */
  add(item: T, bytes: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.queue.push({ item, bytes, resolve, reject })
      this.bytesWaiting += bytes
      this.running ??= this.run()
    })
  }

  /** Resolves when no item waits. */
  async settled(): Promise<void> {
    await this.running
  }

  private async run(): Promise<void> {
    // All items of this turn share the first group.
    await Promise.resolve()
    while (this.queue.length > 0) {
      const group = this.take()
      try {
        await this.options.write(group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
      for (const { bytes } of group) this.bytesWaiting -= bytes
      assert(this.bytesWaiting >= 0, 'no item of a group commit is counted twice')
    }
    this.running = undefined
  }

  private take(): Waiting<T>[] {
    const { queue } = this
    let count = 1
    let { bytes } = queue[0]
    while (count < queue.length) {
      bytes += queue[count].bytes
      if (bytes > this.options.bytesMax) break
      count++
    }
    if (count < queue.length) return queue.splice(0, count)
    this.queue = []
    return queue
  }
}
