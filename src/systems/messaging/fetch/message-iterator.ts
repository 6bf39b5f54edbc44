/** The iterator of a fetch, over any source of batches. */
import { invalidArgument, shown } from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import type { Message, MessageIterator } from '../types.js'

/** A source of messages in their order. */
export interface MessageSource {
  /**
   * Whether the source ended at a transaction that was in progress for the reader's transaction.
   */
  readonly isHeld: boolean
  /** Whether no further step can return a message. */
  readonly isDone: boolean
  /** At most `count` messages; an empty result does not mean the end. */
  step(count: number): Promise<Message[]>
  /** Called once, when the iterator ends or is closed. */
  close?(): void
}

const readAhead = 256

/**
 * Makes the iterator; `limit` counts the messages returned. Calls at once come one behind the
 * other, as those of an async generator: each gets messages of its own.
 */
export function messageIterator(
  source: MessageSource,
  limit: number,
  signal?: AbortSignal,
): MessageIterator {
  let left = limit
  let buffer: Message[] = []
  let at = 0
  let isClosed = false
  const order = new CallOrder()
  const close = (): void => {
    if (isClosed) return
    isClosed = true
    source.close?.()
  }
  const read = async (count: number): Promise<Message[]> => {
    if (at < buffer.length) {
      const batch = buffer.slice(at, at + count)
      at += batch.length
      return batch
    }
    while (!isClosed && left > 0 && !source.isDone && signal?.aborted !== true) {
      const batch = await source.step(Math.min(count, left))
      left -= batch.length
      if (batch.length > 0) return batch
    }
    close()
    return []
  }
  const readNext = async (): Promise<IteratorResult<Message, undefined>> => {
    if (at === buffer.length) {
      buffer = await read(readAhead)
      at = 0
    }
    return at < buffer.length
      ? { done: false, value: buffer[at++] }
      : { done: true, value: undefined }
  }
  const iterator: MessageIterator = {
    get isHeld() {
      return source.isHeld
    },
    nextBatch: async (count) => {
      if (Number.isInteger(count) && count >= 1) return order.run(() => read(count))
      throw invalidArgument(`a batch has 1 message or more, got ${shown(count)}`)
    },
    next: async () => {
      const isRead = order.isIdle && at < buffer.length
      return isRead ? { done: false, value: buffer[at++] } : order.run(readNext)
    },
    return: async () => {
      close()
      return { done: true, value: undefined }
    },
    close,
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}
