/**
 * A layout record names the factory that laid out the metadata in a store, and its version. The
 * table `layout` has one row for each layout, with the field `layout`. BookKeeper and Hedwig store
 * these records in ZooKeeper (`LayoutManager`, `FactoryLayout`).
 */
import { checkStore } from '../arguments.js'
import { isLostRace, isAbsent } from '../../errors.js'
import type { MetaStore, MetastoreTable } from '../types.js'
import { Value } from '../value.js'
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
  readonly #table: MetastoreTable
  readonly #form: LayoutForm<T>

  /** `table` is the table of layouts, closed by {@link close}. */
  protected constructor(table: MetastoreTable, form: LayoutForm<T>) {
    this.#table = table
    this.#form = form
  }

  /** The layout; undefined if there is none. Fails if the stored text is not a layout. */
  async read(): Promise<T | undefined> {
    return (await this.#read())?.value
  }

  /** Stores the layout unless there is one. Returns the stored layout. */
  async create(layout: T): Promise<T> {
    const value = this.#valueOf(layout)
    for (;;) {
      try {
        await this.#table.put(this.#form.key, value, Version.NEW)
        return layout
      } catch (error) {
        this.#throwUnless(isLostRace(error), 'stored', error)
      }
      const stored = await this.read()
      if (stored !== undefined) return stored
    }
  }

  /**
   * Replaces or creates the layout. `check` receives the stored layout; if it throws, nothing is
   * changed.
   */
  async rewrite(layout: T, check: (stored: T) => void): Promise<void> {
    const value = this.#valueOf(layout)
    for (;;) {
      const stored = await this.#checked(check)
      try {
        await this.#table.put(this.#form.key, value, stored?.version ?? Version.NEW)
        return
      } catch (error) {
        this.#throwUnless(isLostRace(error) || isAbsent(error), 'stored', error)
      }
    }
  }

  /**
   * Removes the layout, if there is one. `check` receives the stored layout; if it throws, nothing
   * is changed. Without `check` the text is not read, so damaged text is removed, too.
   */
  async remove(check?: (stored: T) => void): Promise<void> {
    for (;;) {
      const version = check === undefined ? Version.ANY : (await this.#checked(check))?.version
      if (version === undefined) return
      try {
        await this.#table.remove(this.#form.key, version)
        return
      } catch (error) {
        if (isAbsent(error)) return
        this.#throwUnless(isLostRace(error), 'removed', error)
      }
    }
  }

  /** Closes this handle of the table. */
  close(): void {
    this.#table.close()
  }

  async #checked(check: (stored: T) => void): Promise<Versioned<T> | undefined> {
    const stored = await this.#read()
    if (stored !== undefined) check(stored.value)
    return stored
  }

  async #read(): Promise<Versioned<T> | undefined> {
    let row: Versioned<Value>
    try {
      row = await this.#table.get(this.#form.key)
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw this.#form.failure('the layout of the metadata cannot be read', error)
    }
    const bytes = row.value.getField(field) ?? Buffer.alloc(0)
    return { value: this.#form.decode(bytes), version: row.version }
  }

  #valueOf(layout: T): Value {
    return new Value({ [field]: this.#form.encode(layout) })
  }

  #throwUnless(isExpected: boolean, verb: string, error: unknown): void {
    if (isExpected) return
    throw this.#form.failure(`the layout of the metadata cannot be ${verb}`, error)
  }
}

/** The factories of one kind of metadata. `F` is a factory, `T` its layout. */
export interface FactoryChoice<F, T> {
  /** The name given by the caller; absent = the name in the layout, or {@link defaultName}. */
  readonly wantedName: string | undefined
  readonly defaultName: string
  /** Creates the factory of a name. Throws if there is none. */
  make(name: string): F
  /** The layout that a new factory of this name writes. */
  layoutOf(name: string, factory: F): T
  /** Name of the factory that laid out the metadata. */
  nameOf(layout: T): string
  /** The error for the layout of another factory. */
  mismatch(message: string): Error
}

/** The selected factory, not yet initialised, and the stored layout. */
export async function chooseFactory<F, T>(
  record: LayoutRecord<T>,
  choice: FactoryChoice<F, T>,
): Promise<{ readonly factory: F; readonly layout: T }> {
  const known = await record.read()
  const knownName = known === undefined ? undefined : choice.nameOf(known)
  const name = choice.wantedName ?? knownName ?? choice.defaultName
  const factory = choice.make(name)
  const layout = known ?? (await record.create(choice.layoutOf(name, factory)))
  const storedName = choice.nameOf(layout)
  if (storedName === name) return { factory, layout }
  throw choice.mismatch(`the metadata were laid out by ${storedName}, not ${name}`)
}
