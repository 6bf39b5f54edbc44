/**
 * A pool of the parts of scans, for the next scan of the table.
 *
 * Allocating these objects takes longer than reading the first row. V8 also discards compiled code
 * when a collection finds no object of a class used in it. Without the objects kept here later
 * scans would start with interpreted code.
 */
import { assert } from '../../base/assert.js'
import { Moment, type Clock } from '../../base/clock.js'
import { checksInvariants } from '../../base/invariants.js'
import type { FamilyState } from '../../storage/engine/catalog/catalog.js'
import { RowCollector } from '../../storage/scan/row-collector.js'
import { RowScanner } from '../../storage/scan/row-scanner.js'
import { StoreReader } from '../../storage/store/store-reader.js'

/** Maximum number of idle parts, for scans that run at the same time. */
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

  reader(family: FamilyState): StoreReader {
    return (this.readers[family.index] ??= new StoreReader(family.store, family.index))
  }

  /** Drops references to the data read by the scan. */
  release(): void {
    this.collector.release()
    this.moment.renew()
    for (const reader of this.readers) reader?.releaseRange()
  }
}

/** The idle parts of a table state. */
export class ScanPool {
  private readonly clock: Clock
  private readonly free: ScanParts[] = []
  private kept: object | undefined = undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  acquire(): ScanParts {
    return this.free.pop() ?? new ScanParts(this.clock)
  }

  /**
   * Returns parts to the pool. REQUIRES that they are released and that no other reference remains.
   */
  giveBack(parts: ScanParts): void {
    if (checksInvariants) assert(!this.free.includes(parts), 'parts of a scan are given back once')
    if (this.free.length < freeMax) this.free.push(parts)
  }

  /** Keeps the first given object alive: see the file header. */
  keep(shape: object): void {
    this.kept ??= shape
  }
}
