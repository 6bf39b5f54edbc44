/** Empties a table (BookKeeper: `MetastoreUtils.cleanTable`). */
import { checkMethods } from '../../../../api/index.js'
import { checkCount } from '../arguments.js'
import { MetastoreErrorCode, codeOf, failed, illegalOp } from '../../errors.js'
import type { MetastoreTable } from '../types.js'
import { NON_FIELDS } from '../value.js'
import { Version } from './version.js'

/**
 * Removes all rows that exist at the time of the call, `entriesAtOnce` at a time. The first failure
 * ends the removal. A row that another client removed first is not a failure.
 */
export async function cleanTable(table: MetastoreTable, entriesAtOnce = 1000): Promise<void> {
  checkMethods(table, 'the table', ['openCursor', 'remove'])
  checkCount(entriesAtOnce)
  if (entriesAtOnce === 0) throw illegalOp('the number of entries must be 1 or more')
  const cursor = await table.openCursor(NON_FIELDS)
  try {
    while (cursor.hasMoreEntries()) {
      const items = await cursor.asyncReadEntries(entriesAtOnce)
      if (items.length === 0) {
        const message = 'the cursor says that it has more entries, but returns none'
        throw failed(MetastoreErrorCode.operationFailure, message)
      }
      await Promise.all(items.map(({ key }) => removeIfPresent(table, key)))
    }
  } finally {
    cursor.close()
  }
}

async function removeIfPresent(table: MetastoreTable, key: string): Promise<void> {
  try {
    await table.remove(key, Version.ANY)
  } catch (error) {
    const gone = codeOf(error) === MetastoreErrorCode.noKey
    if (!gone) throw error
  }
}
