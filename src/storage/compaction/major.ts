/**
 * The major compaction that a user requests, of a whole store or of an interval of rows. For an
 * interval it takes every file that overlaps the interval, and every file that overlaps these.
 * Outputs must not overlap other files, and markers may be dropped only if no file with their rows
 * is left out.
 */
import { writeEscaped } from '../cell/cell-key.js'
import type { FileMetadata } from '../version/file-metadata.js'
import {
  blocked,
  nothing,
  type CompactionChoice,
  type PolicyInput,
  type RowInterval,
} from './choice.js'
import { compareRows, firstRowOf, hullOf, lastRowOf } from './rows.js'
import {
  busyHull,
  isBusy,
  mergeOf,
  overlapClosure,
  rangesOverlap,
  type MergeOutput,
} from './selection.js'

function escapedRow(row: Buffer): Buffer {
  const target = Buffer.alloc(2 * row.length)
  return target.subarray(0, writeEscaped(target, 0, row))
}

function filesIn(input: PolicyInput, rows: RowInterval): Set<FileMetadata> {
  const first = rows.firstRow && escapedRow(rows.firstRow)
  const end = rows.endRow && escapedRow(rows.endRow)
  const hit = input.levels.flat().filter((file) => {
    if (first !== undefined && compareRows(lastRowOf(file), first) < 0) return false
    return end === undefined || compareRows(firstRowOf(file), end) < 0
  })
  return hit.length === 0 ? new Set() : overlapClosure(input.levels, hullOf(hit))
}

/** Merges all files with rows of the interval, and all files that overlap them. */
export function majorChoice(
  input: PolicyInput,
  rows: RowInterval,
  output: MergeOutput,
): CompactionChoice {
  const files = filesIn(input, rows)
  if (files.size === 0) return nothing
  const choice = mergeOf(input.levels, files, output)
  if (choice.files.some((file) => isBusy(input, file))) return blocked
  if (output.outputLevel > 0 && rangesOverlap(busyHull(input), hullOf(choice.files))) {
    return blocked
  }
  return choice
}
