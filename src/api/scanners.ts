/** The scanners of all backends: rows in order, with the standard iterator helpers. */
import { AsyncRows } from './rows/async-rows.js'
import type { ScanMetrics } from './reads.js'
import type { Result } from './results/result.js'
import { SyncRows } from './rows/sync-rows.js'

/** Rows of a scan, one result at a time. */
export abstract class ResultScanner extends AsyncRows<Result> {
  /** The work of the scan so far. */
  abstract get metrics(): ScanMetrics

  /**
   * Returns the next results, at most `count`; Infinity for all. Returns fewer at the end of the
   * scan, and before an error, which the next call throws. So no result is lost because of a later
   * error.
   */
  abstract nextBatch(count: number): Promise<Result[]>

  /** Ends the scan early. */
  abstract close(): void

  return(): Promise<IteratorReturnResult<undefined>> {
    this.close()
    return Promise.resolve({ done: true, value: undefined })
  }

  override async toArray(): Promise<Result[]> {
    const results = await this.nextBatch(Infinity)
    // If an error followed the results, this call throws it.
    await this.nextBatch(1)
    return results
  }
}

/** Rows of a synchronous scan. */
export abstract class SyncResultScanner extends SyncRows<Result> {
  /** The work of the scan so far. */
  abstract get metrics(): ScanMetrics

  /**
   * Returns the next results, at most `count`; Infinity for all. Returns fewer at the end of the
   * scan, and before an error, which the next call throws. So no result is lost because of a later
   * error.
   */
  abstract nextBatch(count: number): Result[]

  /**
   * Ends the scan early, as the end of a `for…of` or `using` does. Without it, a scan that is not
   * read to its end keeps its files on the disk until the database is closed. Only a scan with
   * promises is also closed when it is garbage.
   */
  abstract close(): void

  return(): IteratorReturnResult<undefined> {
    this.close()
    return { done: true, value: undefined }
  }

  override toArray(): Result[] {
    const results = this.nextBatch(Infinity)
    this.nextBatch(1)
    return results
  }
}
