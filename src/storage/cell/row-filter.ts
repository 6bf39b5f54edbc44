/** Which part of a key the Bloom filter of an SSTable holds. */

/** Codes of the kinds of Bloom filters. On disk: never change. */
export const FilterKind = { none: 0, row: 1, rowColumn: 2, rowPrefix: 3 } as const

/** The kinds of Bloom filters, by HBase's names. */
export type BloomFilter = 'NONE' | 'ROW' | 'ROWCOL' | 'ROWPREFIX_FIXED_LENGTH'

/**
 * The number that a file stores: the kind and, for prefixes, their length. On disk: never change.
 */
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

/** Length in bytes of the row prefixes in a file's filter; 0 if the filter is of another kind. */
export function filterPrefixBytes(filterKind: number): number {
  return filterKind % 256 === FilterKind.rowPrefix ? Math.floor(filterKind / 256) : 0
}

/**
 * End of the first `bytes` unescaped bytes of the escaped row `buffer[start, end)`; `end` if the
 * row is shorter.
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
