/** Flushes and compactions on request: of the stores that a call names by table and family. */
import { noSuchFamily, plainTableName } from '../../api/names.js'
import { checkText } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import type { CompactionRequest } from '../../storage/engine/background/compaction-requests.js'
import type { Engine } from '../../storage/engine/engine.js'
import type { Store } from '../../storage/store/store.js'

/** The stores of a table, of one of its families, or of all tables. */
export function storesNamed(
  { catalog }: Engine,
  name: string | undefined,
  family: string | undefined,
): Store[] {
  if (family !== undefined) checkText(family, 'family')
  if (name === undefined) {
    if (family !== undefined) throw invalidArgument(`the family '${family}' is of no table`)
    return [...catalog.stores.values()]
  }
  const state = catalog.find(plainTableName(name))
  if (family === undefined) return state.families.map(({ store }) => store)
  const found = state.familyByName.get(family)
  if (found === undefined) throw noSuchFamily(family, name, state.familyNames)
  return [found.store]
}

/** Flushes the named stores, then compacts them. */
export async function compactNamed(
  engine: Engine,
  name: string | undefined,
  family: string | undefined,
  request: CompactionRequest,
): Promise<void> {
  const stores = storesNamed(engine, name, family)
  await engine.background.flush(stores)
  await engine.background.compact(stores, request)
}
