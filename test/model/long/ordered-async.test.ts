/**
 * Families with NEW_VERSION_BEHAVIOR: the promise forms.
 *
 * @runs campaign
 */
import { testLongRun } from '../long-run.js'

testLongRun('async', ['one', 'ordered', 'orderedLeast'])
