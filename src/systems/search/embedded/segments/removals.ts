/** Finds the documents of a segment that the pending changes remove. */
import { textTerm } from '../../field-kinds.js'
import { reservedFields } from '../../search-backend.js'
import { intersection } from '../doc-sets.js'
import type { PendingChanges } from '../pending-changes.js'
import type { SegmentReader } from './segment-reader.js'

/** Documents of a segment whose keys or records are removed, including earlier removals. */
export async function removedBy(
  { removedKeys, removedRecords }: PendingChanges,
  reader: SegmentReader,
): Promise<number[]> {
  const found: number[] = []
  await reader.eachOf(reservedFields.key, [...removedKeys].map(textTerm), (_, docs) => {
    found.push(docs[0])
  })
  const tablesById = new Map<string, string[]>()
  for (const { table, id } of removedRecords.values()) {
    const term = textTerm(id)
    const tables = tablesById.get(term)
    if (tables === undefined) tablesById.set(term, [table])
    else tables.push(table)
  }
  const ofIds: { readonly table: string; readonly docs: Int32Array }[] = []
  await reader.eachOf(reservedFields.id, [...tablesById.keys()], (term, docs) => {
    for (const table of tablesById.get(term)!) ofIds.push({ table, docs })
  })
  for (const { table, docs } of ofIds) {
    const ofTable = await reader.postings(reservedFields.table, textTerm(table))
    if (ofTable !== undefined) found.push(...intersection(docs, ofTable.docs))
  }
  return found
}
