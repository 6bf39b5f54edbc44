/** Cells as the reference model keeps them, drawn at random or by hand, and their stored form. */
import type { Random } from '../../../../bench/harness/draws/random.js'
import {
  keyBytesBound,
  writeEscaped,
  writeKeySuffix,
  writeTerminator,
} from '../../../../src/storage/cell/cell-key.js'
import {
  cellTypeCode,
  cellTypeName,
  type CellTypeName,
} from '../../../../src/storage/cell/cell-type.js'
import { writeValueHeader } from '../../../../src/storage/cell/cell-value.js'
import { CellView } from '../../../../src/storage/cell/cell-view.js'
import type { RetentionOptions } from '../../../../src/storage/scan/query.js'
import {
  compareCells,
  type FamilyRules,
  type StoredCell,
} from '../../../model/reference/reading-rules.js'

/** Times lie around this. */
export const now = 1_000_000

const qualifiers = ['', '\0', 'a', 'a\0', 'b', 'c']
const markers: readonly CellTypeName[] = [
  'Delete',
  'DeleteFamilyVersion',
  'DeleteColumn',
  'DeleteFamily',
]

/** A cell; what is not given is that of a put of row r, column a. */
export function cellOf(parts: Partial<StoredCell>): StoredCell {
  const type = parts.type ?? 'Put'
  const ofFamily = type.startsWith('DeleteFamily')
  const plain = { row: 'r', family: 'f', qualifier: 'a', timestamp: BigInt(now), sequence: 1 }
  const state = { isServerTimed: false, order: 0, inMemtable: true, isReplaced: false, run: 0 }
  const rest = { value: type === 'Put' ? 'v' : '', ttl: 0, ...state }
  return { ...plain, ...rest, ...parts, type, ...(ofFamily && { qualifier: '' }) }
}

/** Up to `countMax` cells of a row, sorted; each of a sequence of its own, from `sequence` on. */
export function randomCells(
  random: Random,
  row: string,
  countMax: number,
  sequence = 1,
): StoredCell[] {
  const cells: StoredCell[] = []
  const plain = random.below(2) === 0
  for (let i = 0; i < countMax; i++) {
    const isMarker = !plain && random.below(5) === 0
    const type = isMarker ? markers[random.below(markers.length)] : 'Put'
    const qualifier = qualifiers[random.below(qualifiers.length)]
    const timestamp = BigInt(now - random.below(random.below(2) === 0 ? 6 : 40))
    const ttl = !plain && random.below(8) === 0 ? 1 + random.below(20) : 0
    const value = type === 'Put' ? 'v'.repeat(random.below(30)) : ''
    const parts = { row, type, qualifier, timestamp, ttl, value }
    cells.push(cellOf({ ...parts, sequence: sequence + i }))
  }
  return cells.sort(compareCells)
}

/** Options of a family, and what the model calls them. */
export interface RandomFamily {
  readonly options: RetentionOptions
  readonly rules: FamilyRules
}

/** Options drawn at random; `newVersionBehavior` seldom. */
export function randomFamily(random: Random): RandomFamily {
  const ttlSeconds = random.below(3) === 0 ? 0.01 : Infinity
  const newVersionBehavior = random.below(6) === 0
  const kept = (['FALSE', 'FALSE', 'TRUE', 'TTL'] as const)[random.below(4)]
  // The model knows the order of writing only where deleted cells go.
  const keep = newVersionBehavior ? 'FALSE' : kept
  const options: RetentionOptions = {
    versions: 1 + (random.below(2) === 0 ? 0 : random.below(4)),
    minVersions: ttlSeconds === Infinity ? 0 : random.below(3),
    ttlSeconds,
    keepDeletedCells: keep,
    newVersionBehavior,
    timeToPurgeDeletesMilliseconds: 0,
  }
  const rules: FamilyRules = {
    ...options,
    ttl: ttlSeconds === Infinity ? undefined : BigInt(ttlSeconds * 1000),
    keepDeletedCells: keep === 'TTL' ? 'TTL' : keep === 'TRUE',
  }
  return { options, rules }
}

/** Row or qualifier as keys hold it. */
export function escaped(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  const target = Buffer.alloc(2 * bytes.length)
  return target.subarray(0, writeEscaped(target, 0, bytes))
}

/** The stored form of a cell: key and value side by side. */
export function storedForm(cell: StoredCell): { bytes: Buffer; keyEnd: number } {
  const { row, qualifier, timestamp, type, sequence, ttl, value } = cell
  const bytes = Buffer.alloc(keyBytesBound(row.length, qualifier.length) + 16 + value.length)
  const rowEnd = escaped(row).copy(bytes)
  let at = writeTerminator(bytes, rowEnd)
  at = writeTerminator(bytes, at + escaped(qualifier).copy(bytes, at))
  const high = Number(timestamp >> 32n)
  const low = Number(timestamp & 0xffff_ffffn)
  const keyEnd = writeKeySuffix(bytes, at, high, low, cellTypeCode(type)!, sequence, rowEnd)
  const content = writeValueHeader(bytes, keyEnd, ttl)
  return { bytes: bytes.subarray(0, content + bytes.write(value, content, 'latin1')), keyEnd }
}

/** A view of a cell in memory of its own. */
export function viewOf(cell: StoredCell): CellView {
  const { bytes, keyEnd } = storedForm(cell)
  const view = new CellView()
  view.setCell(bytes, 0, keyEnd, bytes.length)
  view.family = cell.family
  return view
}

/** A cell as text, to compare lists of them. */
export function textOfCell(cell: StoredCell): string {
  const { row, qualifier, timestamp, type, sequence, value } = cell
  return `${row}/${qualifier}/${timestamp}/${type}/${sequence}=${value}`
}

/** The same for a view. */
export function textOfView(cell: CellView): string {
  const names = [cell.copyRow().toString('latin1'), cell.copyQualifier().toString('latin1')]
  const { timestampExact, type, sequence } = cell
  const facts = [timestampExact, cellTypeName(type as Parameters<typeof cellTypeName>[0]), sequence]
  return `${[...names, ...facts].join('/')}=${cell.copyValue().toString('latin1')}`
}
