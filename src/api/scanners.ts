/**
 * What scans return: rows in order, with the standard iterator helpers. Every backend's scanners
 * extend these classes.
 */
import { AsyncRows } from './async-rows.js'
import type { ScanMetrics } from './reads.js'
import type { Result } from './result.js'
import { SyncRows } from './sync-rows.js'

/** Rows of a scan, one result at a time. */
export abstract class ResultScanner extends AsyncRows<Result> {
  /** What the scan has done so far. */
  abstract get metrics(): ScanMetrics

  /**
   * The next up to `count` results; Infinity for all. Fewer at the end, and before an error, which
   * the next call throws: no result that the scan has made is lost to a failure behind it.
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
    // An error that came behind some results is thrown by the next call.
    await this.nextBatch(1)
    return results
  }
}

/** Rows of a synchronous scan. */
export abstract class SyncResultScanner extends SyncRows<Result> {
  /** What the scan has done so far. */
  abstract get metrics(): ScanMetrics

  /**
   * The next up to `count` results; Infinity for all. Fewer at the end, and before an error, which
   * the next call throws: no result that the scan has made is lost to a failure behind it.
   */
  abstract nextBatch(count: number): Result[]

  /** Ends the scan early. */
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
