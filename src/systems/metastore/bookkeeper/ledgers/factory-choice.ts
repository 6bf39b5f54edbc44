/**
 * Selects the factory of the metadata in a store: the one in the layout record. The first caller's
 * factory is written into the record. Later callers must name the same factory, or none.
 */
import type { LayoutRecord } from './layout-record.js'

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
