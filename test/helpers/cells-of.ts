/** The cells of results as text, to compare. */
import type { Result } from '../../src/entries/index.js'

/** The cells of results, with their timestamps. */
export function cellsOf(results: Iterable<Result>): string {
  const cells = [...results].flatMap((result) => result.cells())
  const parts = ({ row, family, qualifier, timestamp, value }: (typeof cells)[number]) =>
    [row, family, qualifier, timestamp, value].join(' ')
  return cells.map(parts).join('\n')
}
