/** Pages of entries in their order: what a reader takes of them, up to a limit. */
import type { Awaitable } from '../../api/database.js'
import type { Result } from '../../api/results/result.js'
import type { ResultScanner } from '../../api/scanners.js'

/** Entries that are read at once. */
export const entriesAtOnce = 256

/** Part of an answer. */
export interface EntryPage<T> {
  readonly rows: T[]
  /** The entry after which the next page begins; undefined if this was the last page. */
  readonly last: Buffer | undefined
}

/**
 * Reads entries until `limit` were taken and another one follows, and closes the scanner. `take`
 * makes of each entry what the page has; undefined leaves the entry out.
 */
export async function readEntries<T>(
  scanner: ResultScanner,
  limit: number,
  take: (entries: readonly Result[]) => Awaitable<readonly (T | undefined)[]>,
): Promise<EntryPage<T>> {
  const rows: T[] = []
  let before: Result | undefined
  try {
    for (;;) {
      const entries = await scanner.nextBatch(Math.min(entriesAtOnce, limit - rows.length + 1))
      // A batch that is short says nothing about the end: an error may follow.
      if (entries.length === 0) return { rows, last: undefined }
      const taken = await take(entries)
      for (let i = 0; i < entries.length; i++) {
        const each = taken[i]
        if (each !== undefined) {
          if (rows.length === limit) return { rows, last: before!.row }
          rows.push(each)
        }
        before = entries[i]
      }
    }
  } finally {
    scanner.close()
  }
}
