/**
 * All kinds of families side by side: the promise forms.
 *
 * @runs campaign
 */
import { familyOptions } from '../operations.js'
import { testLongRun } from '../long-run.js'

testLongRun('async', Object.keys(familyOptions))
