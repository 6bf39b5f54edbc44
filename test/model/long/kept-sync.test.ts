/**
 * Families with KEEP_DELETED_CELLS: the synchronous forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['three', 'kept', 'keptUntil'])
