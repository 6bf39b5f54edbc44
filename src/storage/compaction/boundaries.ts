/**
 * Chooses the rows at which the outputs of a merge are cut. The outputs are aligned with the files
 * of the level below their own, the "grandparents" of the inputs. An output that ends where a
 * grandparent begins overlaps one file less when it is merged down later.
 */
import type { FileMetadata } from '../version/file-metadata.js'
import { compareRows, firstRowOf, hullOf, lastRowOf, spanOf } from './rows.js'

/** An output is cut at the next boundary when it holds about this part of a file. */
const alignedPart = 0.75
/** Outputs without a boundary nearby may grow to this many times the wanted size. */
export const unalignedFactor = 1.5

/**
 * The escaped rows at which outputs are cut, ascending. The size of an output is estimated: each
 * input is spread evenly over the grandparents in its range.
 *
 * @param grandparents the level below that of the outputs; empty = no boundaries.
 * @param fileBytes the wanted size of an output in bytes.
 * @param grandparentBytesMax an output that overlaps at least this many bytes of grandparents is
 * cut too.
 */
export function alignedBoundaries(
  inputs: readonly FileMetadata[],
  grandparents: readonly FileMetadata[],
  fileBytes: number,
  grandparentBytesMax: number,
): Buffer[] {
  const { from, to } = spanOf(grandparents, hullOf(inputs))
  if (to - from < 2) return []
  const below = grandparents.slice(from, to)
  // cuts[i] lies between below[i] and below[i + 1].
  const cuts = below.slice(1).map(firstRowOf)
  const bytes = spreadInputs(inputs, cuts)
  const boundaries: Buffer[] = []
  let outputBytes = 0
  let grandparentBytes = 0
  for (let i = 0; i < cuts.length; i++) {
    outputBytes += bytes[i]
    grandparentBytes += below[i].fileBytes
    const large = outputBytes >= alignedPart * fileBytes
    if (!large && (outputBytes === 0 || grandparentBytes < grandparentBytesMax)) continue
    boundaries.push(Buffer.from(cuts[i]))
    outputBytes = 0
    grandparentBytes = 0
  }
  return boundaries
}

/** Estimated bytes of the inputs before the first cut, between cuts, and after the last one. */
function spreadInputs(inputs: readonly FileMetadata[], cuts: readonly Buffer[]): number[] {
  const bytes = Array.from({ length: cuts.length + 1 }, () => 0)
  for (const input of inputs) {
    const first = countUpTo(cuts, firstRowOf(input))
    const last = countUpTo(cuts, lastRowOf(input))
    const part = input.fileBytes / (last - first + 1)
    for (let i = first; i <= last; i++) bytes[i] += part
  }
  return bytes
}

/** Number of cuts that are less than or equal to the row. */
function countUpTo(cuts: readonly Buffer[], row: Buffer): number {
  let low = 0
  let high = cuts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareRows(cuts[middle], row) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
