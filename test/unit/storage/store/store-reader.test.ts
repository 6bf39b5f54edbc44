/**
 * StoreReader by itself: random stores of memtables, tables of level 0 and of a deeper level, with
 * tiny blocks and caches, read row by row and as ranges in both directions, against the rules of
 * the reference model. Invariants are checked: memory that was borrowed is overwritten when it is
 * given back.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../../bench/harness/draws/random.js'
import { InvariantError } from '../../../../src/base/assert.js'
import { checkInvariants } from '../../../../src/base/invariants.js'
import { writeTerminator } from '../../../../src/storage/cell/cell-key.js'
import { CellView } from '../../../../src/storage/cell/cell-view.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { blockMissing } from '../../../../src/storage/cursor/cursor.js'
import { cellByCell, numbersPerCell } from '../../../../src/storage/scan/collected-row.js'
import { RowCollector } from '../../../../src/storage/scan/row-collector.js'
import { RowScanner, type RowBounds } from '../../../../src/storage/scan/row-scanner.js'
import { StoreReader, type ReadMode } from '../../../../src/storage/store/store-reader.js'
import { escaped, textOfView } from '../scan/random-cells.js'
import { RandomStore, rows, type RandomRead } from './random-store.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_122)
const stores = 60

checkInvariants(true)
t.before(() => loadChecksums())

function modeOf(random: Random): ReadMode {
  return { mayBlock: random.below(2) === 0, cacheBlocks: random.below(4) > 0 }
}

/** Makes a call again and again until no block is missing; blocks stay until the end. */
async function drive<T>(call: () => T): Promise<T> {
  const releases: (() => void)[] = []
  for (;;) {
    try {
      const answer = call()
      for (const release of releases) release()
      return answer
    } catch (error) {
      if (error !== blockMissing) throw error
      const { loader, index } = blockMissing
      await loader!.loadBlock(index)
      releases.push(() => loader!.releaseBlock(index))
    }
  }
}

/** Cells of a page as text. */
function textsOf(page: Buffer, cells: readonly number[], from: number, end: number): string[] {
  const view = new CellView()
  const found: string[] = []
  const { page: opened, cells: own } = cellByCell(page, cells, from, end)
  for (let at = 0; at < own.length; at += numbersPerCell) {
    view.setCell(opened, own[at + 1], own[at + 2], own[at + 3])
    found.push(textOfView(view))
  }
  return found
}

class Rig {
  readonly reader: StoreReader
  private readonly made: RandomStore
  private readonly collector = new RowCollector()

  constructor(made: RandomStore) {
    this.made = made
    this.reader = new StoreReader(made.store, 0)
    this.collector.configure(['f'], -1)
  }

  async readRow(row: string, { query, readPoint }: RandomRead, mode: ReadMode): Promise<string[]> {
    const { reader, collector } = this
    const { moment } = this.made
    const name = Buffer.alloc(64)
    const length = escaped(row).copy(name)
    writeTerminator(name, length)
    const { page, cells } = await drive(() => {
      try {
        collector.startRow()
        reader.openRow(name, length, query, readPoint, moment, mode)
        reader.scanner.readRow(name, length, collector)
        return collector.take(false)
      } finally {
        reader.release()
      }
    })
    return textsOf(page, cells, 0, cells.length)
  }

  async scan(bounds: RowBounds, read: RandomRead, mode: ReadMode): Promise<string[][]> {
    const { reader, collector } = this
    const scanner = new RowScanner()
    collector.configure(['f'], -1)
    reader.openRange(read.query, bounds, read.readPoint, this.made.moment, mode)
    scanner.open([reader.scanner], bounds, undefined)
    const found: string[][] = []
    for (;;) {
      collector.wantRows(3)
      const outcome = await drive(() => scanner.nextRow(collector))
      if (outcome === 'row') collector.endRow()
      const { count, pages, cells, ends } = collector.takeRows()
      for (let i = 0; i < count; i++) {
        found.push(textsOf(pages[i], cells, i === 0 ? 0 : ends[i - 1], ends[i]))
      }
      if (outcome === 'end') break
    }
    collector.release()
    reader.releaseRange()
    return found
  }
}

function drawBounds(random: Random): RowBounds & { startRow: string; stopRow: string } {
  const startRow = random.below(2) === 0 ? '' : rows[random.below(rows.length)]
  const stopRow = random.below(2) === 0 ? '' : rows[random.below(rows.length)]
  return {
    startRow,
    stopRow,
    start: startRow === '' ? undefined : escaped(startRow),
    startInclusive: random.below(2) === 0,
    stop: stopRow === '' ? undefined : escaped(stopRow),
    stopInclusive: random.below(2) === 0,
    reversed: random.below(2) === 0,
  }
}

function isWithin(row: string, bounds: ReturnType<typeof drawBounds>): boolean {
  const { startRow, stopRow, startInclusive, stopInclusive, reversed } = bounds
  const isBehind = (end: string): boolean => (reversed ? row < end : row > end)
  const startsBehind = startRow === '' || isBehind(startRow)
  const stopsBefore = stopRow === '' || (row !== stopRow && !isBehind(stopRow))
  return (
    (startsBehind || (startInclusive && row === startRow)) &&
    (stopsBefore || (stopInclusive && row === stopRow))
  )
}

void t.test(`rows are read by the rules, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const wrong: string[] = []
  let found = 0
  for (let i = 0; i < stores; i++) {
    const made = new RandomStore(random)
    const rig = new Rig(made)
    for (let k = 0; k < 30; k++) {
      if (random.below(10) === 0) made.fillMemtable()
      const read = made.drawRead()
      const row = rows[random.below(rows.length)]
      const expected = made.expected(row, read)
      // Twice: what was found is noted, and blocks are in the cache.
      for (const mode of [modeOf(random), modeOf(random)]) {
        const texts = await rig.readRow(row, read, mode)
        found += texts.length
        if (texts.join() === expected.join()) continue
        wrong.push(`store ${i}, read ${k}: ${texts.join()} not ${expected.join()}`)
      }
    }
    made.close()
  }
  t.same(wrong.slice(0, 3), [])
  t.ok(found > stores, `${found} cells`)
})

void t.test(`ranges are read by the rules, in both directions, seed ${seed}`, async (t) => {
  const random = seededRandom(seed + 1)
  const wrong: string[] = []
  let found = 0
  for (let i = 0; i < stores; i++) {
    const made = new RandomStore(random)
    const rig = new Rig(made)
    for (let k = 0; k < 6; k++) {
      const read = made.drawRead()
      const bounds = drawBounds(random)
      const order = bounds.reversed ? [...rows].reverse() : rows
      const expected = order
        .filter((row) => isWithin(row, bounds))
        .map((row) => made.expected(row, read))
        .filter((cells) => cells.length > 0)
      const texts = await rig.scan(bounds, read, modeOf(random))
      found += texts.length
      if (texts.join('\n') === expected.join('\n')) continue
      wrong.push(`store ${i}, read ${k}: ${texts.join('\n')} not ${expected.join('\n')}`)
    }
    made.close()
  }
  t.same(wrong.slice(0, 3), [])
  t.ok(found > stores, `${found} rows`)
})

void t.test('a reader serves one read at a time', (t) => {
  const made = new RandomStore(seededRandom(seed))
  const reader = new StoreReader(made.store, 0)
  const { query, readPoint } = made.drawRead()
  const mode = { mayBlock: true, cacheBlocks: true }
  const row = Buffer.from('a\0\x01')
  reader.openRow(row, 1, query, readPoint, made.moment, mode)
  t.throws(() => reader.openRow(row, 1, query, readPoint, made.moment, mode), InvariantError)
  reader.release()
  reader.openRow(row, 1, query, readPoint, made.moment, mode)
  reader.release()
  made.close()
  t.end()
})
