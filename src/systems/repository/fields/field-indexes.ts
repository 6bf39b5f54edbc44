/**
 * The field indexes of all record tables of a database. Their rows are written in the batches that
 * write records, so an index never differs from its records, even after a crash.
 */
import type { AtomicMutation } from '../../../api/index.js'
import { indexRemoval, indexRow } from '../records/ordered-row.js'
import { newestCell } from '../records/record-state.js'
import type { CommitPart, TableChange } from '../records/writes/commit.js'
import type { FieldIndex, TableIndexes } from './field-index.js'
import { indexRowChanges } from './index-rows.js'

/** The indexes by repository `/` table; all managers of a database share one object. */
export class FieldIndexes {
  readonly #tables = new Map<string, TableIndexes>()

  /** The indexes of a record table. */
  of(keyText: string): TableIndexes {
    const known = this.#tables.get(keyText)
    if (known !== undefined) return known
    const made: TableIndexes = {
      list: [],
      builds: new Map(),
      drops: new Map(),
      loading: undefined,
    }
    this.#tables.set(keyText, made)
    return made
  }

  /** Ends the builds of a dropped record table, and forgets its indexes. */
  async forget(keyText: string): Promise<void> {
    const { list, builds } = this.of(keyText)
    this.#tables.delete(keyText)
    for (const index of list) index.state = 'DROPPING'
    await Promise.allSettled(builds.values())
  }

  /** The commit part that maintains the indexes. */
  readonly part: CommitPart = (changes) => {
    const mutations: AtomicMutation[] = []
    for (const changed of changes) {
      for (const index of this.of(changed.context.keyText).list) {
        if (index.isMaintained) addRows(index, changed, mutations)
      }
    }
    return mutations.length === 0 ? undefined : Promise.resolve({ checks: [], mutations })
  }
}

function addRows(
  index: FieldIndex,
  { context, change }: TableChange,
  mutations: AtomicMutation[],
): void {
  const { id, before, after } = change
  // A drop that fails leaves a build that is not at its end.
  const isBuilding = index.state !== 'ACTIVE'
  const isSame =
    before !== undefined &&
    before.isDeleted === after.isDeleted &&
    index.fields.every(({ field }) => {
      const [a, b] = [newestCell(before, field), newestCell(after, field)]
      return a === b || (a !== undefined && b !== undefined && a.value.equals(b.value))
    })
  if (isSame && !isBuilding) return
  const { entries, removed, written } = indexRowChanges(context, index, id, before, after)
  for (const { key, value } of isBuilding ? entries : written) {
    mutations.push(indexRow(context, key, value))
  }
  for (const key of removed) mutations.push(indexRemoval(context, key))
}
