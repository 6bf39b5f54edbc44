/** Counters of the read path: increasing numbers, read on demand by metrics. */
export class ReadCounters {
  /** Data blocks read from files and decoded. */
  blocksRead = 0
  /** Stored size of those blocks. */
  blockBytesRead = 0
  /** Blocks found in the block cache by a cursor. */
  cacheHits = 0
  /** Blocks not found there by a cursor or a load. */
  cacheMisses = 0
  /** Values read from value files. */
  valuesRead = 0
  /** Stored size of those values. */
  valueBytesRead = 0
  /** Lookups in filters. */
  filterChecks = 0
  /** Lookups for which the filter excluded the key. */
  filterNegatives = 0
}
