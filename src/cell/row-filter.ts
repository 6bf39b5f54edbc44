/** Which parts of a cell's key the Bloom filter of an SSTable is made of. */

/** What the keys of a file's filter stand for. On disk: never change. */
export const FilterKind = { none: 0, row: 1, rowColumn: 2, rowPrefix: 3 } as const

/** HBase's kinds of filters. */
export type BloomFilter = 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH'

/** The number that a file stores: for prefixes their length as well. On disk: never change. */
export function filterKindOf(bloomFilter: BloomFilter, rowPrefixBytes: number): number {
  switch (bloomFilter) {
    case 'NONE':
      return FilterKind.none
    case 'ROW':
      return FilterKind.row
    case 'ROWCOL':
      return FilterKind.rowColumn
    case 'ROWPREFIX_FIXED_LENGTH':
      return FilterKind.rowPrefix + 256 * rowPrefixBytes
  }
}

/** Length of the prefixes in a file's filter; 0 if the filter is of another kind. */
export function filterPrefixBytes(filterKind: number): number {
  return filterKind % 256 === FilterKind.rowPrefix ? Math.floor(filterKind / 256) : 0
}

/**
 * End of the first `bytes` bytes of an escaped row `buffer[start, end)`, counted as the user wrote
 * them; `end` if the row is shorter.
 */
export function escapedPrefixEnd(
  buffer: Buffer,
  start: number,
  end: number,
  bytes: number,
): number {
  let at = start
  for (let i = 0; i < bytes && at < end; i++) at += buffer[at] === 0 ? 2 : 1
  return at
}
