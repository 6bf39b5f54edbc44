/**
 * Queues: of groups, and of tasks by key.
 *
 * The queue of a group commit: while a group of items is being written, further items wait, and the
 * next group takes as many of them as it may. A write and its sync are therefore shared by all
 * callers that wait, and a single item waits for nothing.
 *
 * Order: items are written in the order of their calls, and no group starts before the one before
 * it is done. Items of the same turn of the event loop share the first group.
 */
import { assert } from './assert.js'

/** The size of a group, and its writer. */
export interface GroupWork<T> {
  /** Number of the waiting items that form the next group, at least 1. Must not keep the array. */
  take(waiting: readonly T[]): number
  /** Writes a group and settles its items. Must not reject. */
  write(group: readonly T[]): Promise<void>
}

/** See the file header. */
export class GroupQueue<T> {
  private readonly work: GroupWork<T>
  private queue: T[] = []
  private running: Promise<void> | undefined = undefined

  /** Makes an empty queue. */
  constructor(work: GroupWork<T>) {
    this.work = work
  }

  /** Number of items that wait for their group. */
  get waiting(): number {
    return this.queue.length
  }

  /** Adds an item to the next group. */
  add(item: T): void {
    this.queue.push(item)
    this.running ??= this.run()
  }

  /** Resolves when no item waits and none is being written. */
  async settled(): Promise<void> {
    while (this.running !== undefined) await this.running
  }

  private async run(): Promise<void> {
    await Promise.resolve()
    while (this.queue.length > 0) {
      const { queue } = this
      const count = this.work.take(queue)
      assert(count > 0 && count <= queue.length, 'a group is made of waiting items')
      const isAll = count === queue.length
      this.queue = isAll ? [] : queue.slice(count)
      await this.work.write(isAll ? queue : queue.slice(0, count))
    }
    this.running = undefined
  }
}

/** Runs tasks of the same key one at a time, in order, and tasks of different keys concurrently. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<unknown>>()

  /** Settles as `task` does. A task that waits for a later task of its own key deadlocks. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.last.get(key)
    const result = before === undefined ? task() : before.then(task, task)
    this.last.set(key, result)
    const forget = (): void => {
      if (this.last.get(key) === result) this.last.delete(key)
    }
    result.then(forget, forget)
    return result
  }
}
