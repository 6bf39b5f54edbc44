/**
 * Which factory may use the metadata in a store: the one that its layout record names. The first
 * caller's factory is written into the record; later callers name the same factory, or none.
 */
import type { LayoutRecord } from './layout-record.js'

/** The factories of one kind of metadata. `F` is a factory, `T` its layout. */
export interface FactoryChoice<F, T> {
  /** Name that the caller gave; absent: what the layout says, or {@link defaultName}. */
  readonly wantedName: string | undefined
  readonly defaultName: string
  /** Makes the factory of that name. Throws if there is none. */
  make(name: string): F
  /** The layout that a new factory of that name writes. */
  layoutOf(name: string, factory: F): T
  /** Name of the factory that laid out the metadata. */
  nameOf(layout: T): string
  /** The error for a layout that another factory wrote. */
  mismatch(message: string): Error
}

/** The factory to use, not yet initialised, and the layout that the store has. */
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
