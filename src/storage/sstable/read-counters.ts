/** Counters of the read path: plain numbers that only grow, read on demand by metrics. */
export class ReadCounters {
  /** Data blocks read from files and decoded. */
  blocksRead = 0
  /** Stored bytes of those blocks. */
  blockBytesRead = 0
  /** Blocks that a cursor found in the block cache. */
  cacheHits = 0
  /** Blocks that a cursor or a load did not find there. */
  cacheMisses = 0
  /** Values read from value files. */
  valuesRead = 0
  /** Stored bytes of those values. */
  valueBytesRead = 0
  /** Questions put to a filter. */
  filterChecks = 0
  /** Questions that the filter answered with "not here". */
  filterNegatives = 0
}
