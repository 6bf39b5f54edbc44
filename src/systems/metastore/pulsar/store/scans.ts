/** Scans for consumers: records one by one, then exactly one end. */
import { checkConsumer } from '../arguments.js'
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { asMetadataError } from '../errors.js'
import type { GetResult, ScanConsumer } from '../types.js'

/**
 * Hands all records to a consumer. Rejects with the error that the consumer was told. `onNext` ends
 * the scan by an error of its own; what the others throw goes to `onListenerError`.
 */
export async function consumed(
  records: AsyncGenerator<GetResult, void>,
  consumer: ScanConsumer,
  onListenerError: ListenerErrorHandler,
): Promise<void> {
  checkConsumer(consumer)
  try {
    for await (const record of records) await consumer.onNext(record)
  } catch (error) {
    const failure = asMetadataError(error)
    callListener(onListenerError, consumer.onError?.bind(consumer), failure)
    throw failure
  }
  callListener(onListenerError, consumer.onCompleted?.bind(consumer))
}

/** A generator that fails at once: how a call that gives records says what is wrong with it. */

export async function* failing(error: unknown): AsyncGenerator<never, void> {
  throw error
}
