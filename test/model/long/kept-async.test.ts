/**
 * Families with KEEP_DELETED_CELLS: the promise forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['three', 'kept', 'keptUntil'])
