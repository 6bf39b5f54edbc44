/** Scans with a consumer: each record, then exactly one call that ends the scan. */
import { checkConsumer } from '../arguments.js'
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { asMetadataError } from '../errors.js'
import type { GetResult, ScanConsumer } from '../types.js'

/**
 * Passes all records to a consumer. Rejects with the error that `onError` received. An error of
 * `onNext` ends the scan; errors of `onError` and `onCompleted` go to `onListenerError`.
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

/** A generator that fails at once: reports the error of a call that returns a generator. */

export async function* failing(error: unknown): AsyncGenerator<never, void> {
  throw error
}
