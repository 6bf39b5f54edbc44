/**
 * What scans work with, for the next scan of the table.
 *
 * A scan that is made of new objects spends more time on making them than on its first row. And V8
 * throws compiled code away when a collection finds no object of a class that the code is about:
 * without the objects kept here the scans after it would begin with interpreted code.
 */
import { assert } from '../../base/assert.js'
import { Moment, type Clock } from '../../base/clock.js'
import { checksInvariants } from '../../base/invariants.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'
import { RowCollector } from '../../storage/scan/row-collector.js'
import { RowScanner } from '../../storage/scan/row-scanner.js'
import { StoreReader } from '../../storage/store/store-reader.js'

/** Most that are kept for scans that run at the same time. */
const freeMax = 4

/** The parts of one scan at a time. */
export class ScanParts {
  readonly collector = new RowCollector()
  readonly rows = new RowScanner()
  readonly moment: Moment
  private readonly readers: (StoreReader | undefined)[] = []

  constructor(clock: Clock) {
    this.moment = new Moment(clock)
  }

  /** The reader of a family. */
  reader(family: FamilyState): StoreReader {
    return (this.readers[family.index] ??= new StoreReader(family.store, family.index))
  }

  /** Lets go of what the scan has read. */
  release(): void {
    this.collector.release()
    this.moment.renew()
    for (const reader of this.readers) reader?.releaseRange()
  }
}

/** Free parts of a table state. */
export class ScanPool {
  readonly table: TableState
  private readonly clock: Clock
  private readonly free: ScanParts[] = []
  private kept: object | undefined = undefined

  constructor(table: TableState, clock: Clock) {
    this.table = table
    this.clock = clock
  }

  acquire(): ScanParts {
    return this.free.pop() ?? new ScanParts(this.clock)
  }

  /** Takes released parts back, of which no other reference is left. */
  giveBack(parts: ScanParts): void {
    if (checksInvariants) assert(!this.free.includes(parts), 'parts of a scan are given back once')
    if (this.free.length < freeMax) this.free.push(parts)
  }

  /** Holds on to the first object that it is given: see the file header. */
  keep(shape: object): void {
    this.kept ??= shape
  }
}
