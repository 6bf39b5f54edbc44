/** Reads a scan to its end, a batch at a time. */
import type { Result } from '../results/result.js'
import type { ResultScanner } from '../scanners.js'

/**
 * Calls `each` with the rows of a scanner until it returns false, and closes the scanner; true if
 * it never did. Throws the error of a scan that fails half-way: a batch that is short says nothing
 * about the end, for an error may follow.
 */
export async function eachRow(
  scanner: ResultScanner,
  atOnce: number,
  each: (result: Result) => boolean,
): Promise<boolean> {
  try {
    for (;;) {
      const results = await scanner.nextBatch(atOnce)
      if (results.length === 0) return true
      for (const result of results) if (!each(result)) return false
    }
  } finally {
    scanner.close()
  }
}
