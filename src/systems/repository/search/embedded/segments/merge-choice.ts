/** Chooses the segments that are merged next. */
import type { SegmentView } from '../search-run.js'

/** Segments of about the same size that are merged. */
const segmentsPerMerge = 8
/** Documents of the smallest size. */
const smallDocs = 256

/** Documents that were not removed. */
export function liveDocs({ reader, removed }: SegmentView): number {
  return reader.docs - (removed?.count ?? 0)
}

/**
 * Eight segments of about the same size, or one of whose documents most were removed; none if
 * nothing is to be done. Sizes are powers of eight, so a document is written again once for each.
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
