/** A store with memtables and tables of random cells, and what the reference model says of it. */
import { ManualClock, Moment } from '../../../../src/base/clock.js'
import { allTime, makeTimeRange, type TimeRange } from '../../../../src/storage/cell/timestamp.js'
import { loadCodecs } from '../../../../src/storage/codec/codec.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { SsTableOutput, type SsTableFormat } from '../../../../src/storage/job/sstable-output.js'
import type { StoreQuery } from '../../../../src/storage/scan/query.js'
import { BlockCache } from '../../../../src/storage/sstable/blocks/block-cache.js'
import { ReadCounters } from '../../../../src/storage/sstable/read-counters.js'
import { SsTableReader } from '../../../../src/storage/sstable/reader.js'
import { Store } from '../../../../src/storage/store/store.js'
import { parseFamilyOptions } from '../../../../src/table/admin/schema.js'
import { formatFileName } from '../../../../src/storage/version/file-names.js'
import type { Random } from '../../../../bench/harness/draws/random.js'
import {
  compareCells,
  readFamily,
  type StoredCell,
} from '../../../model/reference/reading-rules.js'
import {
  escaped,
  now,
  randomCells,
  randomFamily,
  storedForm,
  textOfCell,
  viewOf,
  type RandomFamily,
} from '../scan/random-cells.js'

const codecs = loadCodecs()
const latest = 2n ** 63n - 1n
const filters: readonly SsTableFormat['bloomFilter'][] = [
  'NONE',
  'ROW',
  'ROWCOL',
  'ROWPREFIX_FIXED_LENGTH',
]

/** Rows that are read, whether or not the store has them. */
export const rows = ['a', 'a\0', 'ab', 'b', 'bb', 'c']

/** A read as the store and the model get it. */
export interface RandomRead {
  readonly query: StoreQuery
  readonly readPoint: number
}

/** See the file header. */
export class RandomStore {
  readonly store: Store
  readonly moment = new Moment(new ManualClock(now))
  private readonly cells: StoredCell[] = []
  private readonly family: RandomFamily
  private readonly random: Random
  private readonly fileSystem = new SimulatedDisk()
  private readonly cache: BlockCache
  private readonly readers: SsTableReader[] = []
  private sequence = 1

  constructor(random: Random) {
    this.random = random
    this.family = randomFamily(random)
    this.cache = new BlockCache([0, 1000, 1 << 20][random.below(3)])
    const settings = { ...parseFamilyOptions('f', {}), ...this.family.options }
    const newest = Array.from({ length: random.below(5) }, () => this.makeTable(rows))
    const levels = [newest, ...(random.below(2) === 0 ? [] : [this.makeLevel()])]
    // The newest table comes first; a deeper level may hold what is newer, as timestamps may.
    this.store = new Store(1, 'f', settings, [newest.reverse(), ...levels.slice(1)])
    const frozen = random.below(3)
    for (let i = 0; i <= frozen; i++) {
      if (random.below(4) > 0) this.fillMemtable()
      if (i < frozen) this.store.freeze(this.sequence)
    }
  }

  /** Puts more cells into the memtable. */
  fillMemtable(): void {
    for (const cell of this.draw(rows)) {
      const { bytes, keyEnd } = storedForm(cell)
      this.store.reserve(1, bytes.length)
      this.store.insert(bytes, 0, keyEnd, keyEnd, bytes.length, cell.sequence)
    }
  }

  private draw(names: readonly string[]): StoredCell[] {
    const { random } = this
    const drawn: StoredCell[] = []
    for (const row of names) {
      if (random.below(3) === 0) continue
      const many = random.below(10) === 0 ? 60 : 8
      drawn.push(...randomCells(random, row, 1 + random.below(many), this.sequence))
      this.sequence += many
    }
    this.cells.push(...drawn)
    return drawn
  }

  private makeTable(names: readonly string[]): SsTableReader {
    const { random, fileSystem, cache } = this
    let drawn = this.draw(names)
    while (drawn.length === 0) drawn = this.draw(names)
    const fileNumber = this.readers.length + 1
    const place = { directory: '/', databaseId: Buffer.alloc(16, 7) }
    const output = new SsTableOutput(fileSystem, codecs, place, fileNumber, {
      blockBytes: [64, 200, 4096][random.below(3)],
      codec: random.below(2) === 0 ? 'lz4' : 'none',
      bloomFilter: filters[random.below(filters.length)],
      rowPrefixBytes: 1,
      inlineBytesMax: Infinity,
    })
    for (const cell of drawn) output.add(viewOf(cell))
    output.finish(0, now)
    const path = fileSystem.join('/', formatFileName('table', fileNumber))
    const reader = SsTableReader.openSync(fileSystem, path, fileNumber, {
      codecs,
      cache,
      counters: new ReadCounters(),
      databaseId: place.databaseId,
    })
    this.readers.push(reader)
    return reader
  }

  private makeLevel(): SsTableReader[] {
    return [rows.slice(0, 2), rows.slice(2, 4), rows.slice(4)].map((some) => this.makeTable(some))
  }

  /** A read of any kind that has no filter; every other one is of newest versions. */
  drawRead(): RandomRead {
    const { random } = this
    const simple = random.below(2) === 0
    const raw = !simple && random.below(6) === 0
    const some = ['', '\0', 'a', 'b', 'd'].filter(() => random.below(3) === 0)
    const names = random.below(3) === 0 ? some.slice(0, 1) : some
    const limited = !simple && random.below(4) === 0
    const query: StoreQuery = {
      columns: raw || names.length === 0 || random.below(2) === 0 ? undefined : names.map(escaped),
      versions: simple ? 1 : 1 + random.below(3),
      timeRange: simple || random.below(2) === 0 ? allTime : this.drawRange(),
      raw,
      filter: undefined,
      cellsPerRowMax: limited ? random.below(4) : -1,
      cellsPerRowOffset: limited ? random.below(3) : 0,
    }
    const readPoint = random.below(3) === 0 ? random.below(this.sequence) : this.sequence
    return { query, readPoint }
  }

  private drawRange(): TimeRange {
    const min = now - this.random.below(30)
    return makeTimeRange(min, min + 1 + this.random.below(30))
  }

  /** What a read gives of a row, by the rules. */
  expected(row: string, { query, readPoint }: RandomRead): string[] {
    const { timeRange, cellsPerRowMax } = query
    const { minHigh, minLow, maxHigh, maxLow } = timeRange
    const join = (high: number, low: number): bigint => (BigInt(high) << 32n) + BigInt(low)
    const isAll = timeRange === allTime
    const cells = this.cells.filter((cell) => cell.row === row && cell.sequence <= readPoint)
    const read = {
      versions: query.versions,
      min: isAll ? 0n : join(minHigh, minLow),
      max: isAll ? latest : join(maxHigh, maxLow),
      raw: query.raw,
      qualifiers: query.columns?.map((name) => name.toString('latin1').replace('\0\xff', '\0')),
      offset: query.cellsPerRowOffset,
      limit: cellsPerRowMax < 0 ? Infinity : cellsPerRowMax,
    }
    const found = readFamily(cells.sort(compareCells), this.family.rules, read, BigInt(now))
    return found.map(textOfCell)
  }

  close(): void {
    for (const reader of this.readers) reader.closeSync()
  }
}
