/**
 * All kinds of families side by side: the synchronous forms.
 *
 * @runs campaign
 */
import { familyOptions } from '../operations.js'
import { testLongRun } from '../long-run.js'

testLongRun('sync', Object.keys(familyOptions))
