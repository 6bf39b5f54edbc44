/**
 * Families with NEW_VERSION_BEHAVIOR: the synchronous forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('sync', ['one', 'ordered', 'orderedLeast'])
