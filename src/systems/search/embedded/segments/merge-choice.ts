/** Chooses the segments of the next merge. */
import type { SegmentView } from '../search-run.js'

/** Number of segments of about the same size that are merged. */
const segmentsPerMerge = 8
/** Segments below this number of documents count as the same size. */
const smallDocs = 256

/** Number of documents that are not removed. */
export function liveDocs({ reader, removed }: SegmentView): number {
  return reader.docs - (removed?.count ?? 0)
}

/**
 * Eight segments of about the same size, or one segment whose documents are mostly removed; empty
 * if no merge is due. Sizes are powers of eight, so a document is rewritten once per size.
 */
export function chooseMerge(views: readonly SegmentView[]): readonly SegmentView[] {
  const sizes = new Map<number, SegmentView[]>()
  for (const view of views) {
    const docs = liveDocs(view)
    if (view.reader.docs >= smallDocs && docs * 2 < view.reader.docs) return [view]
    const size = Math.max(
      0,
      Math.floor(Math.log(docs / smallDocs) / Math.log(segmentsPerMerge)) + 1,
    )
    sizes.set(size, [...(sizes.get(size) ?? []), view])
  }
  for (const same of sizes.values()) if (same.length >= segmentsPerMerge) return same
  return []
}
