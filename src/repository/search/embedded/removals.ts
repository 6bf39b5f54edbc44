/** Finds the documents of a segment that pending changes remove. */
import { textTerm } from '../field-kinds.js'
import { reservedFields } from '../search-backend.js'
import { intersection } from './doc-sets.js'
import type { PendingChanges } from './pending-changes.js'
import type { SegmentReader } from './segment-reader.js'

/** Documents of a segment whose keys or records are removed, also those removed before. */
export async function removedBy(
  { removedKeys, removedRecords }: PendingChanges,
  reader: SegmentReader,
): Promise<number[]> {
  const docs: number[] = []
  // In the order of the terms, so that each block is read once.
  for (const term of [...removedKeys].map(textTerm).sort()) {
    const doc = await reader.firstDoc(reservedFields.key, term)
    if (doc !== undefined) docs.push(doc)
  }
  for (const { table, id } of removedRecords.values()) {
    const ofId = await reader.postings(reservedFields.id, textTerm(id))
    if (ofId === undefined) continue
    const ofTable = await reader.postings(reservedFields.table, textTerm(table))
    if (ofTable !== undefined) docs.push(...intersection(ofId.docs, ofTable.docs))
  }
  return docs
}
