/**
 * A layout record names the factory that laid out the metadata in a store, and its version. The
 * table `layout` has one row for each layout, with the field `layout`. BookKeeper and Hedwig store
 * these records in ZooKeeper (`LayoutManager`, `FactoryLayout`).
 */
import { checkCallable } from '../../kernel/listener-errors.js'
import { checkStore } from '../arguments.js'
import { isLostRace, isAbsent } from '../../errors.js'
import type { MetaStore, MetastoreTable } from '../types.js'
import { ALL_FIELDS, Value } from '../value.js'
import { RecordTable } from '../tables/record-table.js'
import { Version, type Versioned } from '../tables/version.js'

const layoutTable = 'layout'
const field = 'layout'

/** The stored form and the errors of one kind of layout. */
export interface LayoutForm<T> {
  /** Key of the row. */
  readonly key: string
  /** The text to store. Throws if the layout is not valid. */
  encode(layout: T): string | Uint8Array
  /** Decodes stored bytes. Throws if they are not a layout. */
  decode(bytes: Buffer): T
  /** The error for a failed store call. */
  failure(message: string, cause?: unknown): Error
}

/** Opens the table of layouts; `store` is initialised. */
export function openLayoutTable(store: MetaStore): Promise<MetastoreTable> {
  return checkStore(store).createTable(layoutTable)
}

/** The record of one layout. Every write is conditional, so all clients agree on the layout. */
export class LayoutRecord<T> {
  readonly #records: RecordTable
  readonly #form: LayoutForm<T>

  /** `table` is the table of layouts, closed by {@link close}. */
  protected constructor(table: MetastoreTable, form: LayoutForm<T>) {
    this.#form = form
    this.#records = new RecordTable(table, (error) =>
      form.failure('the layout of the metadata cannot be read or written', error),
    )
  }

  /** The layout; undefined if there is none. Fails if the stored text is not a layout. */
  async read(): Promise<T | undefined> {
    return this.#layoutOf(await this.#records.read(this.#form.key, ALL_FIELDS))
  }

  /** Stores the layout unless there is one. Returns the stored layout. */
  async create(layout: T): Promise<T> {
    const value = this.#valueOf(layout)
    let stored: T | undefined
    await this.#records.change(this.#form.key, ALL_FIELDS, (row) => {
      stored = this.#layoutOf(row)
      return row === undefined ? value : undefined
    })
    return stored ?? layout
  }

  /**
   * Replaces or creates the layout. `check` receives the stored layout; if it throws, nothing is
   * changed.
   */
  async rewrite(layout: T, check: (stored: T) => void): Promise<void> {
    const value = this.#valueOf(layout)
    await this.#records.change(this.#form.key, ALL_FIELDS, (row) => {
      if (row !== undefined) check(this.#layoutOf(row)!)
      return value
    })
  }

  /**
   * Removes the layout, if there is one. `check` receives the stored layout; if it throws, nothing
   * is changed. Without `check` the text is not read, so damaged text is removed, too.
   */
  async remove(check?: (stored: T) => void): Promise<void> {
    const { key } = this.#form
    if (check !== undefined) checkCallable(check, 'the check')
    for (;;) {
      const row = check && (await this.#records.read(key, ALL_FIELDS))
      if (row !== undefined) check?.(this.#layoutOf(row)!)
      else if (check !== undefined) return
      try {
        return await this.#records.remove(key, row?.version ?? Version.ANY)
      } catch (error) {
        const { cause } = error as Error
        if (isAbsent(cause)) return
        if (!isLostRace(cause)) throw error
      }
    }
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#records.close()
  }

  #layoutOf(row: Versioned<Value> | undefined): T | undefined {
    return row && this.#form.decode(row.value.getField(field) ?? Buffer.alloc(0))
  }

  #valueOf(layout: T): Value {
    return new Value({ [field]: this.#form.encode(layout) })
  }
}

/** The factories of one kind of metadata. `F` is a factory, `T` its layout. */
export interface FactoryKind<F, T> {
  /** Name and class of the factory of this package. */
  readonly own: readonly [string, new () => F]
  /** The error for a name without a factory. */
  unknown(name: string): Error
  /** The error for the layout of another factory. */
  mismatch(message: string): Error
  /** The layout that a new factory of this name writes. */
  layoutOf(name: string, factory: F): T
  /** Name of the factory that laid out the metadata. */
  nameOf(layout: T): string
  /** Prepares a factory for the stored layout. */
  initialize(factory: F, layout: T): Promise<void>
}

/**
 * The initialised factory of a layout, whose record is closed. `wanted` is the name given by the
 * caller; absent = the name in the layout, or that of the own factory.
 */
export async function openFactory<F, T>(
  record: LayoutRecord<T>,
  kind: FactoryKind<F, T>,
  wanted: string | undefined,
  others: Readonly<Record<string, new () => F>> = {},
): Promise<F> {
  try {
    const known = await record.read()
    const [ownName, Own] = kind.own
    const name = wanted ?? (known === undefined ? ownName : kind.nameOf(known))
    const Class = Object.hasOwn(others, name) ? others[name] : name === ownName ? Own : undefined
    if (Class === undefined) throw kind.unknown(name)
    const factory = new Class()
    const layout = known ?? (await record.create(kind.layoutOf(name, factory)))
    const storedName = kind.nameOf(layout)
    if (storedName !== name) {
      throw kind.mismatch(`the metadata were laid out by ${storedName}, not ${name}`)
    }
    await kind.initialize(factory, layout)
    return factory
  } finally {
    record.close()
  }
}
