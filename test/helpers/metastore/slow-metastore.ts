/** A MetaStore whose calls stand still before they reach the store, and before their answer. */
import type {
  FieldSelection,
  GetOptions,
  KeyRange,
  MetaStore,
  MetastoreCursor,
  MetastoreGuardedTable,
  MetastoreScannableTable,
  MetastoreWatcher,
  RowGuard,
  Value,
  Version,
  Versioned,
} from '../../../src/systems/metastore/index.js'
import { guardedTable } from './metastores.js'

/** A place at which a call stands. */
export interface Halt {
  readonly table: string
  readonly operation: 'get' | 'put' | 'remove' | 'scan'
  readonly key: string
  /** Whether the call is on its way to the store, or its answer on the way back. */
  readonly side: 'call' | 'answer'
  go(): void
}

/** The places at which calls stand. */
export class Halts {
  readonly waiting: Halt[] = []
  /** Whether calls pass without standing. */
  areOpen = true

  /** Stands until somebody lets it go. */
  stand(halt: Omit<Halt, 'go'>): Promise<void> {
    if (this.areOpen) return Promise.resolve()
    return new Promise((resolve) => {
      const go = (): void => {
        this.waiting.splice(this.waiting.indexOf(stands), 1)
        resolve()
      }
      const stands = { ...halt, go }
      this.waiting.push(stands)
    })
  }

  /** Lets everything go, now and later. */
  open(): void {
    this.areOpen = true
    for (const halt of [...this.waiting]) halt.go()
  }
}

/** See the head of this file. */
export class SlowStore implements MetaStore {
  readonly #store: MetaStore
  readonly halts: Halts

  constructor(store: MetaStore, halts = new Halts()) {
    this.#store = store
    this.halts = halts
  }

  getName(): string {
    return this.#store.getName()
  }

  getVersion(): number {
    return this.#store.getVersion()
  }

  init(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  createTable(name: string): Promise<MetastoreScannableTable> {
    return this.createScannableTable(name)
  }

  async createScannableTable(name: string): Promise<MetastoreScannableTable> {
    return new SlowTable(await this.#store.createScannableTable(name), this.halts)
  }
}

class SlowTable implements MetastoreScannableTable, MetastoreGuardedTable {
  readonly #table: MetastoreScannableTable
  readonly #halts: Halts

  constructor(table: MetastoreScannableTable, halts: Halts) {
    this.#table = table
    this.#halts = halts
  }

  getName(): string {
    return this.#table.getName()
  }

  get(key: string, options?: GetOptions): Promise<Versioned<Value>> {
    return this.#slow('get', key, () => this.#table.get(key, options))
  }

  put(key: string, value: Value, version: Version): Promise<Version> {
    return this.#slow('put', key, () => this.#table.put(key, value, version))
  }

  remove(key: string, version: Version): Promise<void> {
    return this.#slow('remove', key, () => this.#table.remove(key, version))
  }

  putGuarded(key: string, value: Value, version: Version, guard: RowGuard): Promise<Version> {
    const table = guardedTable(this.#table)
    return this.#slow('put', key, () => table.putGuarded(key, value, version, guard))
  }

  removeGuarded(key: string, version: Version, guard: RowGuard): Promise<void> {
    const table = guardedTable(this.#table)
    return this.#slow('remove', key, () => table.removeGuarded(key, version, guard))
  }

  unwatch(key: string, watcher: MetastoreWatcher): boolean {
    return this.#table.unwatch(key, watcher)
  }

  openCursor(fields?: FieldSelection): Promise<MetastoreCursor> {
    return this.#slow('scan', '', () => this.#table.openCursor(fields))
  }

  openRange(range: KeyRange, fields?: FieldSelection): Promise<MetastoreCursor> {
    return this.#slow('scan', range.firstKey ?? '', () => this.#table.openRange(range, fields))
  }

  close(): void {
    this.#table.close()
  }

  async #slow<T>(operation: Halt['operation'], key: string, call: () => Promise<T>): Promise<T> {
    const place = { table: this.getName(), operation, key }
    await this.#halts.stand({ ...place, side: 'call' })
    try {
      return await call()
    } finally {
      await this.#halts.stand({ ...place, side: 'answer' })
    }
  }
}
