/** ColumnTracker and DeleteTracker by themselves: what they say of one cell after the other. */
import t from 'tap'
import { emptyBytes } from '../../../../src/base/bytes.js'
import { ColumnTracker } from '../../../../src/storage/scan/column-tracker.js'
import { DeleteTracker, Masking } from '../../../../src/storage/scan/delete-tracker.js'
import { ReadPosition } from '../../../../src/storage/scan/read-position.js'
import { MatchCode } from '../../../../src/storage/scan/query.js'
import type { StoredCell } from '../../../model/reference/reading-rules.js'
import { cellOf, escaped, viewOf } from './random-cells.js'

const { include, includeAndSeekNextColumn, includeAndSeekNextRow } = MatchCode
const { skip, seekNextColumn, seekNextRow } = MatchCode

function tracker(
  columns: string[] | undefined,
  versionsMax: number,
  versionsMin = 0,
): ColumnTracker {
  const made = new ColumnTracker(new ReadPosition())
  made.configure(columns?.map(escaped), versionsMax, versionsMin, 0, 100)
  return made
}

/** A put of a column at a time. */
function put(qualifier: string, timestamp: number): Partial<StoredCell> {
  return { qualifier, timestamp: BigInt(timestamp) }
}

function codes(columns: ColumnTracker, cells: readonly Partial<StoredCell>[]): MatchCode[] {
  return cells.map((cell) => columns.check(viewOf(cellOf(cell))))
}

void t.test('all columns: so many versions of each, those of one timestamp once', (t) => {
  const columns = tracker(undefined, 2)
  const cells = [put('a', 900), put('a', 900), put('a', 800), put('a', 700), put('b', 700)]
  t.same(codes(columns, cells), [include, skip, include, seekNextColumn, include])
  t.equal(columns.done, false)
  t.equal(columns.nextColumn, undefined)
  columns.position.startRow(emptyBytes, 0, 0)
  columns.resume()
  t.same(codes(columns, [put('b', 600)]), [include], 'another row counts anew')
  t.end()
})

void t.test('named columns: others are passed over, the last ends the row', (t) => {
  const columns = tracker(['b', 'd'], 2)
  const first = [put('a', 900), put('b', 900), put('b', 800), put('c', 800)]
  t.same(codes(columns, first), [seekNextColumn, include, includeAndSeekNextColumn, seekNextColumn])
  t.equal(columns.nextColumn?.toString(), 'd')
  t.same(codes(columns, [put('d', 900)]), [include])
  t.same(codes(columns, [put('d', 800)]), [includeAndSeekNextRow])
  t.equal(columns.done, true)
  columns.position.startRow(emptyBytes, 0, 0)
  columns.resume()
  t.same(codes(columns, [put('e', 800)]), [seekNextRow], 'behind all that was named')
  t.end()
})

void t.test('versions that have expired count up to MIN_VERSIONS', (t) => {
  const columns = tracker(undefined, 3, 1)
  t.same(codes(columns, [put('a', 50), put('a', 40)]), [include, seekNextColumn])
  t.same(codes(columns, [put('b', 150), put('b', 40)]), [include, seekNextColumn])
  t.equal(columns.expiredForGood(viewOf(cellOf(put('a', 50)))), false)
  t.equal(tracker(undefined, 3).expiredForGood(viewOf(cellOf(put('a', 50)))), true)
  t.equal(tracker(undefined, 3).expiredForGood(viewOf(cellOf(put('a', 100)))), false)
  t.end()
})

void t.test('what the plain loop has collected counts as the first version', (t) => {
  const columns = tracker(undefined, 1)
  const cell = viewOf(cellOf(put('a', 900)))
  columns.position.startRow(cell.buffer, cell.keyStart, cell.rowEnd)
  columns.position.reach(cell)
  columns.position.detach()
  columns.resume()
  cell.buffer.fill(0xdb)
  t.same(codes(columns, [put('a', 800), put('b', 800)]), [seekNextColumn, include])
  t.end()
})

void t.test('the rest of a column is left', (t) => {
  const columns = tracker(['a', 'b'], 3)
  t.equal(columns.skipColumn(viewOf(cellOf(put('a', 900)))), seekNextColumn)
  t.equal(columns.nextColumn?.toString(), 'b')
  t.equal(columns.skipColumn(viewOf(cellOf(put('b', 900)))), seekNextRow)
  t.end()
})

void t.test('markers mask by timestamp, each kind its own cells', (t) => {
  const deletes = new DeleteTracker()
  const masking = (cell: Partial<StoredCell>): Masking => deletes.masking(viewOf(cellOf(cell)))
  const add = (cell: Partial<StoredCell>): void => deletes.add(viewOf(cellOf(cell)))
  t.equal(deletes.empty, true)
  add({ type: 'DeleteFamily', timestamp: 500n })
  add({ type: 'DeleteFamily', timestamp: 400n })
  add({ type: 'DeleteFamilyVersion', timestamp: 700n })
  t.equal(deletes.empty, false)
  t.equal(masking(put('a', 700)), Masking.version)
  t.equal(masking(put('a', 600)), Masking.none)
  t.equal(masking(put('a', 500)), Masking.column)
  add({ type: 'Delete', qualifier: 'b', timestamp: 800n })
  t.equal(masking(put('b', 800)), Masking.version)
  t.equal(masking(put('b', 790)), Masking.none)
  add({ type: 'DeleteColumn', qualifier: 'b', timestamp: 750n })
  add({ type: 'Delete', qualifier: 'b', timestamp: 740n })
  t.equal(masking(put('b', 730)), Masking.column, 'the marker of the column stays')
  t.equal(masking(put('c', 730)), Masking.none)
  deletes.reset()
  t.equal(deletes.empty, true)
  t.equal(masking(put('a', 100)), Masking.none)
  t.end()
})

void t.test('a marker of a column is known after its memory went', (t) => {
  const deletes = new DeleteTracker()
  const marker = viewOf(cellOf({ type: 'DeleteColumn', timestamp: 500n }))
  deletes.add(marker)
  deletes.detach()
  marker.buffer.fill(0xdb)
  t.equal(deletes.masking(viewOf(cellOf(put('a', 400)))), Masking.column)
  t.equal(deletes.masking(viewOf(cellOf(put('b', 400)))), Masking.none)
  t.end()
})
