/** Scans for consumers: records one by one, then exactly one end. */
import { asMetadataError } from './errors.js'
import type { GetResult, ScanConsumer } from './types.js'

/** Hands all records to a consumer. Rejects with the error that the consumer was told. */
export async function consumed(
  records: AsyncGenerator<GetResult, void>,
  consumer: ScanConsumer,
): Promise<void> {
  try {
    for await (const record of records) await consumer.onNext(record)
  } catch (error) {
    const failure = asMetadataError(error)
    consumer.onError?.(failure)
    throw failure
  }
  consumer.onCompleted?.()
}
